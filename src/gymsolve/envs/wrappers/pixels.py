"""Pictures of environments that observe something else, as their own `render` draws them."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from gymsolve.envs.wrappers.rewards import AnyEnv, Stepped


class Pixels(gym.Wrapper[Any, Any, Any, Any]):
    """Observes the picture that the environment draws, in place of its own observation.

    It needs `env.kwargs` with `render_mode: rgb_array`. Drawing takes far longer than a step of most
    environments: put `frame_skip` below, and `crop` and `resize` above.
    """

    changes_reward = False

    def __init__(self, env: AnyEnv) -> None:
        super().__init__(env)
        if env.render_mode != "rgb_array":
            raise ValueError("the environment has to draw; add env.kwargs={render_mode: rgb_array}.")
        env.reset(seed=0)  # most environments draw nothing before
        self.observation_space = spaces.Box(0, 255, self._draw().shape, dtype=np.uint8)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        _, info = self.env.reset(seed=seed, options=options)
        return self._draw(), info

    def step(self, action: Any) -> Stepped:
        _, reward, terminated, truncated, info = self.env.step(action)
        return self._draw(), reward, terminated, truncated, info

    def _draw(self) -> Any:
        picture: Any = self.env.render()
        if not isinstance(picture, np.ndarray) or picture.dtype != np.uint8 or picture.ndim != 3:
            raise ValueError("the environment draws no picture of bytes in colour.")
        return picture
