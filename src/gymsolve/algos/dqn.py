"""Deep Q-learning (Mnih et al. 2015), with double Q-learning, n-step returns and duelling as options.

Every rollout goes into a replay buffer. Then, `gradient_steps` times per call of `step`, the network learns
from steps drawn uniformly, towards targets of a second network that follows it at a distance.
"""

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gymsolve.algos.action_values import ActionValueLearner, pick_taken
from gymsolve.algos.auxiliary import Auxiliary
from gymsolve.algos.losses import mean_metrics
from gymsolve.errors import CheckpointError
from gymsolve.experience.learning import flatten_obs, hyperparameters
from gymsolve.experience.replay import ReplayBuffer
from gymsolve.experience.rollout import Rollout
from gymsolve.experience.steps import Steps
from gymsolve.nn.q_policy import QPolicy
from gymsolve.parts import Part, rollback_state
from gymsolve.settings.config import DQNConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array


class Target(Part):
    """A copy of the network that follows it at a distance."""

    def __init__(self, policy: QPolicy) -> None:
        self.policy = copy.deepcopy(policy)
        self.policy.requires_grad_(False)

    @torch.no_grad()
    def follow(self, policy: QPolicy, tau: float) -> None:
        """Move the weights by a share of τ of the way; running statistics are copied."""
        for mine, learned in zip(self.policy.parameters(), policy.parameters(), strict=True):
            mine.lerp_(learned, tau)
        for statistic, newest in zip(self.policy.buffers(), policy.buffers(), strict=True):
            statistic.copy_(newest)

    def arrays(self) -> dict[str, Array]:
        return self.policy.arrays()

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        misfits = self.policy.load_arrays(arrays) if arrays else []
        if misfits:
            raise CheckpointError(f"the target network does not fit this run's settings: {misfits[0]}.")
        return [] if arrays else ["the target network was not in the checkpoint: it starts at random"]

    def rollback_point(self) -> Callable[[], None]:
        kept = self.arrays()

        def put_back() -> None:
            self.policy.load_arrays(kept)

        return put_back


class DQN(ActionValueLearner):
    """Q-learning from a replay buffer."""

    settings = DQNConfig

    keeps_ends = True
    replay: ReplayBuffer

    def __init__(self, config: DQNConfig, policy: QPolicy, auxiliaries: Sequence[Auxiliary] = ()) -> None:
        super().__init__(config, policy, auxiliaries)
        self.config = config
        self.target = Target(policy)
        self.replay = ReplayBuffer(policy.spec, config.buffer_size)
        self.gradient_steps = 0
        """Taken so far in this run."""
        self._owed = 0.0
        """Gradient steps that are due, as a fraction of one."""

    @property
    def parts(self) -> Mapping[str, Part]:
        return {"target": self.target, "replay": self.replay}

    def start_from(self, arrays: dict[str, Array]) -> list[str]:
        misfits = super().start_from(arrays)
        self.target.follow(self.policy, 1.0)  # or the first targets would be those of random weights
        return misfits

    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        """Store the rollout, and take the gradient steps that are due."""
        config = self.config
        in_force = hyperparameters(config, progress)
        self.replay.add(rollout)
        steps: list[dict[str, Tensor]] = []
        size = len(self.replay)
        if size and self.replay.transitions >= config.learning_starts:
            self._owed += config.gradient_steps * rollout.vec_steps
            for _ in range(int(self._owed)):
                steps.append(self._step(in_force, rng))
                self._owed -= 1.0
        if rollout.valid.any():
            self.policy.observe(flatten_obs(rollout, rollout.valid))
        return (
            mean_metrics(steps)
            | in_force
            | {
                "train/gradient_steps": float(len(steps)),
                "replay/size": float(size),
                "replay/ratio": len(steps) * config.batch_size / max(1, rollout.env_steps),
            }
        )

    def _step(self, in_force: dict[str, float], rng: np.random.Generator) -> dict[str, Tensor]:
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
            self.target.follow(policy, config.tau)
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

    # ------------------------------------------------------------------------------ state

    def state(self) -> dict[str, Any]:
        return {"gradient_steps": self.gradient_steps, "owed": self._owed}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        self.gradient_steps = int(state.get("gradient_steps", 0))
        self._owed = float(state.get("owed", 0.0))
        return []

    def rollback_point(self) -> Callable[[], None]:
        return rollback_state(self)
