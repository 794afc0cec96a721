"""Buffers between environments and the training process: plain arrays, one row per environment.

All arrays lie in one block of memory, which may be shared between processes; each worker writes its own
rows. Nothing here waits or locks: `worker_pool.py` decides who may touch which rows when.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gymsolve.spec import Array, EnvSpec, Obs

_LINE = 64
"""Arrays begin at a cache line, so that two processes do not fight over one."""


@dataclass(frozen=True, slots=True)
class SharedBuffers:
    """The results of one vector step."""

    obs: Obs
    final_obs: Obs
    """Final observations; a row is meaningful only where an episode has just ended."""
    actions: Array  # [N, *shape]
    rewards: Array  # [N] float64
    terminated: Array  # [N] bool
    truncated: Array  # [N] bool, also where terminated
    raw_returns: Array  # [N] float64, of an ended episode; NaN where no wrapper changes rewards
    successes: Array  # [N] int8, of an ended episode: 1, 0, or -1 where the environment does not say
    masks: Array | None  # [N, mask_size] bool
    components: Array | None  # [N, parts] float64, what each part of the reward paid
    watched: Array | None  # [N, numbers] float64, what bonuses are told

    def rows(self, part: slice) -> "SharedBuffers":
        """The same memory, some rows of it."""
        return SharedBuffers(
            {key: array[part] for key, array in self.obs.items()},
            {key: array[part] for key, array in self.final_obs.items()},
            self.actions[part],
            self.rewards[part],
            self.terminated[part],
            self.truncated[part],
            self.raw_returns[part],
            self.successes[part],
            None if self.masks is None else self.masks[part],
            None if self.components is None else self.components[part],
            None if self.watched is None else self.watched[part],
        )


@dataclass(frozen=True)
class BufferPlan:
    """How large the buffers are and what lies where."""

    spec: EnvSpec
    num_envs: int
    masked: bool
    """The environments give masks themselves."""

    @property
    def size(self) -> int:
        return sum(_padded(shape, dtype) for shape, dtype in self._fields())

    def allocate(self) -> SharedBuffers:
        """Buffers in this process's own memory."""
        return self.place(bytearray(self.size))

    def place(self, memory: Any) -> SharedBuffers:
        """The buffers in a writable buffer of `size` bytes."""
        arrays, offset = [], 0
        for shape, dtype in self._fields():
            arrays.append(np.ndarray(shape, dtype, memory, offset))
            offset += _padded(shape, dtype)
        entries = len(self.spec.obs)
        obs = dict(zip(self.spec.obs, arrays[:entries], strict=True))
        final = dict(zip(self.spec.obs, arrays[entries : 2 * entries], strict=True))
        actions, rewards, terminated, truncated, raw, successes, masks, parts, numbers = arrays[2 * entries :]
        given = masks if self.masked else None
        named = parts if self.spec.components else None
        watched = numbers if self.spec.watched else None
        return SharedBuffers(
            obs, final, actions, rewards, terminated, truncated, raw, successes, given, named, watched
        )

    def _fields(self) -> Iterator[tuple[tuple[int, ...], str]]:
        """Shape and dtype of every array, in the order of `SharedBuffers`."""
        count = self.num_envs
        for _ in ("obs", "final_obs"):
            for entry in self.spec.obs.values():
                yield (count, *entry.shape), entry.dtype
        yield (count, *self.spec.action.shape), self.spec.action.dtype
        for dtype in ("float64", "bool", "bool", "float64", "int8"):
            yield (count,), dtype
        yield (count, self.spec.action.mask_size if self.masked else 0), "bool"
        yield (count, len(self.spec.components)), "float64"
        yield (count, len(self.spec.watched)), "float64"


def _padded(shape: tuple[int, ...], dtype: str) -> int:
    """Bytes of an array, up to the next cache line."""
    return math.ceil(math.prod(shape) * np.dtype(dtype).itemsize / _LINE) * _LINE
