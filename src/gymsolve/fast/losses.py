"""What more than one algorithm needs: batches, value errors with their slopes, diagnostics.

The torch side of the same names is `algos/losses.py`.
"""

import numpy as np

from gymsolve.config import A2CConfig, PPOConfig, ReinforceConfig
from gymsolve.fast.policy import FastPolicy, Samples
from gymsolve.rollout.rollout import Rollout
from gymsolve.schedules import Progress, Schedule
from gymsolve.spec import Array, Obs

__all__ = [
    "Batch",
    "explained_variance",
    "flatten",
    "hyperparameters",
    "moved",
    "value_loss",
    "value_targets",
]

AnyAlgo = PPOConfig | A2CConfig | ReinforceConfig


class Batch:
    """The chosen steps of a rollout, flat, ready for the network."""

    def __init__(self, policy: FastPolicy, rollout: Rollout, rows: Array) -> None:
        self.raw_obs = flatten_obs(rollout, rows)
        masks = None if rollout.masks is None else flatten(rollout.masks, rows)
        self.samples: Samples = policy.samples(self.raw_obs, flatten(rollout.actions, rows), masks)
        self.log_probs = flatten(rollout.log_probs, rows)  # [B]


def flatten(array: Array, rows: Array) -> Array:
    """[T, N, …] → [B, …] with only the rows that are True in `rows` [T, N]."""
    flat = array.reshape(-1, *array.shape[2:])
    return flat if rows.all() else flat[rows.reshape(-1)]


def flatten_obs(rollout: Rollout, rows: Array) -> Obs:
    return {key: flatten(array, rows) for key, array in rollout.obs.items()}


def value_loss(config: AnyAlgo, predicted: Array, target: Array) -> tuple[Array, Array]:
    """Elementwise loss, half-squared so that mse and huber agree near zero, and its slope."""
    gap = predicted - target
    if config.value_loss == "huber":
        slope = np.clip(gap, -config.huber_delta, config.huber_delta)
        return slope * (gap - 0.5 * slope), slope
    loss = gap * gap
    loss *= 0.5
    return loss, gap


def value_targets(policy: FastPolicy, returns: Array) -> Array:
    """Returns in the value head's units, after taking them into its statistics."""
    policy.observe_returns(returns)
    return returns if policy.value_norm is None else policy.value_norm.normalize(returns)


def moved(policy: FastPolicy, batch: Batch, clip_coef: float = 0.2) -> dict[str, float]:
    """How far a single gradient step moved the policy on its own batch."""
    log_ratio = policy.evaluate(batch.samples).log_probs - batch.log_probs
    change = np.exp(log_ratio) - 1.0
    return {
        "train/approx_kl": float(np.mean(change - log_ratio)),
        "train/clip_fraction": float(np.mean(np.abs(change) > clip_coef)),
    }


def explained_variance(predicted: Array, target: Array) -> float:
    """1 is a perfect critic, 0 no better than the mean, below 0 worse; NaN when nothing varies."""
    if not len(target) or target.min() == target.max():  # the variance of equal floats is not exactly 0
        return float("nan")
    exact = target.astype(np.float64)
    return 1.0 - float(np.var(exact - predicted) / np.var(exact))


def hyperparameters(config: AnyAlgo, progress: Progress) -> dict[str, float]:
    """Every schedulable value in force, by metric name."""
    return {f"hyper/{name}": value.at(progress) for name, value in config if isinstance(value, Schedule)}
