"""Stacked pictures in which every frame is stored once.

A stack of k frames shares k − 1 of them with the stack before it. So a rollout keeps one pool of frames and,
for every step, the places of its frames in the pool. Frames are compared, so any way of stacking works: those
that differ from the step before, as at the start of an episode, go into the pool too.
"""

from typing import Any

import numpy as np

from gymsolve.spec import Array


class Frames:
    """Stacks [T, N, k·C, H, W], written step by step from the first one on."""

    def __init__(self, steps: int, envs: int, shape: tuple[int, ...], dtype: str, stacked: int) -> None:
        self.shape = (steps, envs, *shape)
        self.dtype = np.dtype(dtype)
        self.numbers = np.zeros((steps, envs, stacked), np.int64)  # [T, N, k] places in the pool
        self._size = int(np.prod(shape)) // stacked  # of a frame
        # Room for stacks that share nothing; memory is taken only where something was written.
        self._pool = np.empty((steps * envs * stacked, self._size), self.dtype)  # [M, C·H·W]
        self._filled = 0

    @property
    def pool(self) -> Array:
        """All frames [M, C·H·W]."""
        return self._pool[: self._filled]

    def __setitem__(self, t: int, stacks: Array) -> None:
        """Store the stacks [N, k·C, H, W] of a step; those of the steps before it must be there."""
        seen = stacks.reshape(*self.numbers.shape[1:], self._size)  # [N, k, C·H·W]
        older = seen[:, :-1]
        if t == 0:
            self._filled, shared = 0, np.zeros(len(seen), bool)
        else:
            self.numbers[t, :, :-1] = before = self.numbers[t - 1, :, 1:]
            shared = (self._pool[before] == older).all(axis=(1, 2))  # [N]
        for env in np.flatnonzero(~shared):
            self.numbers[t, env, :-1] = self._add(older[env])
        self.numbers[t, :, -1] = self._add(seen[:, -1])

    def _add(self, frames: Array) -> Array:
        """The places in the pool of new frames."""
        start, self._filled = self._filled, self._filled + len(frames)
        self._pool[start : self._filled] = frames
        return np.arange(start, self._filled)

    def __getitem__(self, t: int) -> Array:
        """The stacks [N, k·C, H, W] of a step."""
        stacks: Array = self._pool[self.numbers[t]].reshape(self.shape[1:])
        return stacks

    def take(self, rows: Array) -> Array:
        """The stacks [B, k·C, H, W] at positions among the flattened steps."""
        numbers = self.numbers.reshape(-1, self.numbers.shape[2])[rows]  # [B, k]
        return self._pool[numbers].reshape(len(rows), *self.shape[2:])

    def repeated(self, steps: int) -> "Frames":
        """These stacks, repeated until there are `steps` of them."""
        longer = Frames(steps, self.shape[1], self.shape[2:], str(self.dtype), self.numbers.shape[2])
        for t in range(steps):
            longer[t] = self[t % len(self.numbers)]
        return longer

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self._pool[self.numbers].reshape(self.shape).astype(dtype or self.dtype, copy=False)


def take_rows(stored: Array | Frames, rows: Array) -> Array:
    """[T, N, …] → [B, …]: the entries at positions among the flattened steps."""
    return stored.take(rows) if isinstance(stored, Frames) else stored.reshape(-1, *stored.shape[2:])[rows]
