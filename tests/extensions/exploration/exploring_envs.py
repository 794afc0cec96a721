"""Environments in which finding is the problem; importing registers them (`exploring_envs:Id`)."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces


class DeepSea(gym.Env[Any, Any]):
    """A triangle of N rows: only going right in every row finds the treasure, and each step right costs.

    Random play finds it once in 2 ** N episodes. The best return is 0.99, that of never going right 0. With
    `right: 0` the actions mean the opposite, and nothing shows it; `pay` multiplies all rewards.
    """

    def __init__(self, size: int = 20, right: int = 1, pay: float = 1.0) -> None:
        self.size, self.right, self.pay = size, right, pay
        self.observation_space = spaces.Discrete(size * size)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.row = self.column = 0
        return 0, {"depth": 0}

    def step(self, action: Any) -> Any:
        right = action == self.right
        reward = -0.01 / self.size if right else 0.0
        if right and self.column == self.size - 1:
            reward += 1.0
        self.column = min(self.size - 1, self.column + 1) if right else max(0, self.column - 1)
        self.row += 1
        over = self.row == self.size
        place = 0 if over else self.row * self.size + self.column
        return (
            place,
            self.pay * reward,
            over,
            False,
            {"depth": self.column, "dive": int(right), "name": "sea"},
        )


class AskedSea(DeepSea):
    """A deep sea whose treasure lies behind a question: the last action must be the bit that was shown first.

    It is found as seldom as ever; without memory, no policy earns more than 0.5 on average.
    """

    def __init__(self, size: int = 12) -> None:
        super().__init__(size)
        self.observation_space = spaces.Discrete(size * size + 2)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.bit = int(self.np_random.integers(2))
        return self.size * self.size + self.bit, {}

    def step(self, action: Any) -> Any:
        asked = self.row == self.column == self.size - 1
        place, reward, *rest = super().step(action)
        return place, float(action == self.bit) if asked else reward, *rest


class Rich(gym.Env[Any, Any]):
    """Everything at once: a Dict with numbers, categories and a picture, masks, several action parts."""

    def __init__(self, box: bool = False) -> None:
        self.observation_space = spaces.Dict(
            {
                "place": spaces.Box(-2.0, 2.0, (2,), dtype=np.float32),
                "kind": spaces.MultiDiscrete([2, 3]),
                "screen": spaces.Box(0, 255, (8, 8, 1), dtype=np.uint8),
            }
        )
        self.action_space = (
            spaces.Box(-1.0, 1.0, (2,), dtype=np.float32) if box else spaces.MultiDiscrete([2, 3])
        )
        self.box = box

    def _look(self) -> Any:
        screen = np.zeros((8, 8, 1), np.uint8)
        screen[self.count % 8, :, 0] = 200
        place = np.array([self.count % 4 - 2, self.last], np.float32)
        obs = {"place": place, "kind": np.array([self.count % 2, self.count % 3]), "screen": screen}
        mask = {} if self.box else {"action_mask": np.array([True, self.count % 2 == 0, True, True, False])}
        return obs, {**mask, "score": self.count, "lives": 9 - self.count // 5}

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.count, self.last = int(self.np_random.integers(3)), 0.0
        return self._look()

    def step(self, action: Any) -> Any:
        self.count += 1
        self.last = float(np.clip(np.ravel(action)[0], -2, 2))
        obs, info = self._look()
        return (
            obs,
            float(self.last > 0),
            self.count >= 17,
            self.count == 13 and self.np_random.random() < 0.3,
            info,
        )


class Restless(gym.Env[Any, Any]):
    """Draws from a generator that nobody can reach, so no action leads to the same place twice."""

    def __init__(self) -> None:
        self.observation_space = spaces.Box(0.0, 1.0, (1,), dtype=np.float32)
        self.action_space = spaces.Discrete(2)
        self._hidden = np.random.default_rng()

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return self._hidden.random(1, np.float32), {}

    def step(self, action: Any) -> Any:
        return self._hidden.random(1, np.float32), 0.0, False, False, {}


class Fickle(Restless):
    """The same with the spaces of a sea."""

    def __init__(self) -> None:
        super().__init__()
        self.observation_space = spaces.Discrete(400)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        return int(self._hidden.integers(400)), {}

    def step(self, action: Any) -> Any:
        return int(self._hidden.integers(400)), 0.0, False, False, {}


gym.register("DeepSea-v0", DeepSea)
gym.register("AskedSea-v0", AskedSea)
gym.register("Fickle-v0", Fickle)
gym.register("Restless-v0", Restless)
gym.register("Rich-v0", Rich)


def archive(trainer: Any) -> Any:
    """The archive of a training."""
    return trainer.extensions["archive"]
