"""What studies do to environments."""

from typing import Any

import gymnasium as gym

__all__ = ["SameStart"]


class SameStart(gym.Wrapper[Any, Any, Any, Any]):
    """Every episode begins with the same seed: one and the same environment, again and again."""

    changes_reward = False

    def __init__(self, env: gym.Env[Any, Any], seed: int = 0) -> None:
        super().__init__(env)
        self._seed = seed

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        return self.env.reset(seed=self._seed, options=options)
