"""REINFORCE (Williams 1992): the Monte Carlo policy gradient, on finished episodes only.

A step is learned from once the end of its episode is in the rollout; steps whose episode is still
running are left out, never treated as if it had ended there. A time limit is an end of the
recording, not of the task: the baseline's estimate stands for what was not seen. Without a baseline
there is no such estimate, and the return up to the limit is the objective.
"""

from typing import Any

import numpy as np
import torch

from gymsolve.algos.batch import Batch
from gymsolve.algos.losses import mean_metrics, moved, value_loss, value_targets, was_clipped
from gymsolve.algos.optimizer import Optimizer
from gymsolve.config import ReinforceConfig
from gymsolve.nn.policy import Policy
from gymsolve.rollout.learning import EpisodeCredit, explained_variance, flatten, hyperparameters
from gymsolve.rollout.returns import finished
from gymsolve.rollout.rollout import Rollout
from gymsolve.schedules import Progress
from gymsolve.spec import Array

__all__ = ["Reinforce"]


class Reinforce:
    """Monte Carlo policy gradient with an optional baseline."""

    def __init__(self, config: ReinforceConfig, policy: Policy) -> None:
        self.config, self.policy = config, policy
        self.optimizer = Optimizer(config.optimizer, policy.parameters())
        self.credit = EpisodeCredit(config)

    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        config, policy = self.config, self.policy
        in_force = hyperparameters(config, progress)
        usable = finished(rollout.terminated, rollout.truncated) & rollout.valid
        metrics = in_force | {"train/unfinished_share": 1.0 - float(usable.sum()) / max(1, rollout.env_steps)}
        if not usable.any():
            policy.observe(Batch(policy, rollout, rollout.valid).raw_obs)
            return metrics
        advantages, targets = self.credit.assign(rollout, usable, in_force["hyper/gamma"])
        batch = Batch(policy, rollout, usable)
        row = self._step(batch, advantages, targets, in_force)
        row |= moved(policy, batch)  # before the normaliser moves: that is not the gradient's doing
        policy.observe(Batch(policy, rollout, rollout.valid).raw_obs)
        if config.baseline == "value":
            metrics["train/explained_variance"] = explained_variance(flatten(rollout.values, usable), targets)
        return metrics | mean_metrics([row])

    def _step(
        self, batch: Batch, advantages: Array, returns: Array, in_force: dict[str, float]
    ) -> dict[str, torch.Tensor]:
        """One step on the policy, several on the value function if there is one."""
        policy, config = self.policy, self.config
        policy.gradient_mode(True)
        obs, actions, masks = batch.everything()
        log_probs, entropy, _ = policy.evaluate(obs, actions, masks)
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
        row["train/grad_clipped_share"] = was_clipped(row["train/grad_norm"], in_force)
        if config.baseline == "value":
            targets = value_targets(policy, returns)
            for _ in range(config.value_epochs):
                critic = value_loss(config, policy.critic_values(obs), targets).mean()
                self.optimizer.step(in_force["hyper/vf_coef"] * critic, **rates)
            row["train/value_loss"] = critic
        policy.gradient_mode(False)
        return row

    def state(self) -> dict[str, Any]:
        return {"mean_return": self.credit.mean_return}

    def load(self, state: dict[str, Any]) -> None:
        self.credit.mean_return = state["mean_return"]
