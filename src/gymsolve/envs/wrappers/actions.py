"""Wrappers that change an action on its way to the environment.

All randomness comes from the environment's own `np_random`, so that seeds and replays cover it.
"""

import math
from collections import deque
from collections.abc import Callable
from typing import Annotated, Any, SupportsFloat, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from pydantic import Field

from gymsolve.envs.masks import flat_mask
from gymsolve.envs.spaces import action_spec
from gymsolve.spec import Array

AnyEnv: TypeAlias = gym.Env[Any, Any]
Stepped: TypeAlias = tuple[Any, SupportsFloat, bool, bool, dict[str, Any]]
Count = Annotated[int, Field(gt=0)]
Probability = Annotated[float, Field(ge=0, le=1)]


class FrameSkip(gym.Wrapper[Any, Any, Any, Any]):
    """Repeats each action and sums the rewards; a range draws a new count for every step.

    `max_pool` returns the maximum of the last two frames, for screens whose sprites flicker.
    """

    changes_reward = False  # the sum over an episode stays what it was
    steps_each_frame = True
    """Does a time limit below count every frame?"""

    def __init__(self, env: AnyEnv, skip: Count | tuple[Count, Count] = 4, max_pool: bool = False) -> None:
        super().__init__(env)
        self.low, self._high = (skip, skip) if isinstance(skip, int) else skip
        if self.low > self._high:
            raise ValueError(f"a range is written [low, high]; got [{self.low}, {self._high}].")
        if max_pool and not isinstance(env.observation_space, spaces.Box):
            raise ValueError("max_pool needs a Box observation.")
        self._max_pool = max_pool
        self.between: Callable[[], None] | None = None
        """Called after every frame of a step but the last, for those who watch."""

    def _draw(self) -> int:
        """How many frames this step lasts."""
        return self.low if self.low == self._high else int(self.np_random.integers(self.low, self._high + 1))

    def step(self, action: Any) -> Stepped:
        count = self._draw()
        total, before, obs = 0.0, None, None
        terminated = truncated = False
        info: dict[str, Any] = {}
        for frame in range(1, count + 1):
            # A copy, since an environment may write each frame into the same array.
            before = np.array(obs) if self._max_pool and obs is not None else None
            obs, reward, terminated, truncated, info = self.env.step(action)
            total += float(reward)
            if terminated or truncated:
                break
            if self.between is not None and frame < count:
                self.between()
        if before is not None:
            obs = np.maximum(before, np.asarray(obs))
        return obs, total, terminated, truncated, info


class StickyActions(gym.Wrapper[Any, Any, Any, Any]):
    """With some probability the last executed action is repeated instead of the chosen one.

    Where the environment gives a mask that forbids it now, the chosen one is taken.
    """

    changes_reward = False

    def __init__(self, env: AnyEnv, probability: Probability = 0.25) -> None:
        super().__init__(env)
        self._probability = probability
        self._last: Any = None
        self._legal: Array | None = None
        """A flag for each choice after the last observation; None where the environment gives no mask."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self._last = None
        obs, info = self.env.reset(seed=seed, options=options)
        self._look(info)
        return obs, info

    def step(self, action: Any) -> Stepped:
        sticks = self.np_random.random() < self._probability
        if self._last is None or not sticks or not self._may_repeat():
            self._last = np.array(action)[()]  # a scalar stays one; an array may be the caller's buffer
        stepped = self.env.step(self._last)
        self._look(stepped[4])
        return stepped

    def _look(self, info: dict[str, Any]) -> None:
        mask, box = info.get("action_mask"), isinstance(self.action_space, spaces.Box)
        self._legal = None if mask is None or box else flat_mask(mask, action_spec(self.action_space))

    def _may_repeat(self) -> bool:
        if self._legal is None:
            return True
        spec = action_spec(self.action_space)
        first = np.cumsum([0, *spec.nvec[:-1]]) - np.array(spec.start)  # of each part's flags
        return bool(self._legal[first + np.ravel(self._last)].all())


class ActionNoise(gym.Wrapper[Any, Any, Any, Any]):
    """Box actions get Gaussian noise (`std`, in half ranges); others are random with `probability`.

    Random choices of a Discrete action are legal ones where the environment gives a mask.
    """

    changes_reward = False

    def __init__(
        self,
        env: AnyEnv,
        std: Annotated[float, Field(ge=0)] | None = None,
        probability: Probability | None = None,
    ) -> None:
        super().__init__(env)
        box = isinstance(env.action_space, spaces.Box)
        if box and (std is None or probability is not None):
            raise ValueError("a Box action takes `std`.")
        if not box and (probability is None or std is not None):
            raise ValueError(f"a {type(env.action_space).__name__} action takes `probability`.")
        self._std, self._probability = std or 0.0, probability or 0.0
        self._legal: Array | None = None
        """Which choices the last observation allows; None where the environment gives no mask."""

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._look(info)
        return obs, info

    def step(self, action: Any) -> Stepped:
        space = self.action_space
        if isinstance(space, spaces.Box):
            half = np.where(np.isfinite(space.high - space.low), (space.high - space.low) / 2, 1.0)
            noisy = action + self.np_random.normal(0.0, 1.0, space.shape) * self._std * half
            return self.env.step(np.clip(noisy, space.low, space.high).astype(space.dtype))
        if self.np_random.random() < self._probability:
            action = self._random(space)
        stepped = self.env.step(action)
        self._look(stepped[4])
        return stepped

    def _look(self, info: dict[str, Any]) -> None:
        if isinstance(self.action_space, spaces.Discrete) and "action_mask" in info:
            self._legal = np.flatnonzero(info["action_mask"])

    def _random(self, space: spaces.Space[Any]) -> Any:
        if isinstance(space, spaces.Discrete):
            if self._legal is not None and len(self._legal):
                return np.int64(self.np_random.choice(self._legal) + space.start)
            return np.int64(self.np_random.integers(space.n) + space.start)
        if isinstance(space, spaces.MultiDiscrete):
            return (self.np_random.integers(0, space.nvec) + space.start).astype(space.dtype)
        return self.np_random.integers(0, 2, space.shape).astype(space.dtype)


class DiscreteActions(gym.Wrapper[Any, Any, Any, Any]):
    """Offers a list of the environment's actions as one Discrete choice, such as button combinations."""

    changes_reward = False

    def __init__(self, env: AnyEnv, actions: list[Any]) -> None:
        super().__init__(env)
        if not actions:
            raise ValueError("the list of actions is empty.")
        inner = env.action_space
        self._actions = [np.asarray(action, dtype=inner.dtype)[()] for action in actions]
        for action in self._actions:
            if not inner.contains(action):
                raise ValueError(f"{action.tolist()} is not an action of {inner}.")
        self.action_space = spaces.Discrete(len(actions))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        return obs, self._choose(info)

    def step(self, action: Any) -> Stepped:
        obs, reward, terminated, truncated, info = self.env.step(self._actions[int(action)])
        return obs, reward, terminated, truncated, self._choose(info)

    def _choose(self, info: dict[str, Any]) -> dict[str, Any]:
        """Masks speak of the environment's own actions; give those of the offered ones."""
        if "action_mask" not in info:
            return info
        rest = {key: value for key, value in info.items() if key != "action_mask"}
        inner = self.env.action_space
        if isinstance(inner, spaces.Discrete):
            chosen = np.asarray(self._actions) - inner.start
            rest["action_mask"] = np.asarray(info["action_mask"])[chosen]
        return rest


