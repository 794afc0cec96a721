"""Environments for tests of several tasks; importing registers them, so configs can say `task_envs:Id`."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class Arm(gym.Env[Any, Any]):
    """One pull of an arm: the right one pays `pay`, the others nothing, give or take some `noise`."""

    def __init__(self, right: int = 0, arms: int = 2, pay: float = 1.0, noise: float = 0.0) -> None:
        self.observation_space = spaces.Box(0.0, 1.0, (1,), dtype=np.float32)
        self.action_space = spaces.Discrete(arms)
        self.right, self.pay, self.noise = right, pay, noise

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return np.ones(1, np.float32), {}

    def step(self, action: Any) -> Any:
        assert 0 <= action < self.action_space.n, "an action that this task does not have"
        paid = float(action == self.right) + self.noise * self.np_random.normal()
        return np.ones(1, np.float32), self.pay * paid, True, False, {}


class Doors(gym.Env[Any, Any]):
    """Some of the doors are locked, as the mask says; a Dict with entries of every kind; random lengths."""

    def __init__(self, doors: int = 3, size: int = 2, rooms: int = 4, note: bool = False) -> None:
        entries = {"room": spaces.Discrete(rooms), "view": spaces.Box(-9.0, 9.0, (size,), dtype=np.float32)}
        if note:
            entries["note"] = spaces.MultiBinary(3)
        self.observation_space = spaces.Dict(entries)
        self.action_space = spaces.Discrete(doors)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self._look()

    def _look(self) -> Any:
        rng, entries = self.np_random, self.observation_space.spaces
        self.open = rng.random(self.action_space.n) < 0.5
        self.open[int(rng.integers(self.action_space.n))] = True
        seen = {"room": rng.integers(entries["room"].n), "view": rng.normal(size=entries["view"].shape)}
        if "note" in entries:
            seen["note"] = rng.integers(0, 2, 3)
        seen["view"] = seen["view"].astype(np.float32)
        return seen, {"action_mask": self.open.astype(np.int8)}

    def step(self, action: Any) -> Any:
        assert self.open[action], "a locked door"
        seen, info = self._look()
        return seen, float(action), bool(self.np_random.random() < 0.2), False, info


for name, kind in (("Arm", Arm), ("Doors", Doors)):
    gym.register(f"{name}-v0", entry_point=kind, max_episode_steps=50)
