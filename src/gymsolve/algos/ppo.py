"""Proximal policy optimisation (Schulman et al. 2017), with the details that matter as options.

One call of `update` is the whole algorithm: advantages, several passes over shuffled minibatches
with a clipped objective, then the running statistics move.
"""

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import torch

from gymsolve.algos.auxiliary import Auxiliary, add_losses
from gymsolve.algos.batch import Batch
from gymsolve.algos.losses import divergence, mean_metrics, value_loss, value_targets, was_clipped
from gymsolve.algos.policy_gradient import PolicyGradient
from gymsolve.experience.credit import Credit, Credited, actor_critic_credit
from gymsolve.experience.learning import adapt_rate, hyperparameters
from gymsolve.experience.returns import standardize
from gymsolve.experience.rollout import Rollout
from gymsolve.nn.minibatch import Minibatch
from gymsolve.nn.policy import Policy
from gymsolve.parts import rollback_state
from gymsolve.settings.config import PPOConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array


class _Goals(NamedTuple):
    """The rows of a minibatch that an update learns from."""

    advantages: torch.Tensor  # [B]
    targets: torch.Tensor  # [B] of the value head, in its units
    old_values: torch.Tensor  # [B]


class PPO(PolicyGradient):
    """Clipped-surrogate policy optimisation."""

    settings = PPOConfig

    def __init__(self, config: PPOConfig, policy: Policy, auxiliaries: Sequence[Auxiliary] = ()) -> None:
        super().__init__(config, policy, auxiliaries)
        self.config = config
        self.rate_factor = 1.0  # moved by `desired_kl`, times the scheduled learning rate

    def credit(self, rollout: Rollout, progress: Progress) -> Credit:
        """The advantage of each step."""
        return actor_critic_credit(rollout, self.config, progress)

    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        config, policy = self.config, self.policy
        in_force = hyperparameters(config, progress)
        in_force["hyper/learning_rate"] *= self.rate_factor
        if not rollout.valid.any():  # every environment spent the rollout on a reset
            return in_force
        self.newest = self.credit(rollout, progress)
        credited = self.newest.flat(rollout, normalized=config.normalize_advantages)
        batch = Batch(policy, rollout, rollout.valid)
        old_values, targets = self._critic_targets(credited)

        steps: list[dict[str, torch.Tensor]] = []
        moves: list[torch.Tensor] = []  # KL before each step, and the one that forbade a step
        stopped = False
        policy.gradient_mode(True)
        passes = (batch.minibatches(config.num_minibatches, rng) for _ in range(config.passes(progress)))
        for minibatch in chain.from_iterable(passes):
            rows = torch.from_numpy(minibatch.index).to(policy.device)
            advantages = self._advantages(credited.advantages[minibatch.index])
            goals = _Goals(advantages, targets[rows], old_values[rows])
            approx_kl, row = self._step(minibatch, goals, in_force)
            del minibatch  # its memory is the next one's
            moves.append(approx_kl)
            if row is None:
                stopped = True
                break
            steps.append(row)
        policy.gradient_mode(False)
        if config.desired_kl is not None and steps:
            kl = self._measure_kl(batch.newest())
            self.rate_factor = adapt_rate(self.rate_factor, config.desired_kl, kl)
        policy.observe(batch.raw_obs)

        metrics = mean_metrics(steps) | in_force
        metrics["train/approx_kl"] = float(torch.stack(moves).mean())
        metrics["train/explained_variance"] = credited.explained_variance()
        metrics["train/kl_stopped"] = float(stopped)
        metrics["train/gradient_steps"] = float(len(steps))
        metrics["train/first_ratio"] = float(steps[0]["train/ratio"]) if steps else float("nan")
        return metrics

    def _advantages(self, advantages: Array) -> torch.Tensor:
        """Advantages of a minibatch, as its loss uses them."""
        if self.config.normalize_advantages == "minibatch" and len(advantages) > 1:
            advantages = standardize(advantages)
        return torch.from_numpy(advantages).to(self.policy.device)

    def _critic_targets(self, credited: Credited) -> tuple[torch.Tensor, torch.Tensor]:
        """Old predictions and targets [B] in the units in which the value head now predicts."""
        policy = self.policy
        old = torch.from_numpy(credited.values).to(policy.device)
        if policy.value_norm is None:
            return old, value_targets(policy, credited)
        tasks = None if credited.tasks is None else torch.from_numpy(credited.tasks).to(policy.device)
        before = policy.value_norm.normalize(old, tasks)
        targets = value_targets(policy, credited)  # the units move
        return (policy.value_norm.normalize(old, tasks) if policy.value_norm.preserve else before), targets

    def _step(
        self, minibatch: Minibatch, goals: _Goals, in_force: dict[str, float]
    ) -> tuple[torch.Tensor, dict[str, torch.Tensor] | None]:
        """The KL so far and the measures of one gradient step; None when the KL limit forbids it."""
        config, clip = self.config, in_force["hyper/clip_coef"]
        evaluated = self.policy.evaluate(minibatch)
        log_ratio = evaluated.log_probs - minibatch.log_probs
        approx_kl, clip_fraction = divergence(log_ratio, clip)
        if config.target_kl is not None and float(approx_kl) > in_force["hyper/target_kl"]:
            return approx_kl, None

        ratio, advantages = log_ratio.exp(), goals.advantages
        surrogate = torch.minimum(advantages * ratio, advantages * ratio.clamp(1 - clip, 1 + clip))
        critic = value_loss(config, evaluated.values, goals.targets)
        if config.clip_value is not None:
            limit = in_force["hyper/clip_value"]
            near = goals.old_values + (evaluated.values - goals.old_values).clamp(-limit, limit)
            critic = torch.maximum(critic, value_loss(config, near, goals.targets))
        policy_loss, critic_loss, entropy = -surrogate.mean(), critic.mean(), evaluated.entropy.mean()
        loss = policy_loss + in_force["hyper/vf_coef"] * critic_loss - in_force["hyper/ent_coef"] * entropy
        loss, further = add_losses(loss, self.auxiliaries, self.policy, minibatch, evaluated)
        norm = self.optimizer.step(
            loss,
            learning_rate=in_force["hyper/learning_rate"],
            max_grad_norm=in_force["hyper/max_grad_norm"],
        )
        return approx_kl, further | {  # detached: a loss that is kept keeps its whole graph
            "train/policy_loss": policy_loss.detach(),
            "train/value_loss": critic_loss.detach(),
            "train/entropy": entropy.detach(),
            "train/loss": loss.detach(),
            "train/clip_fraction": clip_fraction,
            "train/grad_norm": norm,
            "train/grad_clipped_share": was_clipped(norm, in_force),
            "train/ratio": ratio.detach().mean(),
        }

    @torch.no_grad()
    def _measure_kl(self, minibatch: Minibatch) -> float:
        """How far the whole update moved the policy, on its last minibatch."""
        log_ratio = self.policy.evaluate(minibatch).log_probs - minibatch.log_probs
        return float(divergence(log_ratio, 0.0)[0])

    def state(self) -> dict[str, Any]:
        return {"rate_factor": self.rate_factor}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        self.rate_factor = float(state.get("rate_factor", 1.0))
        return []

    def rollback_point(self) -> Callable[[], None]:
        return rollback_state(self)
