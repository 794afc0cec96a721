"""An environment for measuring play: 60 pictures of 320×240 a second, and nothing to compute."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class MovingPicture(gym.Env[Any, Any]):
    """A bright bar over a noisy wall; keys move it. Never ends."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 60}  # noqa: RUF012 - Gymnasium's own form

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = spaces.Box(0.0, 320.0, (1,), dtype=np.float32)
        self.action_space = spaces.Discrete(3)
        self._wall = np.random.default_rng(0).integers(40, 120, (240, 320, 3)).astype(np.uint8)
        self._place = 160

    def get_action_meanings(self) -> list[str]:
        return ["NOOP", "LEFT", "RIGHT"]

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._place = 160
        return self._seen(), {}

    def step(self, action: Any) -> Any:
        self._place = (self._place + (0, -4, 4)[int(action)]) % 300
        return self._seen(), 0.0, False, False, {}

    def render(self) -> Any:
        picture = self._wall.copy()
        picture[:, self._place : self._place + 20] = 250
        return picture

    def _seen(self) -> Any:
        return np.array([self._place], np.float32)


gym.register("MovingPicture-v0", MovingPicture)
