"""Environments that are wrong. Wrong rewards need nothing here: the product's `scale_reward` does that."""

import os
import signal
from typing import Any, SupportsFloat

import gymnasium as gym
import numpy as np

__all__ = [
    "BrokenReward",
    "BrokenSensor",
    "DyingProcess",
    "LimitAsEnd",
    "MirroredActions",
    "NoiseObservations",
    "OneLegalAction",
    "ScaledObservations",
    "ShortEpisodes",
]

AnyEnv = gym.Env[Any, Any]
Stepped = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]


class ScaledObservations(gym.ObservationWrapper[Any, Any, Any]):
    """Multiplies observations: other units, a mirrored sensor, or (by 0) one that shows nothing."""

    def __init__(self, env: AnyEnv, factor: float) -> None:
        super().__init__(env)
        self.observation_space = _endless(env)
        self._factor = np.float32(factor)

    def observation(self, observation: Any) -> Any:
        return observation * self._factor


class NoiseObservations(gym.ObservationWrapper[Any, Any, Any]):
    """A sensor that shows chance alone."""

    def __init__(self, env: AnyEnv) -> None:
        super().__init__(env)
        self.observation_space = _endless(env)

    def observation(self, observation: Any) -> Any:
        return self.np_random.normal(size=np.shape(observation)).astype(np.float32)


class DyingProcess(gym.Wrapper[Any, Any, Any, Any]):
    """Native code that crashes after so many steps; only for processes of the environments' own."""

    changes_reward = False

    def __init__(self, env: AnyEnv, after: int) -> None:
        super().__init__(env)
        self._left = after

    def step(self, action: Any) -> Stepped:
        self._left -= 1
        if not self._left:
            os.kill(os.getpid(), signal.SIGSEGV)
        return self.env.step(action)


class OneLegalAction(gym.Wrapper[Any, Any, Any, Any]):
    """A mask that allows nothing but the first action."""

    changes_reward = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        return obs, info | {"action_mask": self._mask()}

    def step(self, action: Any) -> Stepped:
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, reward, terminated, truncated, info | {"action_mask": self._mask()}

    def _mask(self) -> Any:
        mask = np.zeros(self.env.action_space.n, np.int8)  # type: ignore[attr-defined]
        mask[0] = 1
        return mask


class LimitAsEnd(gym.Wrapper[Any, Any, Any, Any]):
    """Says that an episode has ended where a time limit cut it."""

    changes_reward = False

    def step(self, action: Any) -> Stepped:
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, reward, terminated or truncated, False, info


class MirroredActions(gym.ActionWrapper[Any, Any, Any]):
    """The last action does what the first one did; in a box, each what its opposite did."""

    changes_reward = False

    def action(self, action: Any) -> Any:
        space = self.env.action_space
        return space.n - 1 - action if isinstance(space, gym.spaces.Discrete) else -action


class ShortEpisodes(gym.Wrapper[Any, Any, Any, Any]):
    """A counter that ends every episode after a few steps."""

    changes_reward = False

    def __init__(self, env: AnyEnv, length: int) -> None:
        super().__init__(env)
        self._length, self._steps = length, 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._steps = 0
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> Stepped:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._steps += 1
        return obs, reward, terminated or self._steps >= self._length, truncated, info


class BrokenSensor(gym.Wrapper[Any, Any, Any, Any]):
    """One element of an observation is NaN, late in training."""

    changes_reward = False

    def __init__(self, env: AnyEnv, after: int) -> None:
        super().__init__(env)
        self._left = after

    def step(self, action: Any) -> Stepped:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._left -= 1
        if self._left < 0:
            obs = np.array(obs, np.float32)
            obs[0] = np.nan
        return obs, reward, terminated, truncated, info


class BrokenReward(gym.Wrapper[Any, Any, Any, Any]):
    """A reward is NaN, late in training."""

    changes_reward = False

    def __init__(self, env: AnyEnv, after: int) -> None:
        super().__init__(env)
        self._left = after

    def step(self, action: Any) -> Stepped:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._left -= 1
        return obs, float("nan") if self._left < 0 else reward, terminated, truncated, info


def _endless(env: AnyEnv) -> gym.spaces.Box:
    return gym.spaces.Box(-np.inf, np.inf, env.observation_space.shape, np.float32)
