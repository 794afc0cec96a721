"""REINFORCE: `algos/reinforce.py` with its gradient written out.

That module describes which steps are used, and the estimate of the rest of an episode that a time limit cut.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gymsolve.experience.credit import Credit, monte_carlo_credit
from gymsolve.experience.learning import flatten_obs, hyperparameters
from gymsolve.experience.rollout import Rollout
from gymsolve.fast.losses import Batch, FastLearner, clipped_share, moved, value_loss, value_targets
from gymsolve.fast.policy import FastPolicy
from gymsolve.parts import rollback_state
from gymsolve.settings.config import ReinforceConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array


class FastReinforce(FastLearner):
    """Monte Carlo policy gradient with an optional baseline."""

    def __init__(self, config: ReinforceConfig, policy: FastPolicy) -> None:
        super().__init__(config, policy)
        self.config = config
        self.mean_return: float | None = None  # running, for baseline "mean"

    def credit(self, rollout: Rollout, progress: Progress) -> Credit:
        """Advantages and value targets of each step; the running baseline does not move."""
        return monte_carlo_credit(rollout, self.config, progress, self.mean_return)

    # Overflow ends in a non-finite metric, which the trainer reports; a warning would say less.
    @np.errstate(all="ignore")
    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        config, policy = self.config, self.policy
        in_force = hyperparameters(config, progress)
        credit = self.newest = self.credit(rollout, progress)
        usable = credit.rows
        metrics = in_force | {"train/unfinished_share": 1.0 - float(usable.sum()) / max(1, rollout.env_steps)}
        if not usable.any():
            policy.observe(flatten_obs(rollout, rollout.valid))
            return metrics
        self.mean_return = credit.mean_return
        credited = credit.flat(rollout, normalized=config.normalize_advantages)
        batch = Batch(policy, rollout, usable)
        row = self._policy_step(batch, credited.advantages, in_force)
        if config.baseline == "value":
            row["train/value_loss"] = self._value_steps(batch, credited.returns, in_force)
        row |= moved(policy, batch)  # before the normaliser moves: the gradient alone counts
        self.optimizer.flush()
        policy.observe(flatten_obs(rollout, rollout.valid))
        if config.baseline == "value":
            metrics["train/explained_variance"] = credited.explained_variance()
        return metrics | row

    def _policy_step(self, batch: Batch, advantages: Array, in_force: dict[str, float]) -> dict[str, float]:
        """One step on the policy; parameters of the value function alone do not move."""
        size, ent_coef = len(advantages), in_force["hyper/ent_coef"]
        work = self.policy.learning.evaluate(batch.samples)
        row = {
            "train/policy_loss": -float(np.mean(advantages * work.log_probs)),
            "train/entropy": float(np.mean(work.entropy)),
            "train/first_ratio": float(np.mean(np.exp(work.log_probs - batch.log_probs))),
        }
        row["train/loss"] = row["train/policy_loss"] - ent_coef * row["train/entropy"]
        self.policy.learning.backward(work, advantages * np.float32(-1.0 / size), -ent_coef / size, None)
        row["train/grad_norm"] = self.step(in_force, "policy")
        row["train/grad_clipped_share"] = clipped_share([row["train/grad_norm"]], in_force)
        return row

    def _value_steps(self, batch: Batch, returns: Array, in_force: dict[str, float]) -> float:
        """Several steps on the value function alone; the loss before the last one."""
        targets = value_targets(self.policy, returns)
        factor = np.float32(in_force["hyper/vf_coef"] / len(returns))
        loss = 0.0
        for _ in range(self.config.value_epochs):
            work = self.policy.learning.critic_values(batch.samples)
            critic, slope = value_loss(self.config, work.values, targets)
            loss = float(np.mean(critic))
            self.policy.learning.backward(work, None, 0.0, slope * factor)
            self.step(in_force, "value")
        return loss

    def state(self) -> dict[str, Any]:
        return {"mean_return": self.mean_return}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        mean = state.get("mean_return")
        self.mean_return = None if mean is None else float(mean)
        return []

    def rollback_point(self) -> Callable[[], None]:
        return rollback_state(self)
