"""Tiny environments with known answers, and some that misbehave on purpose.

Importing this module registers them, so worker processes and configs can say `sample_envs:Id`.
"""

import multiprocessing
import os
import signal
import sys
import threading
import time
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Pictures(gym.Env[Any, Any]):
    """Random screens; `layout` says in which order their axes come."""

    def __init__(self, layout: str = "HWC", channels: int = 3, dtype: str = "uint8") -> None:
        shape = {"HW": (12, 10), "HWC": (12, 10, channels), "CHW": (channels, 12, 10)}[layout]
        self.observation_space = spaces.Box(0, 255, shape, dtype=np.dtype(dtype).type)
        self.action_space = spaces.Discrete(2)

    def _look(self) -> Any:
        space = self.observation_space
        return self.np_random.integers(0, 256, space.shape).astype(space.dtype)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self._look(), {}

    def step(self, action: Any) -> Any:
        return self._look(), float(action), self.np_random.random() < 0.1, False, {}


class Mixed(gym.Env[Any, Any]):
    """Nested Dict and Tuple of everything, MultiDiscrete actions, masks given part by part."""

    def __init__(self, flat_masks: bool = False) -> None:
        self.observation_space = spaces.Dict(
            {
                "screen": spaces.Box(0, 255, (8, 8, 3), dtype=np.uint8),
                "body": spaces.Tuple(
                    (
                        spaces.Box(-1.0, 1.0, (2, 2), dtype=np.float64),
                        spaces.Discrete(4, start=-1),
                        spaces.Dict(
                            {"flags": spaces.MultiBinary(3), "dials": spaces.MultiDiscrete([[2, 3], [4, 5]])}
                        ),
                    )
                ),
            }
        )
        self.action_space = spaces.MultiDiscrete([3, 2], start=[1, 0])
        self._flat_masks = flat_masks

    def _look(self) -> tuple[Any, dict[str, Any]]:
        draw = self.np_random
        obs = {
            "screen": draw.integers(0, 256, (8, 8, 3), dtype=np.uint8),
            "body": (
                draw.uniform(-1, 1, (2, 2)),
                int(draw.integers(-1, 3)),
                {"flags": draw.integers(0, 2, 3, dtype=np.int8), "dials": draw.integers(0, [[2, 3], [4, 5]])},
            ),
        }
        first = np.array([True, bool(draw.random() < 0.5), bool(draw.random() < 0.5)])
        masks = (first, np.array([True, False]))
        return obs, {"action_mask": np.concatenate(masks) if self._flat_masks else masks}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self._look()

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action)
        obs, info = self._look()
        return obs, 0.5, bool(self.np_random.random() < 0.1), False, info


