"""Gymnasium spaces → what a network needs, and batches of observations → our dict of arrays.

Entries come out in few forms: `vector` is always float32, `discrete` is int64 counted from 0, images
are [channels, height, width] in uint8 or float32. What no network here can serve is refused with
advice. Turning pixels to channels-first is done by a wrapper (`wrappers/images.py`), which marks its
result as `ImageBox`; nothing after that has to guess a layout again.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from gymnasium import spaces

from gymsolve.errors import UnsupportedSpaceError
from gymsolve.spec import ActionSpec, Array, Obs, ObsSpec

Space: TypeAlias = spaces.Space[Any]
Path: TypeAlias = tuple[str | int, ...]

_MAX_CHANNELS = 16
_ADVICE = (
    "Wrap the environment (env.wrappers=[module:Class]) so that it has Box, Discrete, MultiDiscrete, "
    "MultiBinary, Dict or Tuple spaces."
)


class ImageBox(spaces.Box):
    """A Box known to be [channels, height, width], however many channels it has."""


def is_image(space: Space) -> bool:
    """uint8 with two or three axes, or anything with three."""
    if isinstance(space, ImageBox):
        return True
    if not isinstance(space, spaces.Box):
        return False
    return len(space.shape) == 3 or (len(space.shape) == 2 and space.dtype == np.uint8)


def channel_axis(shape: tuple[int, ...]) -> int | None:
    """Which axis of an image holds the channels; None for height × width.

    A small axis before two larger ones is channels-first. Everything else, ties such as 10×10×10
    included, is read as Gymnasium's own convention, channels last.
    """
    if len(shape) == 2:
        return None
    first, *others = shape
    return 0 if first <= _MAX_CHANNELS and first < min(others) else 2


# ------------------------------------------------------------------------------- observations


@dataclass(frozen=True)
class _Leaf:
    key: str
    path: Path
    space: Space
    spec: ObsSpec
    start: Array | None = None  # of a discrete entry that does not count from 0

    @property
    def plain(self) -> bool:
        """True if the entry is written into its row without any conversion."""
        return self.start is None and self.space.shape == self.spec.shape

    def convert(self, values: Array, count: int, *, copy: bool = True) -> Array:
        """An array [count, *shape]: a fresh one, since most vectors reuse what they hand out."""
        fresh = np.array(values, dtype=self.spec.dtype, copy=copy or None)
        if self.start is not None:
            fresh -= self.start
        if fresh.ndim != len(self.spec.shape) + 1:  # a grid of categories becomes a list
            fresh = fresh.reshape(count, *self.spec.shape)
        return fresh

    def fault(self, value: Any) -> str | None:
        """The fault of one observation of this entry, in words; None where it is sound."""
        if isinstance(self.space, spaces.Discrete):
            low = int(self.space.start)
            if low <= value < low + int(self.space.n):
                return None
            return f"entry {self.key!r} is {value}, outside of {self.space}"
        array = np.asarray(value)
        if array.shape != self.space.shape:
            return f"entry {self.key!r} has shape {array.shape}, but its space says {self.space.shape}"
        if array.dtype != self.space.dtype and not np.can_cast(array.dtype, _dtype(self.space), "same_kind"):
            return f"entry {self.key!r} is {array.dtype}, but its space says {self.space.dtype}"
        if isinstance(self.space, spaces.MultiDiscrete):
            offset = array - self.space.start
            if ((offset < 0) | (offset >= self.space.nvec)).any():
                return f"entry {self.key!r} is {array.tolist()}, outside of {self.space}"
        return None


class ObsLayout:
    """How the observations of one space become `Obs`."""

    def __init__(self, space: Space) -> None:
        self.space = space
        leaves = tuple(_leaves(space, ()))
        self.unread = tuple(key for key, leaf in leaves if leaf is None)
        """Entries that are text, which no network here reads: they are left out."""
        self._leaves = tuple(leaf for _, leaf in leaves if leaf is not None)
        if not self._leaves:
            raise UnsupportedSpaceError(
                f"the observation space {space} holds nothing that a network here can read.", hint=_ADVICE
            )
        self.specs = {leaf.key: leaf.spec for leaf in self._leaves}
        if len(self.specs) != len(self._leaves):
            raise UnsupportedSpaceError(
                f"two entries of the observation share a name: {space}.", hint=_ADVICE
            )
        self.only_plain = self._leaves[0].key if self._is_one_plain_leaf() else None
        """The entry, where there is a single one that is written into a row as it is."""
        self.float_keys = tuple(key for key, spec in self.specs.items() if spec.dtype == "float32")

    def batch(self, observed: Any, *, copy: bool = True) -> Obs:
        """Batched observations of a vector environment; without `copy`, its own arrays where they fit."""
        obs: Obs = {}
        for leaf in self._leaves:
            values = observed
            for name in leaf.path:
                values = values[name]
            obs[leaf.key] = leaf.convert(values, len(values), copy=copy)
        return obs

    def write(self, into: Obs, row: int, observed: Any) -> None:
        """Put one environment's observation into a row of a batch."""
        if self.only_plain is not None:
            into[self.only_plain][row] = observed
            return
        for leaf in self._leaves:
            values = _walk(observed, leaf.path)
            into[leaf.key][row] = values if leaf.plain else leaf.convert(np.asarray(values)[None], 1)[0]

    def _is_one_plain_leaf(self) -> bool:
        return len(self._leaves) == 1 and not self._leaves[0].path and self._leaves[0].plain

    def stack(self, observed: list[Any]) -> Obs:
        """Observations of single environments as one batch."""
        batch = {key: np.empty((len(observed), *spec.shape), spec.dtype) for key, spec in self.specs.items()}
        for row, single in enumerate(observed):
            self.write(batch, row, single)
        return batch

    def fault(self, observed: Any) -> str | None:
        """Why one environment's observation is not in its space (bounds aside), or None."""
        try:
            return next(
                (bad for leaf in self._leaves if (bad := leaf.fault(_walk(observed, leaf.path)))), None
            )
        except (KeyError, IndexError, TypeError, ValueError) as error:
            return f"the observation does not fit {self.space}: {error!r}"

    def leaf_bytes(self, observed: Any) -> Iterator[bytes]:
        """The raw content of one observation, entry by entry."""
        for leaf in self._leaves:
            yield np.ascontiguousarray(_walk(observed, leaf.path)).tobytes()


