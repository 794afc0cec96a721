"""`Bandit-v0`: one state, ten arms, one pull per episode; the smallest environment there is.

Arm k pays k on average with a standard deviation of 1. The best of ten arms pays 9; the mean of 100
episodes has a standard error of 0.1, hence the threshold of 8.8.
"""

from typing import Any

import gymnasium as gym
import numpy as np


class Bandit(gym.Env[np.int64, np.int64]):
    """A row of slot machines."""

    def __init__(self, arms: int = 10, std: float = 1.0) -> None:
        self.observation_space = gym.spaces.Discrete(1)
        self.action_space = gym.spaces.Discrete(arms)
        self._std = std

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.int64, dict[str, Any]]:
        super().reset(seed=seed)
        return np.int64(0), {}

    def step(self, action: np.int64) -> tuple[np.int64, float, bool, bool, dict[str, Any]]:
        reward = self.np_random.normal(float(action), self._std)
        return np.int64(0), float(reward), True, False, {}


def register() -> None:
    """Make the id known to Gymnasium; doing so again changes nothing."""
    if "Bandit-v0" not in gym.registry:
        gym.register(
            "Bandit-v0", entry_point="gymsolve.envs.families.bandit.env:Bandit", reward_threshold=8.8
        )
