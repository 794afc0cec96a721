"""Shared by algorithms that learn from a replay buffer: when gradient steps are due.

Every rollout goes into the buffer. Then, `gradient_steps` times per call of `step`, the learner learns from
steps that it draws. Environments wait while it learns, and it learns from nothing that is newer than the
rollout.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from torch import Tensor

from gymsolve.algos.losses import mean_metrics
from gymsolve.experience.learner import Learner
from gymsolve.experience.learning import flatten_obs, hyperparameters
from gymsolve.experience.replay import ReplayBuffer
from gymsolve.experience.rollout import Rollout
from gymsolve.parts import Part, rollback_state
from gymsolve.settings.config import ContinuousConfig, DQNConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array, EnvSpec


class ReplayLearner(Learner):
    """A learner with a replay buffer."""

    keeps_ends = True
    replay: ReplayBuffer

    def __init__(self, config: DQNConfig | ContinuousConfig, spec: EnvSpec) -> None:
        self._settings = config
        self.replay = ReplayBuffer(spec, config.buffer_size)
        self.gradient_steps = 0
        """Taken so far in this run."""
        self._owed = 0.0
        """Gradient steps that are due, as a fraction of one."""

    @property
    def parts(self) -> Mapping[str, Part]:
        return {"replay": self.replay}

    @property
    def begun(self) -> bool:
        """The buffer holds as many steps as the first gradient step waits for."""
        return self.replay.transitions >= self._settings.learning_starts

    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        """Store the rollout, and take the gradient steps that are due."""
        config = self._settings
        in_force = hyperparameters(config, progress)
        self.replay.add(rollout)
        rows: list[dict[str, Tensor]] = []
        size = len(self.replay)
        if size and self.begun:
            self._owed += config.gradient_steps * rollout.vec_steps
            for _ in range(int(self._owed)):
                rows.append(self.learn(in_force, rng))
                self._owed -= 1.0
        if rollout.valid.any():
            self.policy.observe(flatten_obs(rollout, rollout.valid))
        return (
            mean_metrics(rows)
            | in_force
            | {
                "train/gradient_steps": float(len(rows)),
                "replay/size": float(size),
                "replay/ratio": len(rows) * config.batch_size / max(1, rollout.env_steps),
            }
        )

    def learn(self, in_force: dict[str, float], rng: np.random.Generator) -> dict[str, Tensor]:
        """One gradient step, and what follows from it; its measures."""
        raise NotImplementedError

    # ------------------------------------------------------------------------------ state

    def state(self) -> dict[str, Any]:
        return {"gradient_steps": self.gradient_steps, "owed": self._owed}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        self.gradient_steps = int(state.get("gradient_steps", 0))
        self._owed = float(state.get("owed", 0.0))
        return []

    def rollback_point(self) -> Callable[[], None]:
        return rollback_state(self)
