"""Cells of pictures: the newest frame in grey, shrunk by averaging areas, and cut into a few levels.

Size and levels are given, or adapted: among random choices, the one by which a sample of recent frames has
about an eighth as many cells (12.5 %, as in Go-Explore). Too fine, and every frame is a new place; too
coarse, and none is.
"""

import math
import zlib
from typing import Any

import numpy as np

from gymsolve.extensions.archive.cell_keys import ArchiveCells, TaskSteps
from gymsolve.extensions.exploration.cells import mix, words
from gymsolve.runs.inflate import inflate
from gymsolve.settings.exploration import ArchiveConfig
from gymsolve.spec import Array, Obs, ObsSpec

_SHARE = 0.125
_SAMPLE = 400
"""Recent frames that size and levels are adapted to."""
_PER_ROLLOUT = 16
_FIRST = 2048
"""Environment steps before the first adaptation; the next ones come when the steps have doubled."""
_TRIES = 150
_LARGEST = 40
"""Columns and rows of a shrunken picture, at most."""
_LUMA = np.array([0.299, 0.587, 0.114], np.float32)
_EDGE = 1e-4
"""Added so that rounding does not move a flat area from one level to the next."""


def shrink(frames: Array, width: int, height: int) -> Array:
    """Frames [B, H, W] averaged over equal areas: [B, height, width]."""
    down, across = _areas(frames.shape[1], height), _areas(frames.shape[2], width)
    small: Array = down @ (frames.astype(np.float32) @ across.T)
    return small


def _areas(size: int, parts: int) -> Array:
    """Weights of `size` pixels in each of `parts` areas [parts, size]."""
    edges = np.linspace(0.0, size, parts + 1)
    left = np.maximum(np.arange(size)[None], edges[:-1, None])
    right = np.minimum(np.arange(1, size + 1)[None], edges[1:, None])
    shares: Array = (np.maximum(0.0, right - left) * parts / size).astype(np.float32)
    return shares


def _cut(small: Array, levels: int) -> Array:
    """Shrunken frames [B, height, width] in so many greys [B, height · width]; white is the lightest."""
    cut = np.minimum(np.floor(small * (levels / 255.0) + _EDGE), levels - 1)
    return cut.astype(np.uint8).reshape(len(small), -1)


class FrameCells(ArchiveCells):
    """Cells of one entry of the observation, a picture."""

    kind = "frames"

    def __init__(self, settings: ArchiveConfig, key: str, entry: ObsSpec, frame_stack: int) -> None:
        self._key, self._channels = key, entry.shape[0] // frame_stack
        self._size = entry.shape[1:]
        self._unit = np.dtype(entry.dtype).kind == "f"
        self._adapts = settings.adapt
        self._given = self.cut = settings.width, settings.height, settings.levels
        self._next = _FIRST
        self._recent: Array = np.zeros((0, *self._size), np.uint8)
        self._newest: Array = self._recent

    def of(self, obs: Obs, watched: Array | None) -> Array:
        self._newest = self._grey(obs[self._key])
        return self._of(self._newest)

    def _grey(self, stacks: Array) -> Array:
        """The newest frames [B, H, W] of stacks [B, k·C, H, W]."""
        newest = stacks[:, -self._channels :]
        if self._unit:
            newest = (newest * 255.0).clip(0.0, 255.0)
        if self._channels == 1:
            return newest[:, 0].astype(np.uint8, copy=False)
        weights = _LUMA if self._channels == 3 else np.full(self._channels, 1 / self._channels, np.float32)
        grey: Array = np.tensordot(newest, weights, axes=([1], [0])).astype(np.uint8)
        return grey

    def _of(self, frames: Array) -> Array:
        width, height, levels = self.cut
        cells = np.zeros(len(frames), np.uint64)
        for column in words(_cut(shrink(frames, width, height), levels)):
            cells = mix(cells, column)
        return cells

    def pictures(self, places: list[int]) -> list[bytes]:
        return [zlib.compress(np.ascontiguousarray(self._newest[place]).tobytes(), 1) for place in places]

    def unpack(self, pictures: list[bytes]) -> Array:
        """Frames [B, H, W]."""
        size = math.prod(self._size)
        whole = b"".join(inflate(picture, size) for picture in pictures)
        return np.frombuffer(whole, np.uint8).reshape(len(pictures), *self._size)

    def again(self, pictures: list[bytes]) -> Array:
        return self._of(self.unpack(pictures))

    def learn(self, steps: TaskSteps, env_steps: int, rng: np.random.Generator) -> bool:
        if not self._adapts:
            return False
        some = rng.choice(len(steps), min(_PER_ROLLOUT, len(steps)), replace=False)
        frames = self._grey(steps.seen(np.sort(some))[self._key])
        self._recent = np.concatenate([self._recent, frames])[-_SAMPLE:]
        if env_steps < self._next:
            return False
        while self._next <= env_steps:
            self._next *= 2
        before, self.cut = self.cut, self._adapted(rng)
        return self.cut != before

    def _adapted(self, rng: np.random.Generator) -> tuple[int, int, int]:
        """Of random choices, the one whose number of cells is closest to an eighth of the frames."""
        aim = math.log(_SHARE * len(self._recent))
        best, least = self.cut, math.inf
        for _ in range(_TRIES):
            width = int(rng.integers(1, min(self._size[1], _LARGEST) + 1))
            height = int(rng.integers(1, min(self._size[0], _LARGEST) + 1))
            levels = int(2 ** rng.uniform(1.0, 6.0))
            cells = len(np.unique(_cut(shrink(self._recent, width, height), levels), axis=0))
            if abs(math.log(cells) - aim) < least:
                best, least = (width, height, levels), abs(math.log(cells) - aim)
        return best

    # ------------------------------------------------------------------------------ state

    def arrays(self) -> dict[str, Array]:
        return {"recent": self._recent}

    def state(self) -> dict[str, Any]:
        made_by = {"given": list(self._given), "entry": self._key}
        return {"cut": list(self.cut), "next": self._next, **made_by}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        self._next, self._recent = int(state["next"]), arrays["recent"]
        width, height, levels = map(int, state["cut"])
        self.cut = self._given if self.is_cut_otherwise(state) else (width, height, levels)
        return []

    def fits(self, arrays: dict[str, Array], state: dict[str, Any]) -> bool:
        recent = arrays.get("recent")
        seen = recent is not None and recent.shape[1:] == self._size and recent.dtype == np.uint8
        return seen and state.get("entry", self._key) == self._key  # older checkpoints do not say

    def is_cut_otherwise(self, state: dict[str, Any]) -> bool:
        given = list(self._given)
        if not self._adapts:
            return bool(state["cut"] != given)
        return bool(state.get("given", given) != given)
