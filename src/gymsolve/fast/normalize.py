"""Normalisers: the arithmetic and the saved statistics of `nn/normalize.py`, without torch.

Statistics move only when a learner calls `observe` between rollouts, never during acting, evaluation or a
gradient pass.
"""

from typing import Protocol

import numpy as np

from gymsolve.experience.moments import merge_moments
from gymsolve.spec import Array, ObsSpec


class ObsNorm(Protocol):
    """Scales one vector entry of an observation."""

    def apply(self, x: Array) -> None:
        """Scale float32 [size, B] in place."""

    def arrays(self) -> dict[str, Array]:
        """The live arrays that are saved, by name, in the entry's own shape."""

    def refresh(self) -> None:
        """Recompute what depends on `arrays`, after these were written to."""


class RunningNorm:
    """(x − mean) / std with running statistics, limited to ±10."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.mean, self.var, self.count = np.zeros(shape), np.ones(shape), np.zeros(())
        self.refresh()

    def refresh(self) -> None:
        self._mean = self.mean.astype(np.float32).reshape(-1, 1)
        self._scale = (1.0 / np.sqrt(self.var + 1e-8)).astype(np.float32).reshape(-1, 1)

    def apply(self, x: Array) -> None:
        x -= self._mean
        x *= self._scale
        np.minimum(x, 10.0, out=x)
        np.maximum(x, -10.0, out=x)

    def observe(self, batch: Array) -> None:
        """Take a batch [B, *shape] into the statistics."""
        mean, var, count = merge_moments(self.mean, self.var, float(self.count), batch)
        self.mean[...], self.var[...], self.count[...] = mean, var, count
        self.refresh()

    def arrays(self) -> dict[str, Array]:
        return {"mean": self.mean, "var": self.var, "count": self.count}


class BoundsNorm:
    """Maps a bounded vector to [-1, 1]; one without finite bounds passes through."""

    def __init__(self, spec: ObsSpec) -> None:
        self.bounded = bool(spec.low)
        low = np.reshape(spec.low, spec.shape) if self.bounded else np.zeros(spec.shape)
        high = np.reshape(spec.high, spec.shape) if self.bounded else np.ones(spec.shape)
        self.low = low.astype(np.float32)
        self.span = np.where(high > low, high - low, 1.0).astype(np.float32)
        self.refresh()

    def refresh(self) -> None:
        self._low, self._factor = self.low.reshape(-1, 1), (2.0 / self.span).reshape(-1, 1)

    def apply(self, x: Array) -> None:
        if self.bounded:
            x -= self._low
            x *= self._factor
            x -= 1.0

    def arrays(self) -> dict[str, Array]:
        return {"low": self.low, "span": self.span}


class ValueNorm:
    """Values in units of the returns' running spread.

    With `preserve` (PopArt) the value head is rewritten whenever the units move, so that its
    predictions in real units stay the same.
    """

    def __init__(self, *, preserve: bool, decay: float = 0.99) -> None:
        self.preserve, self.decay = preserve, decay
        self.mean, self.square, self.weight = np.zeros(()), np.zeros(()), np.zeros(())

    def arrays(self) -> dict[str, Array]:
        return {"mean": self.mean, "square": self.square, "weight": self.weight}

    def units(self) -> tuple[float, float]:
        """Mean and spread of the returns so far; (0, 1) before any."""
        weight = float(self.weight)
        if weight == 0.0:
            return 0.0, 1.0
        mean = float(self.mean) / weight
        return mean, max(float(self.square) / weight - mean**2, 1e-4) ** 0.5

    def normalize(self, values: Array) -> Array:
        mean, std = self.units()
        return (values - mean) / std

    def denormalize(self, values: Array) -> Array:
        mean, std = self.units()
        return values * std + mean

    def observe(self, returns: Array, weight: Array, bias: Array) -> None:
        """Take returns into the statistics; `weight` and `bias` predict in these units."""
        old_mean, old_std = self.units()
        fresh = 1 - self.decay
        for statistic, now in (
            (self.mean, float(returns.mean(dtype=np.float64))),
            (self.square, float(np.square(returns, dtype=np.float64).mean())),
            (self.weight, 1.0),
        ):
            statistic *= self.decay
            statistic += fresh * now
        if self.preserve:
            mean, std = self.units()
            weight *= old_std / std
            bias *= old_std
            bias += old_mean - mean
            bias /= std
