"""Environments whose pictures are known; importing registers them, so configs can say `filmed_envs:Id`."""

import sys
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Lamp(gym.Env[Any, Any]):
    """Dark for five steps, white in the last one; only the legal button may be pressed."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = spaces.Box(0.0, 1.0, (1,), np.float32)
        self.action_space = spaces.Discrete(3)
        self.at = 0

    def _look(self) -> Any:
        legal = np.zeros(3, bool)
        legal[self.at % 3] = True
        return np.array([self.at / 5], np.float32), {"action_mask": legal}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.at = 0
        return self._look()

    def step(self, action: Any) -> Any:
        if action != self.at % 3:
            raise ValueError("that button is not legal now")
        self.at += 1
        obs, info = self._look()
        return obs, 1.0, self.at == 5, False, info

    def render(self) -> Any:
        return np.full((21, 15, 3), 255 if self.at == 5 else 0, np.uint8)


class Smoke(gym.Env[Any, Any]):
    """Says that it can be drawn, and cannot."""

    metadata = {"render_modes": ["rgb_array"]}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = spaces.Box(0.0, 1.0, (1,), np.float32)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        return np.zeros(1, np.float32), 1.0, True, False, {}

    def render(self) -> Any:
        raise RuntimeError("no driver")


class Mute(Smoke):
    """Should draw as text, and fails likewise."""

    metadata = {"render_modes": ["ansi"]}  # noqa: RUF012


class Leaves(Smoke):
    """Ends the program where it should draw."""

    def render(self) -> Any:
        sys.exit(3)


gym.register("Lamp-v0", entry_point=Lamp)
gym.register("Smoke-v0", entry_point=Smoke)
gym.register("Mute-v0", entry_point=Mute)
gym.register("Leaves-v0", entry_point=Leaves)
