"""Proximal policy optimisation (Schulman et al. 2017), with the details that matter as options.

One call of `update` is the whole algorithm: advantages, several passes over shuffled minibatches
with a clipped objective, then the running statistics move.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from gymsolve.algos.batch import Batch
from gymsolve.algos.losses import divergence, mean_metrics, value_loss, value_targets, was_clipped
from gymsolve.algos.optimizer import Optimizer
from gymsolve.config import PPOConfig
from gymsolve.nn.policy import Policy
from gymsolve.rollout.learning import adapt_rate, explained_variance, flatten, hyperparameters
from gymsolve.rollout.returns import standardize
from gymsolve.rollout.rollout import Rollout
from gymsolve.schedules import Progress
from gymsolve.spec import Array

__all__ = ["PPO"]


class PPO:
    """Clipped-surrogate policy optimisation."""

    def __init__(self, config: PPOConfig, policy: Policy) -> None:
        self.config, self.policy = config, policy
        self.optimizer = Optimizer(config.optimizer, policy.parameters())
        self.rate_factor = 1.0  # moved by `desired_kl`, times the scheduled learning rate

    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        config, policy = self.config, self.policy
        in_force = hyperparameters(config, progress)
        in_force["hyper/learning_rate"] *= self.rate_factor
        if not rollout.valid.any():  # every environment spent the rollout on a reset
            return in_force
        advantages, returns, values = self._targets(rollout, in_force)
        batch = Batch(policy, rollout, rollout.valid)
        old_values, targets = self._critic_targets(values, returns)
        if config.normalize_advantages == "rollout":
            advantages = standardize(advantages)

        steps: list[dict[str, torch.Tensor]] = []
        moves: list[torch.Tensor] = []  # KL before each step, and the one that forbade a step
        stopped = False
        policy.gradient_mode(True)
        for chunk in self._minibatches(len(advantages), max(1, round(in_force["hyper/num_epochs"])), rng):
            index = torch.from_numpy(chunk).to(policy.device)
            weights = advantages[chunk]
            if config.normalize_advantages == "minibatch" and len(chunk) > 1:
                weights = standardize(weights)
            weight = torch.from_numpy(weights).to(policy.device)
            approx_kl, row = self._step(batch, index, weight, targets[index], old_values[index], in_force)
            moves.append(approx_kl)
            if row is None:
                stopped = True
                break
            steps.append(row)
        policy.gradient_mode(False)
        if config.desired_kl is not None and steps:
            kl = self._measure_kl(batch, index)
            self.rate_factor = adapt_rate(self.rate_factor, config.desired_kl, kl)
        policy.observe(batch.raw_obs)

        metrics = mean_metrics(steps) | in_force
        metrics["train/approx_kl"] = float(torch.stack(moves).mean())
        metrics["train/explained_variance"] = explained_variance(values, returns)
        metrics["train/kl_stopped"] = float(stopped)
        metrics["train/gradient_steps"] = float(len(steps))
        metrics["train/first_ratio"] = float(steps[0]["train/ratio"]) if steps else float("nan")
        return metrics

    def _minibatches(self, rows: int, epochs: int, rng: np.random.Generator) -> Iterator[Array]:
        """Every row once per epoch, in a new order each time."""
        count = min(self.config.num_minibatches, rows)  # fewer rows than planned when resets took some
        for _ in range(epochs):
            yield from np.array_split(rng.permutation(rows), count)

    def _critic_targets(self, values: Array, returns: Array) -> tuple[torch.Tensor, torch.Tensor]:
        """Old predictions and targets [B] in the units in which the value head now predicts."""
        policy = self.policy
        old = torch.from_numpy(values).to(policy.device)
        if policy.value_norm is None:
            return old, value_targets(policy, returns)
        before = policy.value_norm.normalize(old)
        targets = value_targets(policy, returns)  # the units move
        return (policy.value_norm.normalize(old) if policy.value_norm.preserve else before), targets

    def _targets(self, rollout: Rollout, in_force: dict[str, float]) -> tuple[Array, Array, Array]:
        """Advantages, returns and old values of the valid steps [B]."""
        measured = rollout.advantages(gamma=in_force["hyper/gamma"], gae_lambda=in_force["hyper/gae_lambda"])
        advantages = flatten(measured, rollout.valid)
        values = flatten(rollout.values, rollout.valid).copy()
        return advantages, advantages + values, values

    def _step(
        self,
        batch: Batch,
        index: torch.Tensor,
        advantages: torch.Tensor,
        targets: torch.Tensor,
        old_values: torch.Tensor,
        in_force: dict[str, float],
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor] | None]:
        """The KL so far and the measures of one gradient step; None when the KL limit forbids it."""
        config, clip = self.config, in_force["hyper/clip_coef"]
        log_probs, entropy, values = self.policy.evaluate(*batch.select(index))
        log_ratio = log_probs - batch.log_probs[index]
        approx_kl, clip_fraction = divergence(log_ratio, clip)
        if config.target_kl is not None and float(approx_kl) > in_force["hyper/target_kl"]:
            return approx_kl, None

        ratio = log_ratio.exp()
        surrogate = torch.minimum(advantages * ratio, advantages * ratio.clamp(1 - clip, 1 + clip))
        critic = value_loss(config, values, targets)
        if config.clip_value is not None:
            limit = in_force["hyper/clip_value"]
            near = old_values + (values - old_values).clamp(-limit, limit)
            critic = torch.maximum(critic, value_loss(config, near, targets))
        policy_loss, critic_loss, mean_entropy = -surrogate.mean(), critic.mean(), entropy.mean()
        loss = (
            policy_loss + in_force["hyper/vf_coef"] * critic_loss - in_force["hyper/ent_coef"] * mean_entropy
        )
        norm = self.optimizer.step(
            loss,
            learning_rate=in_force["hyper/learning_rate"],
            max_grad_norm=in_force["hyper/max_grad_norm"],
        )
        return approx_kl, {  # detached: whoever holds a loss holds all that led to it
            "train/policy_loss": policy_loss.detach(),
            "train/value_loss": critic_loss.detach(),
            "train/entropy": mean_entropy.detach(),
            "train/loss": loss.detach(),
            "train/clip_fraction": clip_fraction,
            "train/grad_norm": norm,
            "train/grad_clipped_share": was_clipped(norm, in_force),
            "train/ratio": ratio.detach().mean(),
        }

    @torch.no_grad()
    def _measure_kl(self, batch: Batch, index: torch.Tensor) -> float:
        """How far the whole update moved the policy, on its last minibatch."""
        log_probs, _, _ = self.policy.evaluate(*batch.select(index))
        return float(divergence(log_probs - batch.log_probs[index], 0.0)[0])

    def state(self) -> dict[str, Any]:
        return {"rate_factor": self.rate_factor}

    def load(self, state: dict[str, Any]) -> None:
        self.rate_factor = state["rate_factor"]
