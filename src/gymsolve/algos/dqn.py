"""Deep Q-learning (Mnih et al. 2015), with double Q-learning, n-step returns and duelling as options.

Every rollout goes into a replay buffer. Then, `gradient_steps` times per call of `step`, the network learns
from steps drawn uniformly, towards targets of a second network that follows it at a distance.
"""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from gymsolve.algos.action_values import ActionValueLearner, pick_taken
from gymsolve.algos.auxiliary import Auxiliary
from gymsolve.algos.replay_learner import ReplayLearner
from gymsolve.algos.target import Target
from gymsolve.experience.steps import Steps
from gymsolve.nn.q_policy import QPolicy
from gymsolve.parts import Part
from gymsolve.settings.config import DQNConfig
from gymsolve.spec import Array


class DQN(ReplayLearner, ActionValueLearner):
    """Q-learning from a replay buffer."""

    settings = DQNConfig

    def __init__(self, config: DQNConfig, policy: QPolicy, auxiliaries: Sequence[Auxiliary] = ()) -> None:
        ActionValueLearner.__init__(self, config, policy, auxiliaries)
        ReplayLearner.__init__(self, config, policy.spec)
        self.config = config
        self.target = Target(policy, [self.optimizer])

    @property
    def parts(self) -> Mapping[str, Part]:
        return {"target": self.target, "replay": self.replay}

    def start_from(self, arrays: dict[str, Array]) -> list[str]:
        misfits = super().start_from(arrays)
        self.target.follow(1.0)  # or the first targets would be those of random weights
        return misfits

    def learn(self, in_force: dict[str, float], rng: np.random.Generator) -> dict[str, Tensor]:
        """One gradient step, and the target network's where it is due."""
        config, policy = self.config, self.policy
        rows = self.replay.sample(config.batch_size, rng)
        steps = self.replay.take(rows, config.n_step, in_force["hyper/gamma"])
        targets = self.targets(steps)
        masks = None if steps.masks is None else torch.from_numpy(steps.masks).to(policy.device)
        policy.gradient_mode(True)
        worth = policy.q_values(policy.tensors(steps.obs), masks)
        policy.gradient_mode(False)
        actions = torch.from_numpy(steps.actions).to(policy.device)
        row = self.descend(pick_taken(worth, actions), targets, in_force)
        self.gradient_steps += 1
        if self.gradient_steps % config.target_every == 0:
            self.target.follow(config.tau)
        return row

    @torch.no_grad()
    def targets(self, steps: Steps) -> Tensor:
        """Rewards, and the discounted value [B] that the target network gives to what followed them."""
        policy, target = self.policy, self.target.policy
        assert steps.next_obs is not None
        assert steps.discounts is not None
        following = policy.tensors(steps.next_obs)
        masks = None if steps.next_masks is None else torch.from_numpy(steps.next_masks).to(policy.device)
        worth = target.q_values(following, masks)
        if self.config.double:
            best = policy.q_values(following, masks).argmax(dim=1, keepdim=True)
            future = pick_taken(worth, best)
        else:
            future = worth.amax(dim=1)
        rewards, discounts = (
            torch.from_numpy(array).to(policy.device) for array in (steps.rewards, steps.discounts)
        )
        return rewards + discounts * future
