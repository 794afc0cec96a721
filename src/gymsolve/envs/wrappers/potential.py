"""Rewards that hurry learning and change no task: the difference of a potential between two states.

With a potential Φ of states, paying γ·Φ(s′) − Φ(s) for each step adds −Φ(s₀) to the discounted return of
every episode that ends by itself, whatever was done in it: Φ counts as 0 where an episode terminates. Where
a time limit cuts it, the critic's value of the last state stands for the rest, and Φ stays what it is.
"""

from abc import abstractmethod
from typing import Annotated, Any, ClassVar

import gymnasium as gym
from pydantic import Field

from gymsolve.envs.wrappers.rewards import AnyEnv, Stepped

Discount = Annotated[float, Field(ge=0, le=1)]


class Potential(gym.Wrapper[Any, Any, Any, Any]):
    """Says in `info` how the potential of a subclass changed in each step; `reward_components` pays it."""

    changes_reward = False
    key: ClassVar[str]
    """Its name in `info`."""

    def __init__(self, env: AnyEnv, gamma: Discount) -> None:
        super().__init__(env)
        self._gamma = gamma
        self._before = 0.0

    @abstractmethod
    def potential(self) -> float:
        """How promising the present state of the environment is."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._before = self.potential()
        return obs, info

    def step(self, action: Any) -> Stepped:
        obs, reward, terminated, truncated, info = self.env.step(action)
        after = 0.0 if terminated else self.potential()
        info[self.key] = self._gamma * after - self._before
        self._before = after
        return obs, reward, terminated, truncated, info