def _walk(observed: Any, path: Path) -> Any:
    for name in path:
        observed = observed[name]
    return observed


def _dtype(space: Space) -> np.dtype[Any]:
    return np.dtype(space.dtype)


def _leaves(space: Space, path: Path) -> Iterator[tuple[str, _Leaf | None]]:
    """Names of entries and how each becomes an array; None for text."""
    if isinstance(space, spaces.Dict):
        for name, inner in space.spaces.items():
            yield from _leaves(inner, (*path, name))
        return
    if isinstance(space, spaces.Tuple):
        for index, inner in enumerate(space.spaces):
            yield from _leaves(inner, (*path, index))
        return
    key = "/".join(str(name) for name in path) or "obs"
    yield key, None if _is_text(space) else _leaf(space, path, key)


def _is_text(space: Space) -> bool:
    """Packages have spaces of their own for sentences; what they share with Gymnasium's Text is the dtype."""
    return space.dtype is not None and np.dtype(space.dtype).kind == "U"


def _leaf(space: Space, path: Path, key: str) -> _Leaf:
    if isinstance(space, spaces.Discrete):
        start = np.asarray(space.start, dtype=np.int64) if space.start else None
        spec = ObsSpec("discrete", (), "int64", nvec=(int(space.n),), start=(int(space.start),))
        return _Leaf(key, path, space, spec, start)
    if isinstance(space, spaces.MultiDiscrete):
        nvec = tuple(int(n) for n in space.nvec.ravel())
        start = space.start.astype(np.int64) if space.start.any() else None
        first = tuple(int(n) for n in space.start.ravel())
        return _Leaf(
            key, path, space, ObsSpec("discrete", (len(nvec),), "int64", nvec=nvec, start=first), start
        )
    if isinstance(space, spaces.MultiBinary):
        size = int(np.prod(space.shape, dtype=np.int64))
        spec = ObsSpec("vector", tuple(space.shape), "float32", low=(0.0,) * size, high=(1.0,) * size)
        return _Leaf(key, path, space, spec)
    if isinstance(space, spaces.Box):
        return _Leaf(key, path, space, _box_spec(space))
    raise UnsupportedSpaceError(
        f"observation entry {key!r} is a {type(space).__name__} space, which no network here can serve.",
        hint=_ADVICE,
    )


