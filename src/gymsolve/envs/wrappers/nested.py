"""Wrappers that treat every entry of an observation alike, however it is nested.

`LeafWrapper` walks Dict and Tuple spaces; a subclass says what happens to one entry. `FrameStack`
joins the last observations entry by entry.
"""

import copy
from abc import abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any, SupportsFloat, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from gymsolve.envs.spaces import ImageBox
from gymsolve.spec import Array

AnyEnv: TypeAlias = gym.Env[Any, Any]
Space: TypeAlias = spaces.Space[Any]
Transform: TypeAlias = Callable[[Any], Any]
Stepped: TypeAlias = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]


class LeafWrapper(gym.ObservationWrapper[Any, Any, Any]):
    """Changes entries of an observation one by one."""

    changes_reward = False

    def __init__(self, env: AnyEnv) -> None:
        super().__init__(env)
        self._touched = 0
        self.observation_space, self._transform = self._build(env.observation_space)
        if not self._touched:
            raise ValueError(f"{type(self).__name__} finds nothing to work on in {env.observation_space}.")

    @abstractmethod
    def transform(self, space: Space) -> tuple[Space, Transform] | None:
        """The new space of an entry and the function that leads there; None leaves it as it is."""

    def observation(self, observation: Any) -> Any:
        return self._transform(observation)

    def _build(self, space: Space) -> tuple[Space, Transform]:
        if isinstance(space, spaces.Dict):
            named = {name: self._build(inner) for name, inner in space.spaces.items()}
            return spaces.Dict({name: pair[0] for name, pair in named.items()}), lambda observed: {
                name: pair[1](observed[name]) for name, pair in named.items()
            }
        if isinstance(space, spaces.Tuple):
            pairs = [self._build(inner) for inner in space.spaces]
            return spaces.Tuple([pair[0] for pair in pairs]), lambda observed: tuple(
                pair[1](value) for pair, value in zip(pairs, observed, strict=True)
            )
        changed = self.transform(space)
        if changed is None:
            return space, _same
        self._touched += 1
        return changed


def _same(value: Any) -> Any:
    return value


class FrameStack(gym.Wrapper[Any, Any, Any, Any]):
    """Joins the last `count` observations: channels of images, the last axis of anything else.

    The first observation of an episode fills all places.
    """

    changes_reward = False

    def __init__(self, env: AnyEnv, count: int) -> None:
        super().__init__(env)
        self._frames: deque[Any] = deque(maxlen=count)
        self.observation_space = _stacked_space(env.observation_space, count)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._frames.extend([_kept(obs)] * (self._frames.maxlen or 1))
        return self._joined(), info

    def step(self, action: Any) -> Stepped:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._frames.append(_kept(obs))
        return self._joined(), reward, terminated, truncated, info

    def _joined(self) -> Any:
        return _join(self.env.observation_space, list(self._frames))


def _kept(obs: Any) -> Any:
    """A copy, since an environment may write every observation into the same array."""
    return obs.copy() if isinstance(obs, np.ndarray) else copy.deepcopy(obs)


def _stacked_space(space: Space, count: int) -> Space:
    if isinstance(space, spaces.Dict):
        return spaces.Dict({name: _stacked_space(inner, count) for name, inner in space.spaces.items()})
    if isinstance(space, spaces.Tuple):
        return spaces.Tuple([_stacked_space(inner, count) for inner in space.spaces])
    if isinstance(space, spaces.Discrete):
        return spaces.MultiDiscrete([int(space.n)] * count, start=[int(space.start)] * count)
    if isinstance(space, spaces.MultiDiscrete):
        return spaces.MultiDiscrete(_repeat(space.nvec, count), start=_repeat(space.start, count))
    if isinstance(space, spaces.MultiBinary):
        return spaces.MultiBinary([*space.shape[:-1], space.shape[-1] * count])
    if isinstance(space, spaces.Box):
        kind = ImageBox if isinstance(space, ImageBox) else spaces.Box
        axis = 0 if kind is ImageBox else -1
        low, high = (_repeat(np.atleast_1d(limit), count, axis) for limit in (space.low, space.high))
        return kind(low, high, dtype=space.dtype)
    return space  # describing the space refuses it, with advice


def _repeat(values: Array, count: int, axis: int = -1) -> Array:
    return np.concatenate([values] * count, axis=axis)


def _join(space: Space, frames: list[Any]) -> Any:
    if isinstance(space, spaces.Dict):
        return {name: _join(inner, [f[name] for f in frames]) for name, inner in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_join(inner, [f[i] for f in frames]) for i, inner in enumerate(space.spaces))
    if isinstance(frames[-1], str):
        return frames[-1]
    if isinstance(space, ImageBox):
        return np.concatenate(frames, axis=0)
    if isinstance(space, spaces.Discrete) or space.shape == ():
        return np.asarray(frames, dtype=space.dtype)
    return np.concatenate(frames, axis=-1)
