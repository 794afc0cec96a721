"""Computations that both engines share before and after their gradients: rows, rates, measures."""

from typing import Protocol

import numpy as np

from gymsolve.experience.frames import Frames
from gymsolve.experience.rollout import Rollout
from gymsolve.settings.any_algorithm import AlgorithmSettings
from gymsolve.settings.schedules import Progress, Schedule
from gymsolve.spec import Array, Obs


class ErrorSettings(Protocol):
    """The settings of a loss of values."""

    @property
    def value_loss(self) -> str: ...

    @property
    def huber_delta(self) -> float: ...


def flatten(array: Array, rows: Array) -> Array:
    """[T, N, …] → [B, …] with only the rows that are True in `rows` [T, N]."""
    flat = array.reshape(-1, *array.shape[2:])
    return flat if rows.all() else flat[rows.reshape(-1)]


def flatten_obs(rollout: Rollout, rows: Array) -> Obs:
    """The observations of some rows, every entry [B, …]."""
    return {key: flatten_entry(stored, rows) for key, stored in rollout.obs.items()}


def flatten_entry(stored: Array | Frames, rows: Array) -> Array:
    """One entry of a rollout's observations."""
    return stored.take(np.flatnonzero(rows)) if isinstance(stored, Frames) else flatten(stored, rows)


def hyperparameters(config: AlgorithmSettings, progress: Progress) -> dict[str, float]:
    """Every schedulable value in force, by metric name."""
    return {f"hyper/{name}": value.at(progress) for name, value in config if isinstance(value, Schedule)}


def adapt_rate(factor: float, desired: float, kl: float) -> float:
    """The factor on the learning rate after an update that moved the policy by `kl`."""
    if kl > 2.0 * desired:
        return max(factor / 1.5, 1e-3)
    return min(factor * 1.5, 1e3) if kl < 0.5 * desired else factor


def explained_variance(predicted: Array, target: Array) -> float:
    """1 is a perfect critic, 0 no better than the mean, below 0 worse; NaN when nothing varies."""
    if not len(target) or target.min() == target.max():  # the variance of equal floats is not exactly 0
        return float("nan")
    exact = target.astype(np.float64)
    return 1.0 - float(np.var(exact - predicted) / np.var(exact))
