"""Advantage actor-critic: `algos/a2c.py` with its gradient written out."""

import numpy as np

from gymsolve.experience.credit import Credit, actor_critic_credit
from gymsolve.experience.learning import hyperparameters
from gymsolve.experience.rollout import Rollout
from gymsolve.fast.losses import Batch, FastLearner, clipped_share, moved, value_loss, value_targets
from gymsolve.fast.policy import FastPolicy
from gymsolve.settings.config import A2CConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array


class FastA2C(FastLearner):
    """Policy gradient with a learned critic."""

    def __init__(self, config: A2CConfig, policy: FastPolicy) -> None:
        super().__init__(config, policy)
        self.config = config

    def credit(self, rollout: Rollout, progress: Progress) -> Credit:
        """Advantages and value targets of each step."""
        return actor_critic_credit(rollout, self.config, progress)

    # Overflow ends in a non-finite metric, which the trainer reports; a warning would say less.
    @np.errstate(all="ignore")
    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        config, policy = self.config, self.policy
        in_force = hyperparameters(config, progress)
        if not rollout.valid.any():  # every environment spent the rollout on a reset
            return in_force
        self.newest = self.credit(rollout, progress)
        credited = self.newest.flat(rollout, normalized=config.normalize_advantages)
        batch = Batch(policy, rollout, rollout.valid)
        targets = value_targets(policy, credited.returns)

        row = self._step(batch, credited.advantages, targets, in_force)
        row |= moved(policy, batch)
        self.optimizer.flush()
        policy.observe(batch.raw_obs)
        row["train/explained_variance"] = credited.explained_variance()
        return row | in_force

    def _step(
        self, batch: Batch, advantages: Array, targets: Array, in_force: dict[str, float]
    ) -> dict[str, float]:
        """The gradient step and its measures."""
        vf_coef, ent_coef, size = in_force["hyper/vf_coef"], in_force["hyper/ent_coef"], len(advantages)
        work = self.policy.learning.evaluate(batch.samples)
        critic, d_values = value_loss(self.config, work.values, targets)
        row = {
            "train/policy_loss": -float(np.mean(advantages * work.log_probs)),
            "train/value_loss": float(np.mean(critic)),
            "train/entropy": float(np.mean(work.entropy)),
            "train/first_ratio": float(np.mean(np.exp(work.log_probs - batch.log_probs))),
        }
        weighted = vf_coef * row["train/value_loss"]
        row["train/loss"] = row["train/policy_loss"] + weighted - ent_coef * row["train/entropy"]
        d_log_probs = advantages * np.float32(-1.0 / size)
        d_values = d_values * np.float32(vf_coef / size)
        self.policy.learning.backward(work, d_log_probs, -ent_coef / size, d_values)
        row["train/grad_norm"] = self.step(in_force)
        row["train/grad_clipped_share"] = clipped_share([row["train/grad_norm"]], in_force)
        return row
