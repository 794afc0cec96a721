"""Advantage actor-critic (Mnih et al. 2016, synchronous): one gradient step per short rollout."""

from collections.abc import Sequence

import numpy as np
import torch

from gymsolve.algos.auxiliary import Auxiliary, add_losses
from gymsolve.algos.batch import Batch
from gymsolve.algos.losses import mean_metrics, moved, value_loss, value_targets, was_clipped
from gymsolve.algos.policy_gradient import PolicyGradient
from gymsolve.experience.credit import Credit, actor_critic_credit
from gymsolve.experience.learning import hyperparameters
from gymsolve.experience.rollout import Rollout
from gymsolve.nn.policy import Policy
from gymsolve.settings.config import A2CConfig
from gymsolve.settings.schedules import Progress


class A2C(PolicyGradient):
    """Policy gradient with a learned critic."""

    settings = A2CConfig

    def __init__(self, config: A2CConfig, policy: Policy, auxiliaries: Sequence[Auxiliary] = ()) -> None:
        super().__init__(config, policy, auxiliaries)
        self.config = config

    def credit(self, rollout: Rollout, progress: Progress) -> Credit:
        """The advantage of each step."""
        return actor_critic_credit(rollout, self.config, progress)

    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        config, policy = self.config, self.policy
        in_force = hyperparameters(config, progress)
        if not rollout.valid.any():  # every environment spent the rollout on a reset
            return in_force
        self.newest = self.credit(rollout, progress)
        credited = self.newest.flat(rollout, normalized=config.normalize_advantages)
        batch = Batch(policy, rollout, rollout.valid)
        minibatch = batch.whole()
        targets = value_targets(policy, credited)

        policy.gradient_mode(True)
        evaluated = policy.evaluate(minibatch)
        policy_loss = -(torch.from_numpy(credited.advantages).to(policy.device) * evaluated.log_probs).mean()
        critic_loss = value_loss(config, evaluated.values, targets).mean()
        entropy = evaluated.entropy.mean()
        loss = policy_loss + in_force["hyper/vf_coef"] * critic_loss - in_force["hyper/ent_coef"] * entropy
        loss, further = add_losses(loss, self.auxiliaries, policy, minibatch, evaluated)
        norm = self.optimizer.step(
            loss,
            learning_rate=in_force["hyper/learning_rate"],
            max_grad_norm=in_force["hyper/max_grad_norm"],
        )
        policy.gradient_mode(False)
        log_ratio = evaluated.log_probs.detach() - minibatch.log_probs
        row = further | {
            "train/policy_loss": policy_loss,
            "train/value_loss": critic_loss,
            "train/entropy": entropy,
            "train/loss": loss,
            "train/grad_norm": norm,
            "train/grad_clipped_share": was_clipped(norm, in_force),
            "train/first_ratio": log_ratio.exp().mean(),
        }
        row |= moved(policy, minibatch)
        policy.observe(batch.raw_obs)
        metrics = mean_metrics([row]) | in_force
        metrics["train/explained_variance"] = credited.explained_variance()
        return metrics
