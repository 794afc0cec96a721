"""Environments of which a process can hold only one, as some emulators are."""

import os
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

_built: dict[int, int] = {}
"""By process: a fork inherits what its parent knows, which is no reason to complain."""
_open: dict[int, int] = {}


class Lonely(gym.Env[Any, Any]):
    """A walk that pays where it goes right. `rule` says when a process is too small for another one."""

    metadata = {"exclusive": True, "render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012

    def __init__(self, rule: str = "ever", render_mode: str | None = None) -> None:
        process = os.getpid()
        if (rule == "ever" and _built.get(process)) or _open.get(process):
            raise RuntimeError("there is another one in this process")
        _built[process] = _built.get(process, 0) + 1
        _open[process] = _open.get(process, 0) + 1
        self.render_mode = render_mode
        self.observation_space = spaces.Box(-20.0, 20.0, (2,), dtype=np.float32)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._place, self._steps = float(self.np_random.normal()), 0
        return self._look(), {}

    def step(self, action: Any) -> Any:
        self._steps += 1
        self._place += (1.0 if action == 1 else -1.0) * float(self.np_random.random())
        return self._look(), float(action), self._steps >= 12, False, {}

    def render(self) -> Any:
        frame = np.zeros((32, 64, 3), dtype=np.uint8)
        frame[:, int(np.clip(self._place, -20, 19)) + 20] = 255
        return frame

    def close(self) -> None:
        _open[os.getpid()] -= 1

    def _look(self) -> Any:
        return np.array([np.clip(self._place, -20, 20), self._steps], dtype=np.float32)


if "Lonely-v0" not in gym.registry:
    gym.register("Lonely-v0", entry_point="exclusive_envs:Lonely", reward_threshold=1000.0)
