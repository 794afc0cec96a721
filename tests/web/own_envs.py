"""Small environments whose scores are known, for tests of play; importing registers them."""

import subprocess
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Masked(gym.Env[Any, Any]):
    """Ten steps; in step t the choice t mod 3 is forbidden, and raises. Choice k pays k. No picture."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0.0, 10.0, (1,), dtype=np.float32)
        self.action_space = spaces.Discrete(3)
        self.steps = 0

    def _info(self) -> dict[str, Any]:
        return {"action_mask": np.arange(3) != self.steps % 3}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1, np.float32), self._info()

    def step(self, action: Any) -> Any:
        if action == self.steps % 3:
            raise RuntimeError(f"choice {action} is forbidden in step {self.steps}")
        self.steps += 1
        return np.full(1, self.steps, np.float32), float(action), self.steps == 10, False, self._info()


class Pad(gym.Env[Any, Any]):
    """A console with two buttons, and one that does nothing: A pays 1, LEFT pays 10. Ends after 6 steps."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 30}  # noqa: RUF012 - Gymnasium's own form

    def __init__(self, render_mode: str | None = None, picture: str = "uint8") -> None:
        self.render_mode, self._picture = render_mode, picture
        self._engine = subprocess.Popen(["sleep", "60"]) if picture == "none" else None
        self.observation_space = spaces.MultiBinary(3)
        self.action_space = spaces.MultiBinary(3)
        self.buttons = ["A", "LEFT", None]
        self.steps = 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(3, np.int8), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        if self._picture == "none" and self.steps == 3:
            raise RuntimeError("the wheel came off")
        paid = float(action[0] + 10 * action[1])
        return np.asarray(action, np.int8), paid, self.steps == 6, False, {}

    def close(self) -> None:
        if self._engine is not None:
            self._engine.kill()
            self._engine.wait()

    def render(self) -> Any:
        return np.full((24, 32, 3), 20 * self.steps, self._picture if self._picture != "none" else "uint8")


gym.register("Masked-v0", Masked)
gym.register("Pad-v0", Pad)
gym.register("Unshown-v0", Pad, kwargs={"picture": "float64"})
gym.register("Broken-v0", Pad, kwargs={"picture": "none"})