def _box_spec(space: spaces.Box) -> ObsSpec:
    if is_image(space):
        dtype = "uint8" if space.dtype in (np.uint8, np.bool_) else "float32"
        shape = space.shape
        if not isinstance(space, ImageBox):
            axis = channel_axis(shape)
            shape = (
                (1, *shape) if axis is None else (shape[axis], *(n for i, n in enumerate(shape) if i != axis))
            )
        ends = float(space.low.min()), float(space.high.max())
        known = all(abs(end) < 1e30 for end in ends)
        low, high = (ends[:1], ends[1:]) if known else ((), ())
        return ObsSpec("image", tuple(shape), dtype, low=low, high=high)
    lows = tuple(float(value) for value in space.low.ravel())
    highs = tuple(float(value) for value in space.high.ravel())
    # Some spaces write "unbounded" as the largest float; a scale taken from that would be useless.
    sane = all(abs(value) < 1e30 for value in (*lows, *highs))
    return ObsSpec(
        "vector", tuple(space.shape), "float32", low=lows if sane else (), high=highs if sane else ()
    )


# ------------------------------------------------------------------------------------ actions


def action_spec(space: Space) -> ActionSpec:
    """The action space as plain data."""
    if isinstance(space, spaces.Discrete):
        return ActionSpec(
            "discrete", (), nvec=(int(space.n),), start=(int(space.start),), dtype=str(space.dtype)
        )
    if isinstance(space, spaces.MultiDiscrete):
        nvec = tuple(int(n) for n in space.nvec.ravel())
        start = tuple(int(n) for n in space.start.ravel())
        return ActionSpec(
            "multi_discrete", tuple(space.shape), nvec=nvec, start=start, dtype=str(space.dtype)
        )
    if isinstance(space, spaces.MultiBinary):
        size = int(np.prod(space.shape, dtype=np.int64))
        return ActionSpec(
            "multi_binary", tuple(space.shape), nvec=(2,) * size, start=(0,) * size, dtype=str(space.dtype)
        )
    if isinstance(space, spaces.Box) and np.issubdtype(_dtype(space), np.floating):
        bounded = bool(np.isfinite(space.low).all() and np.isfinite(space.high).all())
        low = tuple(float(value) for value in space.low.ravel()) if bounded else ()
        high = tuple(float(value) for value in space.high.ravel()) if bounded else ()
        return ActionSpec(
            "box", tuple(space.shape), low=low, high=high, dtype=str(space.dtype), bounded=bounded
        )
    raise UnsupportedSpaceError(
        f"the action space {space} is not one that a policy here can act in.",
        hint="Supported: Discrete, MultiDiscrete, MultiBinary and Box of floats; wrap it to get one.",
    )


def half_bounds(space: Space) -> tuple[Array, Array] | None:
    """Limits of a box with finite and infinite bounds: it cannot be scaled, so actions are clipped to it."""
    if not isinstance(space, spaces.Box):
        return None
    finite = np.isfinite(np.concatenate([space.low.ravel(), space.high.ravel()]))
    return (space.low, space.high) if finite.any() and not finite.all() else None
