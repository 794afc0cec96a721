"""Rewards and episode length: scaling, clipping, time limits, and the return below all of that."""

import math
from typing import Annotated, Any, SupportsFloat

import gymnasium as gym
from pydantic import Field

AnyEnv = gym.Env[Any, Any]
Stepped = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]


class RawReturn(gym.Wrapper[Any, Any, Any, Any]):
    """Sums the stock environment's rewards; it sits below every wrapper that changes them."""

    changes_reward = False

    def __init__(self, env: AnyEnv) -> None:
        super().__init__(env)
        self.total = 0.0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self.total = 0.0
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> Stepped:
        stepped = self.env.step(action)
        self.total += float(stepped[1])
        return stepped


class ScaleReward(gym.RewardWrapper[Any, Any]):
    """Multiplies rewards."""

    changes_reward = True

    def __init__(self, env: AnyEnv, factor: float) -> None:
        super().__init__(env)
        if not math.isfinite(factor):
            raise ValueError("factor should be a finite number.")
        self._factor = factor

    def reward(self, reward: SupportsFloat) -> SupportsFloat:
        return float(reward) * self._factor


class ClipReward(gym.RewardWrapper[Any, Any]):
    """Limits rewards to [low, high], or keeps only their sign."""

    changes_reward = True

    def __init__(self, env: AnyEnv, low: float = -1.0, high: float = 1.0, sign: bool = False) -> None:
        super().__init__(env)
        if low >= high:
            raise ValueError(f"low ({low}) should be below high ({high}).")
        self._low, self._high, self._sign = low, high, sign

    def reward(self, reward: SupportsFloat) -> SupportsFloat:
        value = float(reward)
        if not math.isfinite(value):
            return value  # a fault that must be reported, not clipped away
        if self._sign:
            return float((value > 0) - (value < 0))
        return min(max(value, self._low), self._high)


class TimeLimit(gym.Wrapper[Any, Any, Any, Any]):
    """Truncates an episode after this many steps as seen here, above any frame skip before it."""

    changes_reward = False

    def __init__(self, env: AnyEnv, max_steps: Annotated[int, Field(gt=0)]) -> None:
        super().__init__(env)
        self.max_steps = max_steps
        self._steps = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._steps = 0
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> Stepped:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._steps += 1
        return obs, reward, terminated, truncated or self._steps >= self.max_steps, info


class Elapsed(gym.Wrapper[Any, Any, Any, Any]):
    """Says 1 in `info["elapsed"]` in every step, so that `reward_components` can charge for time.

    Below `frame_skip` it counts the environment's steps, above it the policy's.
    """

    changes_reward = False

    def step(self, action: Any) -> Stepped:
        obs, reward, terminated, truncated, info = self.env.step(action)
        info["elapsed"] = 1.0
        return obs, reward, terminated, truncated, info
