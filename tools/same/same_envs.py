"""Environments of the cases: importing registers them, so that settings can say `same_envs:Id`."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Dot(gym.Env[Any, Any]):
    """Shows a dot that drifts at random over a small picture; the action that follows its move pays."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0, 255, (12, 12, 1), dtype=np.uint8)
        self.action_space = spaces.Discrete(3)

    def _look(self) -> Any:
        picture = np.zeros((12, 12, 1), np.uint8)
        picture[self.place] = 255
        return picture

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place, self.steps = int(self.np_random.integers(12)), 0
        return self._look(), {}

    def step(self, action: Any) -> Any:
        move = int(self.np_random.integers(3))
        self.place = (self.place + move - 1) % 12
        self.steps += 1
        return self._look(), float(action == move), bool(self.np_random.random() < 0.05), self.steps >= 40, {}


class Doors(gym.Env[Any, Any]):
    """Locks some of four doors in each step, as the mask says; observations are a Dict."""

    def __init__(self) -> None:
        entries = {"room": spaces.Discrete(4), "view": spaces.Box(-9.0, 9.0, (3,), dtype=np.float32)}
        self.observation_space = spaces.Dict(entries)
        self.action_space = spaces.Discrete(4)

    def _look(self) -> Any:
        draw = self.np_random
        self.open = draw.random(4) < 0.5
        self.open[int(draw.integers(4))] = True
        seen = {"room": int(draw.integers(4)), "view": draw.normal(size=3).astype(np.float32)}
        return seen, {"action_mask": self.open.astype(np.int8)}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return self._look()

    def step(self, action: Any) -> Any:
        if not self.open[action]:
            raise RuntimeError("a locked door was chosen")
        self.steps += 1
        seen, info = self._look()
        return seen, float(action), bool(self.np_random.random() < 0.1), self.steps >= 30, info


for kind in (Dot, Doors):
    gym.register(f"{kind.__name__}-v0", entry_point=kind)
