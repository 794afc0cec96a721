"""Learning from the best trajectories of an archive: self-imitation, or cloning as RAPID does it.

Self-imitation (Oh et al. 2018) follows an action as far as what came of it surpasses the value function's
estimate. That function itself is left to the rollouts: the paper weighs its loss by a hundredth, which Adam
would undo where policy and value have weights of their own. RAPID (Zha et al. 2021) clones trajectories that
paid and explored most; here that fades as episodes from true starts come to succeed. Both step with the
algorithm's own optimizer, after the rollout was learned from: before, its ratios would not begin at 1.
"""

from typing import Any

import numpy as np
import torch

from gymsolve.algos.losses import mean_metrics
from gymsolve.algos.optimizer import Optimizer
from gymsolve.config import A2CConfig, AnyAlgo, PPOConfig
from gymsolve.explore.best import Trajectory
from gymsolve.explore.go_explore import GoExplore
from gymsolve.nn.minibatch import Minibatch
from gymsolve.nn.policy import Policy
from gymsolve.rollout.learning import flatten_obs
from gymsolve.rollout.moments import RewardScaler
from gymsolve.rollout.rollout import Rollout
from gymsolve.schedules import Progress
from gymsolve.spec import Array

__all__ = ["Imitation", "build_imitation", "self_imitation_loss"]

_ROWS = 2048
"""Steps of a pass, at most."""
_SMALLEST, _LARGEST_BATCH = 32, 256
"""Rows of a minibatch: an eighth of a pass, within these limits."""
_LARGEST = 1.0
"""Of an advantage."""
_SURPRISE = 5.0
"""Of −log π: an action that the policy would never take is not torn up at once."""


def self_imitation_loss(log_probs: torch.Tensor, advantages: torch.Tensor) -> torch.Tensor:
    """The loss of a minibatch: −log π · clip(R − V, 0, 1)."""
    return (advantages.clamp(0.0, _LARGEST) * (-log_probs).clamp(max=_SURPRISE)).mean()


def build_imitation(explorer: GoExplore, algo: AnyAlgo, policy: Any, optimizer: Any) -> "Imitation":
    """Lessons for a policy of the torch engine."""
    assert isinstance(algo, PPOConfig | A2CConfig)
    assert isinstance(policy, Policy)
    assert isinstance(optimizer, Optimizer)
    return Imitation(explorer, algo, policy, optimizer)


class Imitation:
    """Teaches a policy the best trajectories of an archive."""

    def __init__(
        self, explorer: GoExplore, algo: PPOConfig | A2CConfig, policy: Policy, optimizer: Optimizer
    ):
        self._explorer, self._algo, self._policy, self._optimizer = explorer, algo, policy, optimizer
        self.settings = explorer.settings

    @property
    def instead(self) -> bool:
        """Do lessons stand in for the update with the rollout?"""
        found = self.settings.rollouts == "found" and self._explorer.best.pays
        return self.settings.rollouts is not True and not found

    @property
    def is_due(self) -> bool:
        learns = self.settings.learn_from != "nothing" and bool(self._explorer.best.kept)
        return learns and (self._explorer.turns + 1) % self.settings.learn_every == 0

    def learn(
        self, scaler: RewardScaler | None, progress: Progress, rng: np.random.Generator
    ) -> dict[str, float]:
        """One lesson; metrics by name."""
        if not self.is_due:
            return {}
        rows, returns = self._returns(scaler, self._algo.gamma.at(progress))
        rate, steps = self._algo.learning_rate.at(progress), []
        if self.settings.learn_from == "rapid":
            rate *= 1.0 - self._explorer.successes.share
        self._policy.gradient_mode(True)
        for _ in range(self.settings.learn_epochs):
            order = rng.permutation(len(rows))[:_ROWS]
            size = min(max(_SMALLEST, len(order) // 8), _LARGEST_BATCH)
            for chosen in np.array_split(order, -(-len(order) // size)):
                measured = self._step(rows[chosen], returns[chosen], rate, progress)
                steps += [measured] if measured is not None else []
        self._policy.gradient_mode(False)
        return mean_metrics(steps) | {"archive/lessons": float(len(steps))}

    def observe(self, rollout: Rollout) -> None:
        """Move the policy's statistics, which an update of the rollout would have done."""
        if rollout.valid.any():
            self._policy.observe(flatten_obs(rollout, rollout.valid))

    def _returns(self, scaler: RewardScaler | None, gamma: float) -> tuple[Array, Array]:
        """All steps of the best trajectories, each once, and what came of them at best."""
        parts = [self._earned(one, scaler, gamma) for one in self._explorer.best.kept]
        rows = np.concatenate([part[0] for part in parts])
        earned = np.concatenate([part[1] for part in parts])
        order = np.lexsort((earned, rows))
        last = np.append(rows[order][1:] != rows[order][:-1], True)
        return rows[order][last], earned[order][last].astype(np.float32)

    def _earned(self, one: Trajectory, scaler: RewardScaler | None, gamma: float) -> tuple[Array, Array]:
        """The steps of one trajectory and their discounted returns; a cut one ends with what its last step
        was thought to be worth."""
        log = self._explorer.log
        rows = log.way(one.row)
        rewards = log.column("rewards", rows).astype(np.float64)
        if scaler is not None:
            limit = scaler.limit
            rewards = np.clip(rewards / np.sqrt(scaler.var + 1e-8), -limit, limit)
        tail = float(self._policy.values(log.seen(rows[-1:]))[0]) if one.truncated else 0.0
        returns = np.empty(len(rows))
        for place in range(len(rows) - 1, -1, -1):
            returns[place] = tail = rewards[place] + gamma * tail
        return rows, returns

    def _step(
        self, rows: Array, returns: Array, rate: float, progress: Progress
    ) -> dict[str, torch.Tensor] | None:
        """One gradient step; None where there is nothing to learn from these rows."""
        policy, log = self._policy, self._explorer.log
        masks = torch.from_numpy(log.column("masks", rows)).to(policy.device) if log.masked else None
        actions = torch.from_numpy(log.column("actions", rows)).to(policy.device)
        minibatch = Minibatch(policy.tensors(log.seen(rows)), actions, masks, actions.new_zeros(0), rows)
        evaluated = policy.evaluate(minibatch)
        earned = torch.from_numpy(returns).to(policy.device)
        advantages = earned - policy.real_values(evaluated.values.detach(), minibatch.obs)
        if self.settings.learn_from == "rapid":
            loss = -evaluated.log_probs.mean()
        elif not bool((advantages > 0).any()):
            return None
        else:
            loss = self_imitation_loss(evaluated.log_probs, advantages)
        limit = self._algo.max_grad_norm.at(progress)
        self._optimizer.step(loss, learning_rate=rate, max_grad_norm=limit)
        return {
            "archive/loss": loss.detach(),
            "archive/better_share": (advantages > 0).float().mean(),
        }
