"""Observations that are not pixels: noise, encodings of categories, scaling to a range, less of them."""

from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from gymnasium import spaces
from pydantic import Field

from gymsolve.envs.spaces import is_image
from gymsolve.envs.wrappers.nested import AnyEnv, LeafWrapper, Space, Transform
from gymsolve.spec import Array


class ObservationNoise(LeafWrapper):
    """Adds Gaussian noise to boxes, images included; what an integer image cannot hold is clipped."""

    def __init__(self, env: AnyEnv, std: Annotated[float, Field(ge=0)]) -> None:
        self._std = std
        super().__init__(env)

    def transform(self, space: Space) -> tuple[Space, Transform] | None:
        if not isinstance(space, spaces.Box):
            return None
        if np.issubdtype(np.dtype(space.dtype), np.integer):
            return space, partial(self._integer, space=space)
        # Noise may leave the bounds, and honest bounds would be infinite.
        loose = spaces.Box(-np.inf, np.inf, space.shape, dtype=space.dtype)
        return (space if self._std == 0 or is_image(space) else loose), self._float

    def _float(self, values: Array) -> Array:
        noise = self.np_random.normal(0.0, self._std, values.shape)
        return (values + noise).astype(values.dtype)

    def _integer(self, values: Array, space: spaces.Box) -> Array:
        noise = self.np_random.normal(0.0, self._std, values.shape)
        return np.clip(np.rint(values + noise), space.low, space.high).astype(values.dtype)


class DiscreteEncoder(LeafWrapper):
    """Categories as vectors: one flag per category, binary digits, or the number itself."""

    def __init__(self, env: AnyEnv, encoding: Literal["onehot", "binary", "array"] = "onehot") -> None:
        self._encoding = encoding
        super().__init__(env)

    def transform(self, space: Space) -> tuple[Space, Transform] | None:
        if isinstance(space, spaces.Discrete):
            nvec, start = np.array([space.n]), np.array([space.start])
        elif isinstance(space, spaces.MultiDiscrete):
            nvec, start = space.nvec.ravel(), space.start.ravel()
        else:
            return None
        if self._encoding == "array":
            high = (nvec - 1).astype(np.float32)
            box = spaces.Box(np.zeros_like(high), high, dtype=np.float32)
            return box, lambda value: (np.ravel(value) - start).astype(np.float32)
        encode = partial(_flags if self._encoding == "onehot" else _digits, nvec=nvec, start=start)
        size = len(encode(start))
        return spaces.Box(0.0, 1.0, (size,), dtype=np.float32), encode


def _flags(value: Any, nvec: Array, start: Array) -> Array:
    flags = np.zeros(int(nvec.sum()), dtype=np.float32)
    flags[np.concatenate([[0], np.cumsum(nvec[:-1])]) + np.ravel(value) - start] = 1.0
    return flags


def _digits(value: Any, nvec: Array, start: Array) -> Array:
    parts = []
    for index, count in zip(np.ravel(value) - start, nvec, strict=True):
        width = max(1, int(count - 1).bit_length())
        parts.append((int(index) >> np.arange(width - 1, -1, -1)) & 1)
    return np.concatenate(parts).astype(np.float32)


class KeepElements(LeafWrapper):
    """Hides all elements of vectors but these, counted from 0; a policy with memory may infer the others."""

    def __init__(
        self, env: AnyEnv, elements: Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]
    ) -> None:
        self._elements = elements
        super().__init__(env)

    def transform(self, space: Space) -> tuple[Space, Transform] | None:
        if not isinstance(space, spaces.Box) or len(space.shape) != 1:
            return None
        if max(self._elements) >= space.shape[0]:
            raise ValueError(f"element {max(self._elements)} is not among the {space.shape[0]} of {space}.")
        chosen = np.array(self._elements)
        return spaces.Box(space.low[chosen], space.high[chosen], dtype=space.dtype), lambda value: value[
            chosen
        ]


class RescaleObservation(LeafWrapper):
    """Scales bounded vectors linearly to [low, high]."""

    def __init__(self, env: AnyEnv, low: float = -1.0, high: float = 1.0) -> None:
        if low >= high:
            raise ValueError(f"low ({low}) should be below high ({high}).")
        self._low, self._high = low, high
        super().__init__(env)

    def transform(self, space: Space) -> tuple[Space, Transform] | None:
        if not isinstance(space, spaces.Box) or is_image(space):
            return None
        if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
            return None
        floor = space.low.astype(np.float64)
        width = np.maximum(space.high.astype(np.float64) - floor, 1e-12)
        box = spaces.Box(self._low, self._high, space.shape, dtype=np.float32)
        return box, lambda value: ((value - floor) / width * (self._high - self._low) + self._low).astype(
            np.float32
        )
