"""What more than one algorithm needs: batches, and value errors with their slopes.

The torch side of the same names is `algos/losses.py`.
"""

import numpy as np

from gymsolve.experience.learning import flatten, flatten_obs
from gymsolve.experience.rollout import Rollout
from gymsolve.fast.inputs import Samples
from gymsolve.fast.policy import FastPolicy
from gymsolve.settings.config import AnyAlgo
from gymsolve.spec import Array


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
    log_ratio = policy.learning.evaluate(batch.samples).log_probs - batch.log_probs
    change = np.exp(log_ratio) - 1.0
    return {
        "train/approx_kl": float(np.mean(change - log_ratio)),
        "train/clip_fraction": float(np.mean(np.abs(change) > clip_coef)),
    }
