"""Environments for tests of the inspector; importing registers them, so configs can say `inspect_envs:Id`."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Buttons(gym.Env[Any, Any]):
    """MultiBinary actions, numbers to see, no picture; a life ends in step 4, the game in step 9."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (3,), dtype=np.float32)
        self.action_space = spaces.MultiBinary(3)

    def _look(self) -> tuple[Any, dict[str, Any]]:
        return self.np_random.normal(5.0, 2.0, 3).astype(np.float32), {"lives": 2 if self.steps < 4 else 1}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return self._look()

    def step(self, action: Any) -> Any:
        self.steps += 1
        return self._look()[0], float(action.sum()) - 1.0, self.steps >= 9, False, self._look()[1]


class Mixed(gym.Env[Any, Any]):
    """A picture, a category and a vector to see; masked actions; parts of a reward; 12 steps."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012 - as Gymnasium wants it

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.observation_space = spaces.Dict(
            {
                "screen": spaces.Box(0, 255, (12, 12, 1), dtype=np.uint8),
                "place": spaces.Discrete(5, start=3),
                "speed": spaces.Box(-np.inf, np.inf, (2,), dtype=np.float32),
            }
        )
        self.action_space = spaces.Discrete(4)

    def get_action_meanings(self) -> list[str]:
        return ["noop", "a, b", "<b>right</b>", "jump"]

    def _look(self) -> tuple[Any, dict[str, Any]]:
        draw = self.np_random
        self.screen = draw.integers(0, 256, (12, 12, 1), dtype=np.uint8)
        speed = draw.normal(3.0, 2.0, 2).astype(np.float32)
        obs = {"screen": self.screen, "place": 3 + int(draw.integers(5)), "speed": speed}
        mask = np.array([True, *(draw.random(3) < 0.6)])
        return obs, {"action_mask": mask, "effort": float(speed[0])}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return self._look()

    def step(self, action: Any) -> Any:
        self.steps += 1
        obs, info = self._look()
        return obs, float(action), False, self.steps >= 12, info

    def render(self) -> Any:
        return np.repeat(np.repeat(np.repeat(self.screen, 3, axis=2), 8, axis=0), 8, axis=1)


for kind in (Buttons, Mixed):
    name = f"{kind.__name__}-v0"
    if name not in gym.registry:
        gym.register(name, entry_point=f"inspect_envs:{kind.__name__}")