class PreviousActions(gym.Wrapper[Any, Any, Any, Any]):
    """Adds the last `count` actions to the observation as the entry `previous_actions`.

    Categories are one-hot, boxes as they are, newest last; zeros stand for "none yet".
    """

    changes_reward = False

    def __init__(self, env: AnyEnv, count: Count = 1) -> None:
        super().__init__(env)
        self._width = len(self._encode(_any_action(env.action_space)))
        self._recent: deque[Array] = deque(maxlen=count)
        low, high = np.float32(0.0), np.float32(1.0)
        if isinstance(env.action_space, spaces.Box):
            low, high = np.minimum(env.action_space.low.min(), 0), np.maximum(env.action_space.high.max(), 0)
        entry = spaces.Box(low, high, (self._width * count,), dtype=np.float32)
        self.observation_space = spaces.Dict({**_entries(env.observation_space), "previous_actions": entry})
        self._is_dict = isinstance(env.observation_space, spaces.Dict)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, info = self.env.reset(seed=seed, options=options)
        self._recent.extend([np.zeros(self._width, dtype=np.float32)] * (self._recent.maxlen or 1))
        return self._with_actions(obs), info

    def step(self, action: Any) -> Stepped:
        obs, reward, terminated, truncated, info = self.env.step(action)
        self._recent.append(self._encode(action))
        return self._with_actions(obs), reward, terminated, truncated, info

    def _with_actions(self, obs: Any) -> dict[str, Any]:
        entries = obs if self._is_dict else {"obs": obs}
        return {**entries, "previous_actions": np.concatenate(list(self._recent))}

    def _encode(self, action: Any) -> Array:
        space = self.env.action_space
        if isinstance(space, spaces.Discrete):
            nvec, start = np.array([space.n]), np.array([space.start])
        elif isinstance(space, spaces.MultiDiscrete):
            nvec, start = space.nvec.ravel(), space.start.ravel()
        else:
            return np.array(action, dtype=np.float32).ravel()
        flags = np.zeros(int(nvec.sum()), dtype=np.float32)
        flags[np.concatenate([[0], np.cumsum(nvec[:-1])]) + np.ravel(action) - start] = 1.0
        return flags


def _entries(space: spaces.Space[Any]) -> dict[str, spaces.Space[Any]]:
    return dict(space.spaces) if isinstance(space, spaces.Dict) else {"obs": space}


def _any_action(space: spaces.Space[Any]) -> Any:
    if isinstance(space, spaces.Discrete | spaces.MultiDiscrete):
        return space.start
    return np.zeros(math.prod(space.shape or ()))
