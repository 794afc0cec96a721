"""REINFORCE: `algos/reinforce.py` with its gradient written out.

A step is learned from once the end of its episode is in the rollout; what stands for the unseen rest
of an episode cut by a time limit is said there.
"""

from typing import Any

import numpy as np

from gymsolve.config import ReinforceConfig
from gymsolve.fast.losses import (
    Batch,
    explained_variance,
    flatten,
    flatten_obs,
    hyperparameters,
    moved,
    value_loss,
    value_targets,
)
from gymsolve.fast.optimizer import FastOptimizer
from gymsolve.fast.policy import FastPolicy
from gymsolve.rollout.returns import finished, monte_carlo, standardize
from gymsolve.rollout.rollout import Rollout
from gymsolve.schedules import Progress
from gymsolve.spec import Array

__all__ = ["FastReinforce"]


class FastReinforce:
    """Monte Carlo policy gradient with an optional baseline."""

    def __init__(self, config: ReinforceConfig, policy: FastPolicy) -> None:
        self.config, self.policy = config, policy
        self.optimizer = FastOptimizer(config.optimizer, policy.parameters)
        self.mean_return: float | None = None  # running, for baseline "mean"

    # Overflow ends in a non-finite metric, which the trainer reports; a warning would say less.
    @np.errstate(all="ignore")
    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        config, policy = self.config, self.policy
        in_force = hyperparameters(config, progress)
        usable = finished(rollout.terminated, rollout.truncated) & rollout.valid
        metrics = in_force | {"train/unfinished_share": 1.0 - float(usable.sum()) / max(1, rollout.env_steps)}
        if not usable.any():
            policy.observe(flatten_obs(rollout, rollout.valid))
            return metrics
        togo = self._rewards_to_go(rollout, in_force["hyper/gamma"])
        credit = togo if config.returns == "reward_to_go" else _whole_episode(togo, rollout)
        credit, targets = flatten(credit, usable), flatten(togo, usable)
        old_values = flatten(rollout.values, usable).copy()
        advantages = (credit - self._baseline(credit, old_values)).astype(np.float32)
        if config.normalize_advantages == "rollout":
            advantages = standardize(advantages)

        batch = Batch(policy, rollout, usable)
        row = self._policy_step(batch, advantages, in_force)
        if config.baseline == "value":
            row["train/value_loss"] = self._value_steps(batch, targets.astype(np.float32), in_force)
        row |= moved(policy, batch)  # before the normaliser moves: that is not the gradient's doing
        self.optimizer.flush()
        policy.observe(flatten_obs(rollout, rollout.valid))
        if config.baseline == "value":
            metrics["train/explained_variance"] = explained_variance(old_values, targets)
        return metrics | row

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

    def _policy_step(self, batch: Batch, advantages: Array, in_force: dict[str, float]) -> dict[str, float]:
        """One step on the policy: only what acts moves."""
        size, ent_coef = len(advantages), in_force["hyper/ent_coef"]
        work = self.policy.evaluate(batch.samples)
        row = {
            "train/policy_loss": -float(np.mean(advantages * work.log_probs)),
            "train/entropy": float(np.mean(work.entropy)),
            "train/first_ratio": float(np.mean(np.exp(work.log_probs - batch.log_probs))),
        }
        row["train/loss"] = row["train/policy_loss"] - ent_coef * row["train/entropy"]
        self.policy.backward(work, advantages * np.float32(-1.0 / size), -ent_coef / size, None)
        row["train/grad_norm"] = self.optimizer.step(
            "policy",
            learning_rate=in_force["hyper/learning_rate"],
            max_grad_norm=in_force["hyper/max_grad_norm"],
        )
        return row

    def _value_steps(self, batch: Batch, returns: Array, in_force: dict[str, float]) -> float:
        """Several steps on the value function: only what predicts moves. The loss before the last."""
        targets = value_targets(self.policy, returns)
        factor = np.float32(in_force["hyper/vf_coef"] / len(returns))
        loss = 0.0
        for _ in range(self.config.value_epochs):
            work = self.policy.critic_values(batch.samples)
            critic, slope = value_loss(self.config, work.values, targets)
            loss = float(np.mean(critic))
            self.policy.backward(work, None, 0.0, slope * factor)
            self.optimizer.step(
                "value",
                learning_rate=in_force["hyper/learning_rate"],
                max_grad_norm=in_force["hyper/max_grad_norm"],
            )
        return loss

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