class Counter(gym.Env[Any, Any]):
    """Observes [steps taken, last action]; reward is the action; ends after `length` steps.

    The same array is returned every time, as some environments do.
    """

    def __init__(self, length: int = 5, actions: int = 4, start: int = 0) -> None:
        self.observation_space = spaces.Box(-1.0, 1000.0, (2,), dtype=np.float32)
        self.action_space = spaces.Discrete(actions, start=start)
        self._length = length
        self._buffer = np.zeros(2, dtype=np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._buffer[:] = (0, -1)
        return self._buffer, {}

    def step(self, action: Any) -> Any:
        self._buffer += (1, 0)
        self._buffer[1] = action
        ended = self._buffer[0] >= self._length
        return self._buffer, float(action), bool(ended), False, {"is_success": bool(action == 1)}


class Paid(Counter):
    """A counter that says in `info` what its reward consists of, and more; `oddity` spoils one number.

    In step n with action a: `reward_goal` is a, `reward_cost` -n, `speed` an array of 0.5 without axes.
    """

    def __init__(self, length: int = 5, oddity: str = "") -> None:
        super().__init__(length)
        self._oddity = oddity

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = super().step(action)
        info |= {"reward_goal": float(action), "reward_cost": -int(obs[0]), "speed": np.array(0.5)}
        info["note"] = "hello"
        if self._oddity and obs[0] >= 3:
            odd = {"nan": np.nan, "text": "fast", "none": None}
            info["speed"] = odd.get(self._oddity)
            if self._oddity == "gone":
                del info["speed"]
        return obs, reward, terminated, truncated, info


class Curiosity(gym.Wrapper[Any, Any, Any, Any]):
    """Offers a number of its own to whoever shapes rewards above."""

    changes_reward = False

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, reward, terminated, truncated, {**info, "curiosity": 7.0}


class Placed(Counter):
    """Counts from where the options of a reset say; a coin, which differs by seed, is beside the count."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        _, info = super().reset(seed=seed)
        self._count = (options or {}).get("start", 0.0)
        return self._look(), info

    def step(self, action: Any) -> Any:
        self._count += 1.0
        return self._look(), 1.0, self._count >= 6, False, {}

    def _look(self) -> Any:
        return np.array([self._count, self.np_random.integers(1000)], dtype=np.float32)


class Slow(Counter):
    """Takes its time for every step."""

    def step(self, action: Any) -> Any:
        time.sleep(0.002)
        return super().step(action)


class Faulty(Counter):
    """Breaks at the third step of an episode in the way it is asked to."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self._how = how
        if how == "discrete":
            self.observation_space = spaces.Discrete(3)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        obs, info = super().reset(seed=seed)
        if self._how == "reset":
            raise RuntimeError("no power")
        if self._how == "bare reset":
            return obs
        if self._how == "reset None":
            return obs, None
        return (0, info) if self._how == "discrete" else (obs, info)

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = super().step(action)
        broken = obs[0] >= 3
        if self._how == "discrete":
            obs = 7 if broken else 0
        elif broken:
            return self._break(obs, reward, info)
        return obs, reward, terminated, truncated, info

    def _break(self, obs: Any, reward: float, info: dict[str, Any]) -> Any:
        if self._how == "raise":
            raise ZeroDivisionError("engine on fire")
        if self._how == "nan":
            return np.array([1.0, np.nan], dtype=np.float32), reward, False, False, info
        if self._how == "final_nan":
            return np.array([np.inf, 1.0], dtype=np.float32), reward, True, False, info
        if self._how == "reward":
            return obs, float("inf"), False, False, info
        if self._how == "shape":
            return np.zeros(3, dtype=np.float32), reward, False, False, info
        if self._how == "none":
            return obs, None, False, False, info
        if self._how == "exit":
            sys.exit(3)
        if self._how == "info":
            return obs, reward, True, False, None
        if self._how == "four":
            return obs, reward, False, info
        if self._how == "dtype":
            return np.array(["a", "b"]), reward, False, False, info
        return obs, reward, False, False, info


class Dying(Counter):
    """Kills its worker process, or hangs in it; in a step or a reset it hangs only after an even seed."""

    def __init__(self, when: str) -> None:
        super().__init__(length=7)
        self._when, self._steps, self._even = when, 0, True
        if multiprocessing.parent_process() is not None and "build" in when:
            self._strike()

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        if seed is not None:
            self._even = seed % 2 == 0 or "hang" not in self._when
        if self._mine("reset") and (self._steps or self._when == "reset"):
            self._strike()
        return super().reset(seed=seed)

    def step(self, action: Any) -> Any:
        self._steps += 1
        if self._mine("step") or (self._mine("seldom") and self._steps % 150 == 0):
            self._strike()
        return super().step(action)

    def _mine(self, call: str) -> bool:
        return self._even and call in self._when and multiprocessing.parent_process() is not None

    def _strike(self) -> None:
        if "hang" in self._when:
            threading.Event().wait()
        os.kill(os.getpid(), signal.SIGKILL)


class Hidden(Counter):
    """Noise that no seed reaches: a resumed episode cannot be the same."""

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = super().step(action)
        return (
            obs + np.random.default_rng().normal(size=2).astype(np.float32),
            reward,
            terminated,
            truncated,
            info,
        )


class Emulated(Counter):
    """Noise from a generator of its own that only a reset with a seed sets, as emulators have it."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        if seed is not None:
            self._own = np.random.default_rng(seed)
        return super().reset(seed=seed)

    def step(self, action: Any) -> Any:
        obs, _, terminated, truncated, info = super().step(action)
        return obs, float(self._own.random()), terminated, truncated, info


class Stubborn(Emulated):
    """Listens to the first seed it is given, and to no later one."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=None if hasattr(self, "_own") else seed)


class Aging(Counter):
    """Remembers how many episodes it has lived through; no reset clears that."""

    _age = 0.0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self._age += 1
        return super().reset(seed=seed)

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = super().step(action)
        return obs, reward + self._age * bool(terminated), terminated, truncated, info


class Masked(gym.Env[Any, Any]):
    """Counts down; the mask allows exactly the action `state % 3`, or nothing once `empty`."""

    def __init__(self, empty: bool = False, forget: bool = False) -> None:
        self.observation_space = spaces.Discrete(10)
        self.action_space = spaces.Discrete(3)
        self._empty, self._forget = empty, forget
        self._state = 0

    def _info(self) -> dict[str, Any]:
        mask = np.zeros(3, dtype=np.int8)
        mask[self._state % 3] = 1
        return {"action_mask": mask * (not self._empty or self._state > 6)}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self._state = int(self.np_random.integers(7, 10))
        return self._state, self._info()

    def step(self, action: Any) -> Any:
        assert action == self._state % 3, "an illegal action was taken"
        self._state -= 1
        return self._state, 1.0, self._state == 5, False, {} if self._forget else self._info()


class Plain(gym.Env[Any, Any]):
    """Whatever spaces it is given; every step is a sample."""

    def __init__(self, observation_space: Any = None, action_space: Any = None) -> None:
        self.observation_space = observation_space or spaces.Box(-1.0, 1.0, (1,))
        self.action_space = action_space or spaces.Discrete(2)
        self.taken: list[Any] = []

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        return self.observation_space.sample(), {}

    def step(self, action: Any) -> Any:
        assert self.action_space.contains(action), action
        self.taken.append(action)
        return self.observation_space.sample(), 1.0, False, False, {}


class Bonus(gym.Wrapper[Any, Any, Any, Any]):
    """A stranger's wrapper that adds to the reward and does not say so."""

    def __init__(self, env: Any, amount: float = 1.0) -> None:
        super().__init__(env)
        self._amount = amount

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = self.env.step(action)
        return obs, float(reward) + self._amount, terminated, truncated, info


def register() -> None:
    for kind in (
        Pictures,
        Mixed,
        Counter,
        Paid,
        Placed,
        Slow,
        Faulty,
        Dying,
        Hidden,
        Emulated,
        Stubborn,
        Aging,
        Masked,
        Plain,
    ):
        name = f"Sample/{kind.__name__}-v0"
        if name not in gym.registry:
            gym.register(name, entry_point=f"sample_envs:{kind.__name__}")


register()
