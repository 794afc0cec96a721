"""REINFORCE (Williams 1992): the Monte Carlo policy gradient, on finished episodes only.

A step is learned from once the end of its episode is in the rollout; steps whose episode is still
running are left out, never treated as if it had ended there. A time limit is an end of the
recording, not of the task: the baseline's estimate stands for what was not seen. Without a baseline
there is no such estimate, and the return up to the limit is the objective.
"""

from typing import Any

import numpy as np
import torch

from gymsolve.algos.batch import Batch, flatten
from gymsolve.algos.losses import (
    explained_variance,
    hyperparameters,
    mean_metrics,
    moved,
    value_loss,
    value_targets,
)
from gymsolve.algos.optimizer import Optimizer
from gymsolve.config import ReinforceConfig
from gymsolve.nn.policy import Policy
from gymsolve.rollout.returns import finished, monte_carlo, standardize
from gymsolve.rollout.rollout import Rollout
from gymsolve.schedules import Progress
from gymsolve.spec import Array

__all__ = ["Reinforce"]


class Reinforce:
    """Monte Carlo policy gradient with an optional baseline."""

    def __init__(self, config: ReinforceConfig, policy: Policy) -> None:
        self.config, self.policy = config, policy
        self.optimizer = Optimizer(config.optimizer, policy.parameters())
        self.mean_return: float | None = None  # running, for baseline "mean"

    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        config, policy = self.config, self.policy
        in_force = hyperparameters(config, progress)
        usable = finished(rollout.terminated, rollout.truncated) & rollout.valid
        metrics = in_force | {"train/unfinished_share": 1.0 - float(usable.sum()) / max(1, rollout.env_steps)}
        if not usable.any():
            policy.observe(Batch(policy, rollout, rollout.valid).raw_obs)
            return metrics
        togo = self._rewards_to_go(rollout, in_force["hyper/gamma"])
        credit = togo if config.returns == "reward_to_go" else _whole_episode(togo, rollout)
        credit, targets = flatten(credit, usable), flatten(togo, usable)
        old_values = flatten(rollout.values, usable).copy()
        advantages = (credit - self._baseline(credit, old_values)).astype(np.float32)
        if config.normalize_advantages == "rollout":
            advantages = standardize(advantages)

        batch = Batch(policy, rollout, usable)
        row = self._step(batch, advantages, targets, in_force)
        row |= moved(policy, batch)  # before the normaliser moves: that is not the gradient's doing
        policy.observe(Batch(policy, rollout, rollout.valid).raw_obs)
        if config.baseline == "value":
            metrics["train/explained_variance"] = explained_variance(old_values, targets)
        return metrics | mean_metrics([row])

    def _rewards_to_go(self, rollout: Rollout, gamma: float) -> Array:
        """Discounted sums of rewards [T, N] to the end of each episode."""
        tails = np.zeros_like(rollout.values)
        if self.config.baseline == "value":
            tails = rollout.next_values
        elif self.config.baseline == "mean" and self.mean_return is not None and gamma < 1.0:
            # Undiscounted, an estimate that feeds on itself would grow without bound.
            tails = np.full_like(rollout.values, self.mean_return)
        return monte_carlo(rollout.rewards, tails, rollout.terminated, rollout.truncated, gamma=gamma)

    def _baseline(self, credit: Array, values: Array) -> Array | float:
        if self.config.baseline == "value":
            return values
        if self.config.baseline == "none":
            return 0.0
        now = float(credit.mean())
        self.mean_return = now if self.mean_return is None else 0.9 * self.mean_return + 0.1 * now
        return self.mean_return

    def _step(
        self, batch: Batch, advantages: Array, returns: Array, in_force: dict[str, float]
    ) -> dict[str, torch.Tensor]:
        """One step on the policy, several on the value function if there is one."""
        policy, config = self.policy, self.config
        policy.gradient_mode(True)
        log_probs, entropy, _ = policy.evaluate(batch.obs, batch.actions, batch.masks)
        policy_loss = -(torch.from_numpy(advantages).to(policy.device) * log_probs).mean()
        mean_entropy = entropy.mean()
        loss = policy_loss - in_force["hyper/ent_coef"] * mean_entropy
        rates = {
            "learning_rate": in_force["hyper/learning_rate"],
            "max_grad_norm": in_force["hyper/max_grad_norm"],
        }
        row = {
            "train/policy_loss": policy_loss,
            "train/entropy": mean_entropy,
            "train/loss": loss,
            "train/first_ratio": (log_probs.detach() - batch.log_probs).exp().mean(),
            "train/grad_norm": self.optimizer.step(loss, **rates),
        }
        if config.baseline == "value":
            targets = value_targets(policy, returns.astype(np.float32))
            for _ in range(config.value_epochs):
                critic = value_loss(config, policy.critic_values(batch.obs), targets).mean()
                self.optimizer.step(in_force["hyper/vf_coef"] * critic, **rates)
            row["train/value_loss"] = critic
        policy.gradient_mode(False)
        return row

    def state(self) -> dict[str, Any]:
        return {"mean_return": self.mean_return}

    def load(self, state: dict[str, Any]) -> None:
        self.mean_return = state["mean_return"]


def _whole_episode(togo: Array, rollout: Rollout) -> Array:
    """Every step of an episode gets the return from its first step in the rollout."""
    begins = np.ones(togo.shape, bool)
    begins[1:] = rollout.done[:-1] | ~rollout.valid[:-1]
    whole = togo.copy()
    for t in range(1, len(togo)):
        whole[t] = np.where(begins[t], togo[t], whole[t - 1])
    return whole
