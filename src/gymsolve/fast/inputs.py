"""Turns observations into inputs of the first layer.

Vectors are scaled and laid one below the other, an input per row and a sample per column, with a row of ones
at the end for the bias. Few categories become rows of 0 and 1. Of many, multiplying by zeros would be most of
the work, so rows of the first weight matrix are looked up instead.
"""

from typing import NamedTuple

import numpy as np

from gymsolve.fast.normalize import BoundsNorm, ObsNorm, RunningNorm
from gymsolve.settings.config import NetConfig
from gymsolve.spec import Array, EnvSpec, Obs, ObsSpec

MANY = 256
"""Categories of one entry above which rows are looked up (measured: quicker from 250 on at 256 samples)."""


class Features(NamedTuple):
    """A batch of inputs of the first layer."""

    dense: Array  # [dense inputs + 1, B], the last row all ones
    lookups: Array | None  # [parts, B] rows of the first weight matrix to add

    def part(self, chosen: slice) -> "Features":
        return Features(self.dense[:, chosen], None if self.lookups is None else self.lookups[:, chosen])

    def gather(self, order: Array) -> "Features":
        lookups = None if self.lookups is None else self.lookups.take(order, axis=1)
        return Features(self.dense.take(order, axis=1), lookups)


class Samples(NamedTuple):
    """Rows of a rollout as inputs of the network."""

    features: Features
    actions: Array  # [B, A]
    illegal: Array | None  # [B, …] as the head wants it

    def part(self, chosen: slice) -> "Samples":
        illegal = None if self.illegal is None else self.illegal[chosen]
        return Samples(self.features.part(chosen), self.actions[chosen], illegal)

    def gather(self, order: Array) -> "Samples":
        illegal = None if self.illegal is None else self.illegal.take(order, axis=0)
        return Samples(self.features.gather(order), self.actions.take(order, axis=0), illegal)


class _Entry:
    """One entry of the observation and its place among the network's inputs."""

    def __init__(self, spec: ObsSpec, start: int, config: NetConfig) -> None:
        self.start, self.norm = start, None if spec.kind == "discrete" else _norm(spec, config)
        self.discrete = spec.kind == "discrete"
        self.size = sum(spec.nvec) if self.discrete else int(np.prod(spec.shape, dtype=np.int64))
        self.looked_up = self.discrete and self.size > MANY
        # Of each part's first category, among this entry's own inputs.
        self.offsets = np.cumsum((0, *spec.nvec[:-1])).astype(np.intp)[:, None]  # [parts, 1]

    def encode(self, x: Array, out: Array) -> None:
        """Observations [B, …] into rows [size, B]."""
        flat = x.reshape(len(x), -1).T
        if self.discrete:
            out[...] = 0.0
            out[flat + self.offsets, np.arange(len(x))] = 1.0
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
        self.dense_size = self.size - sum(entry.size for entry in self.looked_up)
        self.blocks = self._dense_blocks()

    def _dense_blocks(self) -> list[tuple[slice, slice]]:
        """Pairs of rows of the first weight matrix and the rows of dense features that they multiply."""
        blocks, begin, row = [], 0, 0
        for entry in self.looked_up:
            if entry.start > begin:
                width = entry.start - begin
                blocks.append((slice(begin, entry.start), slice(row, row + width)))
                row += width
            begin = entry.start + entry.size
        # The bias row closes the matrix as the ones close the features.
        return [*blocks, (slice(begin, self.size + 1), slice(row, self.dense_size + 1))]

    def allocate(self, batch: int) -> Array:
        """Room for dense features of `batch` observations."""
        return np.ones((self.dense_size + 1, batch), np.float32)

    def encode(self, obs: Obs, dense: Array) -> Features:
        """Observations [B, …] → features, written into `dense`."""
        row, lookups = 0, []
        for key, entry in self.entries.items():
            x = obs[key]
            if entry.looked_up:
                lookups.append(x.reshape(len(x), -1).T + (entry.offsets + entry.start))
                continue
            entry.encode(x, dense[row : row + entry.size])
            row += entry.size
        return Features(dense, np.concatenate(lookups) if lookups else None)

    def forward(self, x: Features, matrix: Array) -> Array:
        """First layer before its activation: [towers, out, B] from matrix [towers, inputs + 1, out]."""
        (rows, inputs), *others = self.blocks
        z: Array = np.matmul(matrix[:, rows].transpose(0, 2, 1), x.dense[inputs])
        for rows, inputs in others:
            z += np.matmul(matrix[:, rows].transpose(0, 2, 1), x.dense[inputs])
        if x.lookups is not None:
            for part in x.lookups:
                z += matrix.take(part, axis=1).transpose(0, 2, 1)
        return z

    def numbers(self, obs: Obs) -> dict[str, Array]:
        """Entries that are not categories, scaled, [B, size] each."""
        scaled = {}
        for key, entry in self.entries.items():
            if not entry.discrete:
                rows = np.empty((entry.size, len(obs[key])), np.float32)
                entry.encode(obs[key], rows)
                scaled[key] = rows.T
        return scaled

    def observe(self, obs: Obs) -> None:
        """Take a batch of raw observations into the running statistics."""
        for key, entry in self.entries.items():
            if isinstance(entry.norm, RunningNorm):
                entry.norm.observe(obs[key])

    def arrays(self) -> dict[str, Array]:
        """Saved statistics by the names of the torch encoder: the live arrays."""
        arrays: dict[str, Array] = {}
        for index, (key, entry) in enumerate(self.entries.items()):
            if entry.norm is not None:
                name = f"{index}_{key.replace('/', '__').replace('.', '_')}"
                arrays |= {f"entries.{name}.norm.{n}": array for n, array in entry.norm.arrays().items()}
        return arrays

    def refresh(self) -> None:
        for entry in self.entries.values():
            if entry.norm is not None:
                entry.norm.refresh()
