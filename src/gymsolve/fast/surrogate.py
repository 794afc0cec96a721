"""The clipped objective of PPO with its slopes, for one minibatch: in NumPy or by the compiled kernels."""

import math
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

from gymsolve.fast.losses import value_loss
from gymsolve.fast.passes import Work
from gymsolve.settings.config import PPOConfig
from gymsolve.spec import Array


class SurrogateMeans(NamedTuple):
    """Means over the rows of a minibatch, before its gradient step."""

    approx_kl: float
    gain: float
    """The clipped objective that the policy maximises; the policy loss is its negative."""
    value_loss: float
    entropy: float
    clip_fraction: float
    ratio: float


Surrogate = tuple[SurrogateMeans, Array, Array]
"""Means, slope of the log-probabilities [B], slope of the values [B]."""


def compiled_surrogate(
    kernels: ModuleType, config: PPOConfig, work: Any, columns: Array, in_force: dict[str, float]
) -> Surrogate:
    """Like `numpy_surrogate`, in one call; `work` is that of the compiled passes."""
    means = kernels.ppo_loss(
        columns,
        work.log_probs,
        work.entropy,
        work.values,
        work.d_log_probs,
        work.d_values,
        config.normalize_advantages == "minibatch" and columns.shape[1] > 1,
        in_force["hyper/clip_coef"],
        in_force["hyper/vf_coef"],
        config.huber_delta if config.value_loss == "huber" else math.inf,
        math.inf if config.clip_value is None else in_force["hyper/clip_value"],
    )
    return SurrogateMeans(*means), work.d_log_probs, work.d_values


def numpy_surrogate(config: PPOConfig, work: Work, columns: Array, in_force: dict[str, float]) -> Surrogate:
    """The objective of rows; `columns` [4, B] are old log-probability, advantage, target and old value."""
    old_log_probs, advantages, targets, old_values = columns
    clip, size = in_force["hyper/clip_coef"], len(targets)
    if config.normalize_advantages == "minibatch" and size > 1:
        advantages = _standardize(advantages)
    measures = np.empty((len(SurrogateMeans._fields), size), np.float32)
    log_ratio = work.log_probs - old_log_probs
    ratio = np.exp(log_ratio, out=measures[5])
    change = ratio - 1.0
    np.subtract(change, log_ratio, out=measures[0])
    gain = advantages * ratio
    kept = np.minimum(np.maximum(ratio, 1.0 - clip), 1.0 + clip)
    kept *= advantages
    np.minimum(gain, kept, out=measures[1])
    measures[2], d_values = _critic(config, work.values, targets, old_values, in_force)
    measures[3] = work.entropy
    np.greater(np.abs(change), clip, out=measures[4])

    # Where the clipped branch is the smaller one, nothing flows back.
    d_log_probs = gain * (gain <= kept)
    d_log_probs *= -1.0 / size
    d_values *= in_force["hyper/vf_coef"] / size
    means = np.add.reduce(measures, axis=1) / size
    return SurrogateMeans(*means.tolist()), d_log_probs, d_values


def _critic(
    config: PPOConfig, values: Array, targets: Array, old_values: Array, in_force: dict[str, float]
) -> tuple[Array, Array]:
    """Value loss of each row and its slope."""
    loss, slope = value_loss(config, values, targets)
    if config.clip_value is None:
        return loss, slope
    limit = in_force["hyper/clip_value"]
    change = values - old_values
    near = old_values + np.clip(change, -limit, limit)
    clipped, _ = value_loss(config, near, targets)
    # Inside the limit both are the same; outside, the clipped one no longer depends on the values.
    slope *= (np.abs(change) <= limit) | (loss > clipped)
    return np.maximum(loss, clipped), slope


def _standardize(values: Array) -> Array:
    """`rollout.returns.standardize` with fewer passes: it runs once per gradient step."""
    exact = values.astype(np.float64)
    exact -= np.add.reduce(exact) / len(exact)
    exact /= np.sqrt(np.dot(exact, exact) / len(exact)) + 1e-8
    return exact.astype(values.dtype)
