"""Advantage actor-critic (Mnih et al. 2016, synchronous): one gradient step per short rollout."""

from typing import Any

import numpy as np
import torch

from gymsolve.algos.batch import Batch
from gymsolve.algos.losses import mean_metrics, moved, value_loss, value_targets, was_clipped
from gymsolve.algos.optimizer import Optimizer
from gymsolve.config import A2CConfig
from gymsolve.nn.policy import Policy
from gymsolve.rollout.learning import explained_variance, flatten, hyperparameters
from gymsolve.rollout.returns import standardize
from gymsolve.rollout.rollout import Rollout
from gymsolve.schedules import Progress

__all__ = ["A2C"]


class A2C:
    """Policy gradient with a learned critic."""

    def __init__(self, config: A2CConfig, policy: Policy) -> None:
        self.config, self.policy = config, policy
        self.optimizer = Optimizer(config.optimizer, policy.parameters())

    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        config, policy = self.config, self.policy
        in_force = hyperparameters(config, progress)
        if not rollout.valid.any():  # every environment spent the rollout on a reset
            return in_force
        measured = rollout.advantages(gamma=in_force["hyper/gamma"], gae_lambda=in_force["hyper/gae_lambda"])
        advantages = flatten(measured, rollout.valid)
        old_values = flatten(rollout.values, rollout.valid).copy()
        returns = advantages + old_values
        batch = Batch(policy, rollout, rollout.valid)
        targets = value_targets(policy, returns)
        if config.normalize_advantages == "rollout":
            advantages = standardize(advantages)

        policy.gradient_mode(True)
        log_probs, entropy, values = policy.evaluate(*batch.everything())
        policy_loss = -(torch.from_numpy(advantages).to(policy.device) * log_probs).mean()
        critic_loss = value_loss(config, values, targets).mean()
        mean_entropy = entropy.mean()
        loss = (
            policy_loss + in_force["hyper/vf_coef"] * critic_loss - in_force["hyper/ent_coef"] * mean_entropy
        )
        norm = self.optimizer.step(
            loss,
            learning_rate=in_force["hyper/learning_rate"],
            max_grad_norm=in_force["hyper/max_grad_norm"],
        )
        policy.gradient_mode(False)
        log_ratio = log_probs.detach() - batch.log_probs
        row = {
            "train/policy_loss": policy_loss,
            "train/value_loss": critic_loss,
            "train/entropy": mean_entropy,
            "train/loss": loss,
            "train/grad_norm": norm,
            "train/grad_clipped_share": was_clipped(norm, in_force),
            "train/first_ratio": log_ratio.exp().mean(),
        }
        row |= moved(policy, batch)
        policy.observe(batch.raw_obs)
        metrics = mean_metrics([row]) | in_force
        metrics["train/explained_variance"] = explained_variance(old_values, returns)
        return metrics

    def state(self) -> dict[str, Any]:
        return {}

    def load(self, state: dict[str, Any]) -> None:
        pass
