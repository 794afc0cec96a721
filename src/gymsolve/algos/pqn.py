"""Parallelised Q-learning (Gallici et al. 2024): action values from fresh rollouts of many environments.

There is no replay buffer and no target network. The targets are λ-returns of the best action values at the
time of collection; several passes over shuffled minibatches move the network towards them. Layer
normalisation (`net.layer_norm`) keeps that stable.
"""

from collections.abc import Sequence
from itertools import chain

import numpy as np
import torch

from gymsolve.algos.action_values import ActionValueLearner, pick_taken
from gymsolve.algos.auxiliary import Auxiliary
from gymsolve.algos.batch import Batch
from gymsolve.algos.losses import mean_metrics
from gymsolve.experience.credit import TASK, Credit
from gymsolve.experience.learning import explained_variance, flatten, hyperparameters
from gymsolve.experience.returns import gae
from gymsolve.experience.rollout import Rollout
from gymsolve.nn.q_policy import QPolicy
from gymsolve.settings.config import PQNConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array


class PQN(ActionValueLearner):
    """Q(λ) on rollouts."""

    settings = PQNConfig

    def __init__(self, config: PQNConfig, policy: QPolicy, auxiliaries: Sequence[Auxiliary] = ()) -> None:
        super().__init__(config, policy, auxiliaries)
        self.config = config

    def credit(self, rollout: Rollout, progress: Progress) -> Credit:
        """λ-returns of the best action values, computed when the rollout was collected."""
        advantages: Array = gae(
            *(rollout.rewards, rollout.values, self._next_values(rollout)),
            *(rollout.terminated, rollout.truncated),
            gamma=self.config.gamma.at(progress),
            gae_lambda=self.config.q_lambda.at(progress),
        ).astype(np.float32)
        return Credit(rollout.valid, advantages, {TASK: advantages + rollout.values})

    def _next_values(self, rollout: Rollout) -> Array:
        """Values of the true successors; the collector does not know what is legal after the last step."""
        if rollout.last_masks is None:
            return rollout.next_values
        last = self.policy.best_values(rollout.last_obs, rollout.last_masks)
        values = rollout.next_values.copy()
        np.copyto(values[-1], last, where=~rollout.truncated[-1])
        return values

    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        config, policy = self.config, self.policy
        in_force = hyperparameters(config, progress)
        if not rollout.valid.any():  # every environment spent the rollout on a reset
            return in_force
        self.newest = self.credit(rollout, progress)
        returns = flatten(self.newest.targets[TASK], rollout.valid)
        targets = torch.from_numpy(returns).to(policy.device)
        batch = Batch(policy, rollout, rollout.valid)
        steps: list[dict[str, torch.Tensor]] = []
        policy.gradient_mode(True)
        passes = (batch.minibatches(config.num_minibatches, rng) for _ in range(config.passes(progress)))
        for minibatch in chain.from_iterable(passes):
            worth = policy.q_values(minibatch.obs, minibatch.masks)
            rows = torch.from_numpy(minibatch.index).to(policy.device)
            steps.append(self.descend(pick_taken(worth, minibatch.actions), targets[rows], in_force))
        policy.gradient_mode(False)
        policy.observe(batch.raw_obs)
        metrics = mean_metrics(steps) | in_force
        metrics["train/gradient_steps"] = float(len(steps))
        if rollout.rewards.any():
            values = flatten(rollout.values, rollout.valid)
            metrics["train/explained_variance"] = explained_variance(values, returns)
        return metrics
