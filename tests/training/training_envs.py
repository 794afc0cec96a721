"""Environments for tests of training; importing registers them, so configs can say `training_envs:Id`."""

import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Lengths(gym.Env[Any, Any]):
    """Episodes last 1 or 50 steps with equal chance and return their length: the mean is 25.5."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.left = 1 if self.np_random.random() < 0.5 else 50
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.left -= 1
        return np.zeros(1, np.float32), 1.0, self.left == 0, False, {}


class Still(gym.Env[Any, Any]):
    """Ten steps that cost the square of the action: nothing is better than doing nothing, which costs 0."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)
        self.action_space = spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return np.ones(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        return np.ones(1, np.float32), -(float(action[0]) ** 2), self.steps == 10, False, {}


class Endless(gym.Env[Any, Any]):
    """Never ends and has no time limit."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        return np.zeros(1, np.float32), 1.0, False, False, {}


class Parts(gym.Env[Any, Any]):
    """Pays 1 for action 1; `info` has `effort` (the action) and `fortune` (2 on average, random)."""

    def __init__(self, luck: float = 2.0) -> None:
        self.observation_space = spaces.Box(0.0, 1.0, (1,), dtype=np.float32)
        self.action_space = spaces.Discrete(2)
        self.luck = luck

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        obs = np.full(1, self.steps / 10, np.float32)
        info = {"effort": float(action), "fortune": self.luck * 2.0 * self.np_random.random()}
        return obs, float(action), self.steps >= 10, False, info


class Every(gym.Env[Any, Any]):
    """Pays 1 in every k-th step and nothing else; episodes last `length` steps, which may be slow."""

    def __init__(self, k: int = 10, length: int = 4000, usual: float = 0.0, sleep: float = 0.0) -> None:
        self.observation_space = spaces.Box(0.0, 1.0, (1,), dtype=np.float32)
        self.action_space = spaces.Discrete(2)
        self.k, self.length, self.usual, self.sleep = k, length, usual, sleep

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        if self.sleep:
            time.sleep(self.sleep)
        self.steps += 1
        reward = 1.0 if self.steps % self.k == 0 else self.usual
        return np.zeros(1, np.float32), reward, self.steps >= self.length, False, {}


class Drifting(gym.Env[Any, Any]):
    """Observations far from zero: a normaliser that moves in evaluation would show."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (3,), dtype=np.float32)
        self.action_space = spaces.Discrete(3)

    def _look(self) -> Any:
        return self.np_random.normal(50.0, 10.0, 3).astype(np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return self._look(), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        return self._look(), float(action == 1), self.steps >= 20, False, {}


class Breaks(Drifting):
    """Works until the variable BREAK_AT is set, then raises or returns NaN after so many steps."""

    def __init__(self, how: str = "raise") -> None:
        super().__init__()
        self.how, self.total = how, 0

    def step(self, action: Any) -> Any:
        obs, reward, terminated, truncated, info = super().step(action)
        self.total += "BREAK_AT" in os.environ
        if self.total and self.total == int(os.environ["BREAK_AT"]):
            if self.how == "raise":
                raise RuntimeError("the emulator died")
            obs = np.full(3, np.nan, np.float32)
        return obs, reward, terminated, truncated, info


class Poisoned(Drifting):
    """The copy that was seeded with `victim` gives one bad number in its step `at`; all others are well."""

    def __init__(self, victim: int, how: str = "obs", at: int = 70, box: bool = False) -> None:
        super().__init__()
        if box:
            self.action_space = spaces.Box(-1.0, 1.0, (2,), dtype=np.float32)
        self.victim, self.how, self.at, self.total, self.ill = victim, how, at, 0, False

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        if seed is not None:
            self.ill, self.total = seed == self.victim, 0
        return super().reset(seed=seed, options=options)

    def step(self, action: Any) -> Any:
        self.steps += 1
        self.total += 1
        obs, reward, over = self._look(), float(np.sum(action)), self.steps >= 20
        if self.ill and self.total >= self.at:
            if self.how == "reward":
                reward = -np.inf
            elif self.how == "too large":
                reward = 1e300
            elif self.how == "sum":  # float32 can hold one of them, not two
                reward = 3e38
            elif self.how == "last obs":
                over, obs[2] = True, np.nan
            else:
                obs[1] = {"obs": np.nan, "inf": np.inf, "huge": 3e38}[self.how]
        return obs, reward, over, False, {}


class Secret(Drifting):
    """Rewards from a generator of its own behind observations that never change."""

    def __init__(self) -> None:
        super().__init__()
        self.own = np.random.default_rng()

    def _look(self) -> Any:
        return np.zeros(3, np.float32)

    def step(self, action: Any) -> Any:
        obs, _, terminated, truncated, info = super().step(action)
        return obs, float(self.own.random()), terminated, truncated, info


class Shifted(gym.Env[Any, Any]):
    """Sees 1, 2 or 3 and should answer 10, 11 or 12; one step an episode."""

    def __init__(self) -> None:
        self.observation_space = spaces.Discrete(3, start=1)
        self.action_space = spaces.Discrete(3, start=10)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.shown = int(self.np_random.integers(1, 4))
        return self.shown, {}

    def step(self, action: Any) -> Any:
        return self.shown, float(action == self.shown + 9), True, False, {}


class Dot(gym.Env[Any, Any]):
    """A dot on a small screen that drifts at random; the action that follows its last move pays."""

    def __init__(self, size: int = 12) -> None:
        self.observation_space = spaces.Box(0, 255, (size, size, 1), dtype=np.uint8)
        self.action_space = spaces.Discrete(3)

    def _look(self) -> Any:
        screen = np.zeros(self.observation_space.shape or (), np.uint8)
        screen[self.place] = 255
        return screen

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.place, self.steps = int(self.np_random.integers(12)), 0
        return self._look(), {}

    def step(self, action: Any) -> Any:
        move = int(self.np_random.integers(3))
        self.place = (self.place + move - 1) % 12
        self.steps += 1
        return self._look(), float(action == move), bool(self.np_random.random() < 0.05), self.steps >= 40, {}


class Everything(gym.Env[Any, Any]):
    """Dict observations with an image, categories and a vector; masked actions."""

    def __init__(self) -> None:
        self.observation_space = spaces.Dict(
            {
                "screen": spaces.Box(0, 255, (12, 12, 3), dtype=np.uint8),
                "place": spaces.Discrete(5),
                "speed": spaces.Box(-np.inf, np.inf, (2,), dtype=np.float32),
            }
        )
        self.action_space = spaces.Discrete(6)

    def _look(self) -> tuple[Any, dict[str, Any]]:
        draw = self.np_random
        obs = {
            "screen": draw.integers(0, 256, (12, 12, 3), dtype=np.uint8),
            "place": int(draw.integers(5)),
            "speed": draw.normal(3.0, 2.0, 2).astype(np.float32),
        }
        mask = draw.random(6) < 0.5
        mask[int(draw.integers(6))] = True
        self.mask = mask
        return obs, {"action_mask": mask.copy()}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return self._look()

    def step(self, action: Any) -> Any:
        assert self.mask[action], "an illegal action was taken"
        self.steps += 1
        obs, info = self._look()
        return obs, float(action), False, self.steps >= 15, info


class Falls(gym.Env[Any, Any]):
    """Costs 1 in each of 20 steps, whatever is done."""

    def __init__(self, length: int = 20, hang_at: int = 0) -> None:
        self.observation_space = spaces.Box(0.0, 1.0, (1,), dtype=np.float32)
        self.action_space = spaces.Discrete(2)
        self.length, self.hang_at, self.total = length, hang_at, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        self.total += 1
        if self.hang_at and self.total >= self.hang_at and "HANG" in os.environ:
            time.sleep(1e6)
        obs = np.full(1, self.steps / self.length, np.float32)
        return obs, -1.0, self.steps >= self.length, False, {}


class Stuck(Falls):
    """Hangs in the method that the variable HANG names."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 30}

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__()
        self.render_mode = render_mode
        self._hang_in("init")

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self._hang_in("reset")
        return super().reset(seed=seed)

    def step(self, action: Any) -> Any:
        self._hang_in("step")
        return super().step(action)

    def render(self) -> Any:
        self._hang_in("render")
        return np.zeros((64, 64, 3), np.uint8)

    def _hang_in(self, method: str) -> None:
        if os.environ.get("HANG") == method:
            time.sleep(60)  # whoever waits for that long was not interrupted: a failure, not a hang


class Dies(gym.Wrapper[Any, Any, Any, Any]):
    """Kills its process, unless that is the main one, in the `at`-th step of an episode.

    With `once`, the name of a file, only while that is there, and removes it.
    """

    changes_reward = False

    def __init__(self, env: Any, at: int = 6, once: str = "") -> None:
        super().__init__(env)
        self._at, self._once, self._steps = at, once, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self._steps = 0
        return self.env.reset(seed=seed, options=options)

    def step(self, action: Any) -> Any:
        self._steps += 1
        if self._steps == self._at and multiprocessing.parent_process() is not None and self._armed():
            os.kill(os.getpid(), signal.SIGKILL)
        return self.env.step(action)

    def _armed(self) -> bool:
        if not self._once:
            return True
        try:
            Path(self._once).unlink()
        except FileNotFoundError:
            return False
        return True  # whoever removed it: two workers may get here at once


class Loud(Falls):
    """Prints everywhere, goes to another folder and cannot be closed."""

    def __init__(self) -> None:
        super().__init__()
        print("built")  # noqa: T201
        os.write(1, b"built\n")
        os.chdir("/")

    def step(self, action: Any) -> Any:
        print("stepped")  # noqa: T201
        return super().step(action)

    def close(self) -> None:
        raise RuntimeError("stays open")


class Succeeds(gym.Env[Any, Any]):
    """One step; the second action is a success. Every episode costs 5, so that returns tell nothing."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        success = bool(action == 1)
        return np.zeros(1, np.float32), float(success) - 5.0, True, False, {"is_success": success}


class Pays(gym.Env[Any, Any]):
    """One step that pays `pay`, whatever is done: a return tells which number an episode was played with."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-1.0, 1.0, (1,), dtype=np.float32)
        self.action_space = spaces.Discrete(2)
        self.pay = 3.0

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> Any:
        return np.zeros(1, np.float32), self.pay, True, False, {}


class TellsTime(gym.Env[Any, Any]):
    """From its fourth step on it shows the time, which no seed decides."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-np.inf, np.inf, (1,), dtype=np.float64)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1), {}

    def step(self, action: Any) -> Any:
        self.steps += 1
        seen = float(time.monotonic_ns() % 1_000_003) if self.steps > 3 else float(self.steps)
        return np.array([seen]), 1.0, self.steps == 8, False, {}


for kind in (
    TellsTime,
    Falls,
    Stuck,
    Loud,
    Succeeds,
    Pays,
    Lengths,
    Still,
    Endless,
    Parts,
    Every,
    Drifting,
    Breaks,
    Poisoned,
    Secret,
    Shifted,
    Dot,
    Everything,
):
    name = f"{kind.__name__}-v0"
    if name not in gym.registry:
        gym.register(name, entry_point=f"training_envs:{kind.__name__}")
