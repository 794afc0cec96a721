"""Tiny tasks with known answers, for curricula."""

from typing import Any

import gymnasium as gym
import numpy as np


class Lever(gym.Env):
    """Two levers, one pull: lever `good` pays 1, the other nothing. Two such tasks may contradict."""

    def __init__(self, good: int = 0) -> None:
        self.observation_space = gym.spaces.Discrete(1)
        self.action_space = gym.spaces.Discrete(2)
        self._good = good

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        return np.int64(0), {}

    def step(self, action):
        won = int(action) == self._good
        return np.int64(0), float(won), True, False, {"is_success": won}


class Corridor(gym.Env):
    """Walk `length` steps to the right from a random start; a step costs 0.1, the end pays 1."""

    def __init__(self, length: int = 3) -> None:
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (2,), np.float32)
        self.action_space = gym.spaces.Discrete(2)
        self._length, self._at, self._left = length, 0, 0

    def _see(self):
        return np.array([self._at / self._length, self._left / 20], np.float32)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None):
        super().reset(seed=seed)
        self._at, self._left = int(self.np_random.integers(0, self._length)), 20
        return self._see(), {}

    def step(self, action):
        self._at = max(0, self._at + (1 if action else -1))
        self._left -= 1
        won = self._at == self._length
        over = not won and self._left == 0
        return self._see(), 1.0 if won else -0.1, won, over, {"is_success": won}


gym.register("Lever-v0", entry_point=Lever)
gym.register("Corridor-v0", entry_point=Corridor)
