"""From observations to what the first layer takes.

Vectors are scaled and laid side by side, with a column of ones at the end for the bias. Categories
become 0/1 columns while they are few; where there are many, multiplying by zeros would be most of the
work, so the rows of the first weight matrix are looked up instead.
"""

from typing import NamedTuple

import numpy as np

from gymsolve.config import NetConfig
from gymsolve.fast.normalize import BoundsNorm, ObsNorm, RunningNorm
from gymsolve.spec import Array, EnvSpec, Obs, ObsSpec

__all__ = ["Features", "Inputs"]

MANY = 128
"""Categories of one entry from which on rows are looked up (measured: even at about 100)."""


class Features(NamedTuple):
    """A batch as the first layer takes it."""

    dense: Array  # [B, dense columns + 1], the last one all ones
    lookups: Array | None  # [B, parts] rows of the first weight matrix to add

    def rows(self, chosen: slice) -> "Features":
        return Features(self.dense[chosen], None if self.lookups is None else self.lookups[chosen])

    def gather(self, order: Array) -> "Features":
        lookups = None if self.lookups is None else self.lookups[order]
        return Features(self.dense.take(order, axis=0), lookups)


class _Entry:
    """One entry of the observation and its place among the network's inputs."""

    def __init__(self, spec: ObsSpec, start: int, config: NetConfig) -> None:
        self.start, self.norm = start, None if spec.kind == "discrete" else _norm(spec, config)
        self.discrete = spec.kind == "discrete"
        self.size = sum(spec.nvec) if self.discrete else int(np.prod(spec.shape, dtype=np.int64))
        self.looked_up = self.discrete and self.size > MANY
        self.parts = len(spec.nvec)
        # Of each part's first category, among this entry's own columns.
        self.offsets = np.cumsum((0, *spec.nvec[:-1])).astype(np.intp)

    def encode(self, x: Array, out: Array) -> None:
        """Into columns [B, size]."""
        flat = x.reshape(len(x), -1)
        if self.discrete:
            out[...] = 0.0
            np.put_along_axis(out, flat + self.offsets, 1.0, axis=1)
            return
        out[...] = flat
        if self.norm is not None:
            self.norm.apply(out)


def _norm(spec: ObsSpec, config: NetConfig) -> ObsNorm | None:
    if config.normalize_obs == "running":
        return RunningNorm(spec.shape)
    return BoundsNorm(spec) if config.normalize_obs == "bounds" else None


class Inputs:
    """Every entry of an observation, in the order of the first layer's inputs."""

    def __init__(self, spec: EnvSpec, config: NetConfig) -> None:
        self.entries: dict[str, _Entry] = {}
        self.size = 0
        for key, entry in spec.obs.items():
            self.entries[key] = _Entry(entry, self.size, config)
            self.size += self.entries[key].size
        self.looked_up = [entry for entry in self.entries.values() if entry.looked_up]
        self.dense_columns = self.size - sum(entry.size for entry in self.looked_up)
        self.blocks = self._dense_blocks()

    def _dense_blocks(self) -> list[tuple[slice, slice]]:
        """(rows of the first weight matrix, columns of the dense features) that belong together."""
        blocks, begin, column = [], 0, 0
        for entry in self.looked_up:
            if entry.start > begin:
                width = entry.start - begin
                blocks.append((slice(begin, entry.start), slice(column, column + width)))
                column += width
            begin = entry.start + entry.size
        # The bias row closes the matrix as the ones close the features.
        return [*blocks, (slice(begin, self.size + 1), slice(column, self.dense_columns + 1))]

    def allocate(self, rows: int) -> Array:
        """Room for dense features of `rows` observations."""
        return np.ones((rows, self.dense_columns + 1), np.float32)

    def encode(self, obs: Obs, dense: Array) -> Features:
        """Observations [B, …] → features, written into `dense`."""
        column, lookups = 0, []
        for key, entry in self.entries.items():
            x = obs[key]
            if entry.looked_up:
                lookups.append(x.reshape(len(x), -1) + (entry.offsets + entry.start))
                continue
            entry.encode(x, dense[:, column : column + entry.size])
            column += entry.size
        return Features(dense, np.concatenate(lookups, axis=1) if lookups else None)

    def forward(self, x: Features, matrix: Array, z: Array) -> None:
        """First layer without activation: z [towers, outputs, B] from matrix [towers, inputs + 1, outputs]."""
        columns_first = x.dense.T
        for number, (rows, columns) in enumerate(self.blocks):
            weights = matrix[:, rows].transpose(0, 2, 1)
            if number == 0:
                np.matmul(weights, columns_first[columns], out=z)
            else:
                z += np.matmul(weights, columns_first[columns])
        if x.lookups is not None:
            for part in x.lookups.T:
                z += matrix.take(part, axis=1).transpose(0, 2, 1)

    def backward(self, x: Features, d: Array, grad: Array) -> None:
        """Slope of the first matrix [towers, inputs + 1, outputs] from d [towers, outputs, B]."""
        rows_first = d.transpose(0, 2, 1)
        columns_first = x.dense.T
        for rows, columns in self.blocks:
            np.matmul(columns_first[columns], rows_first, out=grad[:, rows])
        if x.lookups is None:
            return
        for entry in self.looked_up:
            grad[:, entry.start : entry.start + entry.size] = 0.0
        rows_first = np.ascontiguousarray(rows_first)  # [towers, B, outputs]
        for part in x.lookups.T:
            # Rows of one category side by side, so that each category is one sum.
            order = np.argsort(part, kind="stable")
            sorted_part = part[order]
            starts = np.flatnonzero(np.diff(sorted_part, prepend=-1))
            grad[:, sorted_part[starts]] = np.add.reduceat(rows_first.take(order, axis=1), starts, axis=1)

    def observe(self, obs: Obs) -> None:
        """Take a batch of raw observations into the running statistics."""
        for key, entry in self.entries.items():
            if isinstance(entry.norm, RunningNorm):
                entry.norm.observe(obs[key])

    def arrays(self) -> dict[str, Array]:
        """Saved statistics by the names of the torch encoder: the live arrays."""
        found = {}
        for index, (key, entry) in enumerate(self.entries.items()):
            if entry.norm is not None:
                name = f"{index}_{key.replace('/', '__').replace('.', '_')}"
                found |= {f"entries.{name}.norm.{n}": array for n, array in entry.norm.arrays().items()}
        return found

    def refresh(self) -> None:
        for entry in self.entries.values():
            if entry.norm is not None:
                entry.norm.refresh()
