"""Learning from the best trajectories of an archive: self-imitation, or cloning as RAPID does it.

Self-imitation (Oh et al. 2018) weighs each action by how far its return exceeds the value function. The value
function itself learns from rollouts alone: the paper weighs its loss by a hundredth, which has no effect with
Adam where policy and value have separate weights. RAPID (Zha et al. 2021) clones the trajectories that paid
and explored most; here its weight fades as episodes from resets succeed. Both step with the algorithm's own
optimizer after the update with the rollout, whose ratios must begin at 1.
"""

import numpy as np
import torch

from gymsolve.algos.losses import mean_metrics
from gymsolve.algos.optimizer import Optimizer
from gymsolve.experience.learning import flatten_obs
from gymsolve.experience.rollout import Rollout
from gymsolve.extensions.archive.go_explore import GoExplore
from gymsolve.extensions.archive.imitation_batch import Lesson, Teacher, prepare_lesson
from gymsolve.extensions.archive.task_archive import TaskArchive
from gymsolve.extensions.extension import Site
from gymsolve.extensions.scaling import RewardScaler
from gymsolve.nn.memory import Unrolled
from gymsolve.nn.minibatch import Minibatch
from gymsolve.nn.policy import Policy
from gymsolve.settings.config import A2CConfig, PPOConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array

_LARGEST = 1.0
"""Limit of an advantage."""
_SURPRISE = 5.0
"""Limit of −log π in the value of the loss; the gradient has no limit, so unlikely actions can recover."""


def self_imitation_loss(
    log_probs: torch.Tensor, advantages: torch.Tensor, weights: torch.Tensor | float = 1.0
) -> torch.Tensor:
    """The loss of a minibatch: −log π · clip(R − V, 0, 1), with weights of rows."""
    surprise = -log_probs - (-log_probs - _SURPRISE).clamp(min=0.0).detach()
    return (weights * advantages.clamp(0.0, _LARGEST) * surprise).mean()


def build_imitation(archive: GoExplore, site: Site) -> "Imitation":
    """Lessons for a policy of the torch engine."""
    algo, policy, optimizer = site.config.algo, site.learner.policy, site.learner.optimizer
    assert isinstance(algo, PPOConfig | A2CConfig)
    assert isinstance(policy, Policy)
    assert isinstance(optimizer, Optimizer)
    scaler = site.extensions.get("scaler")
    assert scaler is None or isinstance(scaler, RewardScaler)
    return Imitation(archive, algo, policy, optimizer, scaler)


class Imitation:
    """Teaches a policy the best trajectories of an archive."""

    def __init__(
        self,
        explorer: GoExplore,
        algo: PPOConfig | A2CConfig,
        policy: Policy,
        optimizer: Optimizer,
        scaler: RewardScaler | None = None,
    ):
        self._explorer, self._algo, self._policy, self._optimizer = explorer, algo, policy, optimizer
        self._scaler = scaler
        self.settings = explorer.settings

    @property
    def instead(self) -> bool:
        """True if lessons replace the update with the rollout."""
        played = self._explorer.played
        paid = self.settings.rollouts == "found" and all(task.best.pays for task in played)
        return self.settings.rollouts is not True and not paid

    @property
    def _taught(self) -> list[TaskArchive]:
        """Tasks with trajectories to learn from."""
        return [task for task in self._explorer.tasks if task.best.kept]

    @property
    def is_due(self) -> bool:
        learns = self.settings.learn_from != "nothing" and bool(self._taught)
        return learns and (self._explorer.turns + 1) % self.settings.learn_every == 0

    def learn(self, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        """One lesson; metrics by name."""
        if not self.is_due:
            return {}
        rapid = self.settings.learn_from == "rapid"
        shares = [1.0 - task.successes.share if rapid else 1.0 for task in self._taught]
        lesson = prepare_lesson(self._taught, shares, self._teacher(progress), rng)
        rate, steps = self._algo.learning_rate.at(progress) * float(np.mean(shares)), []
        self._policy.gradient_mode(True)
        for _ in range(self.settings.learn_epochs):
            for chosen, past in lesson.minibatches(rng):
                measured = self._step(lesson, chosen, past, rate, progress)
                steps += [measured] if measured is not None else []
        self._policy.gradient_mode(False)
        return mean_metrics(steps) | {"archive/lessons": float(len(steps))}

    def _teacher(self, progress: Progress) -> Teacher:
        memory, gamma = self._policy.config.memory, self._algo.gamma.at(progress)
        longest = 1 if memory is None else memory.longest(self._algo.num_steps)
        return Teacher(self._explorer.log, self._policy, self._scaler, gamma, self.settings.recall, longest)

    def observe(self, rollout: Rollout) -> None:
        """Move the policy's statistics, as an update with the rollout would."""
        if rollout.valid.any():
            self._policy.observe(flatten_obs(rollout, rollout.valid))

    def _step(
        self, lesson: Lesson, chosen: Array, past: Unrolled | None, rate: float, progress: Progress
    ) -> dict[str, torch.Tensor] | None:
        """One gradient step; None if no advantage of these rows is above 0."""
        policy, log, rows = self._policy, self._explorer.log, lesson.rows[chosen]
        masks = torch.from_numpy(log.column("masks", rows)).to(policy.device) if log.masked else None
        actions = torch.from_numpy(log.column("actions", rows)).to(policy.device)
        obs, unknown = policy.tensors(log.seen(rows)), actions.new_zeros(0)
        minibatch = Minibatch(obs, actions, masks, unknown, rows, past)
        evaluated = policy.evaluate(minibatch)
        columns = lesson.returns[chosen], lesson.units[chosen], lesson.weights[chosen]
        earned, units, weights = (torch.from_numpy(column).to(policy.device) for column in columns)
        advantages = (earned - policy.real_values(evaluated.values.detach(), minibatch.obs)) / units
        if self.settings.learn_from == "rapid":
            loss = -(weights * evaluated.log_probs).mean()
        elif not bool((advantages > 0).any()):
            return None
        else:
            loss = self_imitation_loss(evaluated.log_probs, advantages, weights)
        limit = self._algo.max_grad_norm.at(progress)
        self._optimizer.step(loss, learning_rate=rate, max_grad_norm=limit)
        return {"archive/loss": loss.detach(), "archive/better_share": (advantages > 0).float().mean()}
