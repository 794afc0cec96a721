"""Inputs of a bonus's networks: observations scaled by statistics of their own.

Every number is centred, divided by its spread, and limited to ±5; categories are one-hot. Of stacked pictures
only the newest frame is used. The statistics begin with the first rollout, before the bonus pays, and move
between rollouts.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gymsolve.experience.moments import merge_moments
from gymsolve.experience.successors import Transitions
from gymsolve.parts import Part
from gymsolve.spec import Array, EnvSpec, Obs, ObsSpec

_LIMIT = 5.0
_MOST_ROWS = 512
"""Rows of a rollout that the statistics of pictures are taken from."""

Seen = tuple[Tensor, dict[str, Tensor]]
"""Numbers [B, D] of all entries that are no pictures, and pictures [B, C, H, W] by entry."""


class Inputs(Part):
    """The entries that a bonus uses, and the statistics that scale them."""

    def __init__(self, spec: EnvSpec, entries: tuple[str, ...], frame_stack: int, device: torch.device):
        wanted = {key: entry for key, entry in spec.obs.items() if not entries or key in entries}
        self._device, self._entries = device, list(wanted)
        self._discrete = {key: entry for key, entry in wanted.items() if entry.kind == "discrete"}
        self._scaled = {key: entry for key, entry in wanted.items() if entry.kind != "discrete"}
        self._frames = frame_stack
        self.images = {
            key: self._newest_shape(entry) for key, entry in self._scaled.items() if entry.kind == "image"
        }
        """Shapes of the pictures, by entry."""
        self.size = sum(sum(entry.nvec) for entry in self._discrete.values()) + sum(
            int(np.prod(entry.shape)) for entry in self._scaled.values() if entry.kind == "vector"
        )
        """Numbers besides pictures."""
        self.count = 0.0
        self._latest: tuple[Transitions, Seen] | None = None
        self._mean = {key: np.zeros(self._newest_shape(entry)) for key, entry in self._scaled.items()}
        self._var = {key: np.ones(self._newest_shape(entry)) for key, entry in self._scaled.items()}

    def _newest_shape(self, entry: ObsSpec) -> tuple[int, ...]:
        if entry.kind != "image":
            return entry.shape
        return (entry.shape[0] // self._frames, *entry.shape[1:])

    def _newest(self, key: str, rows: Array) -> Array:
        """The newest frames of stacked pictures; all of everything else."""
        return rows[:, -self.images[key][0] :] if key in self.images else rows

    def observe(self, rows: Obs) -> None:
        """Take observations [B, …] into the statistics."""
        size = len(next(iter(rows.values())))
        some = slice(None)
        if self.images and size > _MOST_ROWS:
            some = slice(None, None, -(-size // _MOST_ROWS))
        count = self.count
        for key in self._scaled:
            batch = self._newest(key, rows[key][some])
            self._mean[key], self._var[key], self.count = merge_moments(
                self._mean[key], self._var[key], count, batch
            )
        if not self._scaled:
            self.count += size

    def of(self, seen: Transitions) -> Seen:
        """All observations of a rollout; computed once for a bonus and its critic."""
        if self._latest is None or self._latest[0] is not seen:
            self._latest = seen, self.scale(seen.rows)
        return self._latest[1]

    def forget(self) -> None:
        """Free the observations of a rollout."""
        self._latest = None

    def scale(self, rows: Obs) -> Seen:
        """Inputs of the networks from observations [B, …]."""
        flat: list[Array] = [one_hot(rows[key], entry.nvec) for key, entry in self._discrete.items()]
        pictures: dict[str, Tensor] = {}
        for key in self._scaled:
            mean = self._mean[key].astype(np.float32)
            scale = (1.0 / np.sqrt(self._var[key] + 1e-8)).astype(np.float32)
            x = ((self._newest(key, rows[key]) - mean) * scale).clip(-_LIMIT, _LIMIT).astype(np.float32)
            if key in self.images:
                pictures[key] = torch.from_numpy(x).to(self._device)
            else:
                flat.append(x.reshape(len(x), -1))
        count = len(next(iter(rows.values())))
        numbers = np.concatenate(flat, axis=1) if flat else np.zeros((count, 0), np.float32)
        return torch.from_numpy(numbers).to(self._device), pictures

    def arrays(self) -> dict[str, Array]:
        named = {"mean": self._mean, "var": self._var}
        return {f"{what}/{key}": array for what, arrays in named.items() for key, array in arrays.items()}

    def state(self) -> dict[str, Any]:
        return {"count": self.count, "entries": self._entries}

    def fits(self, state: dict[str, Any]) -> bool:
        """True if the statistics are of the same entries; older checkpoints do not say."""
        return bool(state.get("entries", self._entries) == self._entries)

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        for key in self._scaled:
            self._mean[key] = np.array(arrays[f"mean/{key}"], np.float64)
            self._var[key] = np.array(arrays[f"var/{key}"], np.float64)
        self.count = float(state["count"])
        return []

    def rollback_point(self) -> Callable[[], None]:
        """`observe` replaces the statistics and never writes into them."""
        kept = dict(self._mean), dict(self._var), self.count

        def put_back() -> None:
            self._mean, self._var, self.count = dict(kept[0]), dict(kept[1]), kept[2]

        return put_back


def one_hot(rows: Array, nvec: tuple[int, ...]) -> Array:
    """Categories [B, …] of several parts as numbers [B, sum(nvec)]."""
    starts = np.concatenate([[0], np.cumsum(nvec)[:-1]]).astype(np.int64)
    flags = np.zeros((len(rows), sum(nvec)), np.float32)
    np.put_along_axis(flags, rows.reshape(len(rows), -1).astype(np.int64) + starts, 1.0, axis=1)
    return flags
