"""Stacked pictures of a replay buffer: every frame is stored once, compressed.

Frames of an environment are numbered in the order in which they were seen, and a stack is the numbers of its
frames. Numbers never fall from one stack to the next, so all frames below the first number of the oldest
stack can go.
"""

import math
import zlib
from collections.abc import Callable

import numpy as np

from gymsolve.runs.inflate import inflate
from gymsolve.spec import Array

_LEVEL = 1
"""Of zlib: the quickest. Frames of games shrink to a tenth or less at any level."""


class FrameStore:
    """The frames of one entry of observations, for `num_envs` environments."""

    def __init__(self, num_envs: int, shape: tuple[int, ...], dtype: str, stacked: int) -> None:
        self.shape, self.dtype, self.stacked = shape, np.dtype(dtype), stacked
        self._frame_bytes = math.prod(shape) // stacked * self.dtype.itemsize
        self._frames: list[dict[int, bytes]] = [{} for _ in range(num_envs)]
        self.newest: list[Array | None] = [None] * num_envs
        """The newest stack [k, C·H·W] of each environment; replaced, never changed."""
        self.numbers = np.zeros((num_envs, stacked), np.int64)  # of that stack
        self.following = np.zeros(num_envs, np.int64)  # the number of the next new frame
        self._lowest = np.zeros(num_envs, np.int64)  # frames below are gone
        self._dropped: list[tuple[int, int, bytes]] = []  # since the newest rollback point

    def put(self, env: int, picture: Array) -> Array:
        """The numbers [k] of a picture [k·C, H, W] that follows the newest one; new frames are stored."""
        stack = picture.reshape(self.stacked, -1)
        before = self.newest[env]
        numbers: Array = self.numbers[env].copy()
        if before is not None and np.array_equal(stack, before):
            return numbers
        if before is not None and np.array_equal(stack[:-1], before[1:]):
            numbers[:-1] = numbers[1:]
            first = self.stacked - 1
        else:
            first = 0
        for place in range(first, self.stacked):
            # Only frames of this very stack are compared, or the shared ones before them.
            same = place > 0 and np.array_equal(stack[place], stack[place - 1])
            numbers[place] = numbers[place - 1] if same else self._add(env, stack[place])
        self.newest[env], self.numbers[env] = stack.copy(), numbers
        return numbers

    def _add(self, env: int, frame: Array) -> int:
        number = int(self.following[env])
        self._frames[env][number] = zlib.compress(frame.tobytes(), _LEVEL)
        self.following[env] += 1
        return number

    def read(self, envs: Array, numbers: Array) -> Array:
        """The pictures [B, k·C, H, W] of environments [B] that have these numbers [B, k]."""
        frames: dict[tuple[int, int], Array] = {}  # each is unpacked once
        out = np.empty((*numbers.shape, int(np.prod(self.shape)) // self.stacked), self.dtype)
        for row, (env, stack) in enumerate(zip(envs.tolist(), numbers.tolist(), strict=True)):
            for place, number in enumerate(stack):
                frame = frames.get((env, number))
                if frame is None:
                    data = inflate(self._frames[env][number], self._frame_bytes)
                    frame = frames[env, number] = np.frombuffer(data, self.dtype)
                out[row, place] = frame
        return out.reshape(len(envs), *self.shape)

    def drop_below(self, lowest: Array) -> None:
        """Forget the frames of each environment below a number [N]."""
        for env in np.flatnonzero(lowest > self._lowest).tolist():
            for number in range(int(self._lowest[env]), int(lowest[env])):
                data = self._frames[env].pop(number, None)
                if data is not None:
                    self._dropped.append((env, number, data))
            self._lowest[env] = lowest[env]

    def packed(self, env: int, number: int) -> bytes:
        """A frame as it is stored."""
        return self._frames[env][number]

    def put_packed(self, env: int, number: int, data: bytes) -> None:
        """Store a frame that `packed` gave."""
        self._frames[env][number] = data

    def continue_from(self, pictures: Array, numbers: Array, following: Array) -> None:
        """Continue from the newest pictures [N, k·C, H, W], their numbers [N, k] and the next numbers [N]."""
        self.numbers, self.following = numbers.copy(), following.copy()
        for env, stack in enumerate(pictures.reshape(*numbers.shape, -1)):
            self.newest[env] = stack.copy()
            for place, number in enumerate(numbers[env].tolist()):
                self._frames[env].setdefault(number, zlib.compress(stack[place].tobytes(), _LEVEL))

    def newest_pictures(self) -> Array:
        """The pictures [N, k·C, H, W] that were put last."""
        stacks = [np.zeros_like(self.newest[0]) if stack is None else stack for stack in self.newest]
        return np.stack(stacks).reshape(len(stacks), *self.shape)

    def rollback_point(self) -> Callable[[], None]:
        """A function that restores the present frames; only the newest one may be called."""
        kept = list(self.newest), self.numbers.copy(), self.following.copy(), self._lowest.copy()
        self._dropped = []

        def put_back() -> None:
            for env, first in enumerate(kept[2].tolist()):
                for number in range(first, int(self.following[env])):
                    self._frames[env].pop(number, None)
            for env, number, data in self._dropped:
                if number < kept[2][env]:
                    self._frames[env][number] = data
            self.newest, self.numbers, self.following, self._lowest = kept
            self._dropped = []

        return put_back
