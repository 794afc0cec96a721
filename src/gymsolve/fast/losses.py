"""Shared by the algorithms: batches, and value errors with their slopes; `algos/losses.py` without torch."""

import numpy as np

from gymsolve.experience.learner import Learner
from gymsolve.experience.learning import ErrorSettings, flatten, flatten_obs
from gymsolve.experience.rollout import Rollout
from gymsolve.fast.inputs import Samples
from gymsolve.fast.optimizer import FastOptimizer
from gymsolve.fast.parameters import Loss
from gymsolve.fast.policy import FastPolicy
from gymsolve.settings.config import BuiltInAlgo
from gymsolve.spec import Array


class FastLearner(Learner):
    """A policy of this engine and its optimizer."""

    auxiliaries: tuple[()] = ()  # only the torch engine has further losses
    policy: FastPolicy
    optimizer: FastOptimizer

    def __init__(self, config: BuiltInAlgo, policy: FastPolicy) -> None:
        self.policy, self.optimizer = policy, FastOptimizer(config.optimizer, policy.parameters)

    def step(self, in_force: dict[str, float], loss: Loss = "both") -> float:
        """One step of the optimizer; the norm of the gradient before clipping."""
        rate, limit = in_force["hyper/learning_rate"], in_force["hyper/max_grad_norm"]
        return self.optimizer.step(loss, learning_rate=rate, max_grad_norm=limit)


def clipped_share(norms: list[float], in_force: dict[str, float]) -> float:
    """Share of gradient steps, at least one, that the limit shortened."""
    limit = in_force["hyper/max_grad_norm"]
    return sum(norm > limit for norm in norms) / len(norms) if limit > 0 else 0.0


class Batch:
    """The chosen steps of a rollout, flat, ready for the network."""

    def __init__(self, policy: FastPolicy, rollout: Rollout, rows: Array) -> None:
        self.raw_obs = flatten_obs(rollout, rows)
        masks = None if rollout.masks is None else flatten(rollout.masks, rows)
        self.samples: Samples = policy.samples(self.raw_obs, flatten(rollout.actions, rows), masks)
        self.log_probs = flatten(rollout.log_probs, rows)  # [B]


def value_loss(config: ErrorSettings, predicted: Array, target: Array) -> tuple[Array, Array]:
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
    log_ratio = policy.learning.evaluate(batch.samples).log_probs - batch.log_probs
    change = np.exp(log_ratio) - 1.0
    return {
        "train/approx_kl": float(np.mean(change - log_ratio)),
        "train/clip_fraction": float(np.mean(np.abs(change) > clip_coef)),
    }
