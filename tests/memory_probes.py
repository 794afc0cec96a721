"""Vector environments in plain NumPy that cannot be solved without memory; their answers are known."""

import numpy as np

from gymsolve.envs.contract import Step
from gymsolve.spec import ActionSpec, Array, EnvSpec, Obs, ObsSpec
from probes import vector

__all__ = ["FirstBit", "RepeatPrevious"]


class FirstBit:
    """A bit is shown once; after some blanks the environment asks for it and pays ±1. So do T-mazes.

    Without memory every answer is worth 0; with it the value of a step is the discount to the power of the
    steps that are left. With `dict_obs`, the bit is a dot in a picture, the question a category beside it,
    and a third action is never legal.
    """

    def __init__(self, blanks: int, num_envs: int = 16, *, dict_obs: bool = False) -> None:
        self.num_envs, self._blanks, self._dict = num_envs, blanks, dict_obs
        obs = {"obs": vector(2)}
        if dict_obs:
            obs = {
                "asked": ObsSpec("discrete", (), "int64", (2,)),
                "seen": ObsSpec("image", (1, 6, 6), "uint8"),
            }
        action = ActionSpec("discrete", (), nvec=(2 + dict_obs,), start=(0,))
        self.spec = EnvSpec("FirstBit", obs, action, masked=dict_obs)
        self.returns: list[float] = []

    def reset(self, seeds: list[int]) -> tuple[Obs, Array | None]:
        self._rng = np.random.default_rng(seeds)
        self._bit = self._rng.integers(0, 2, self.num_envs)
        self._time = np.zeros(self.num_envs, int)
        return self._look(), self._masks()

    def _masks(self) -> Array | None:
        return np.tile([True, True, False], (self.num_envs, 1)) if self._dict else None

    def _look(self) -> Obs:
        asked = self._time > self._blanks
        shown = np.where(self._time == 0, 2 * self._bit - 1, 0)
        if not self._dict:
            return {"obs": np.stack([shown, asked], axis=1).astype(np.float32)}
        pictures = np.zeros((self.num_envs, 1, 6, 6), np.uint8)
        pictures[:, 0, 1, 1], pictures[:, 0, 4, 4] = 255 * (shown < 0), 255 * (shown > 0)
        return {"asked": asked.astype(np.int64), "seen": pictures}

    def step(self, actions: Array) -> Step:
        assert (actions < 2).all(), "an illegal action was taken"
        asked = self._time > self._blanks
        rewards = np.where(asked, 2.0 * (actions == self._bit) - 1.0, 0.0).astype(np.float32)
        self.returns += rewards[asked].tolist()
        last = self._look()
        self._time = np.where(asked, 0, self._time + 1)
        self._bit = np.where(asked, self._rng.integers(0, 2, self.num_envs), self._bit)
        none = np.zeros(self.num_envs, bool)
        return Step(
            self._look(), rewards, asked, none, ~none, last if asked.any() else None, self._masks(), []
        )

    def close(self) -> None:
        pass


class RepeatPrevious:
    """Shows one of four categories in every step and wants the one from `back` steps ago, as in POPGym.

    Each right answer pays 1/n and each wrong one −1/n, so that memory earns exactly 1, and guessing −0.5.
    """

    def __init__(self, back: int, length: int = 20, num_envs: int = 16) -> None:
        self.num_envs, self._back, self._length = num_envs, back, length
        action = ActionSpec("discrete", (), nvec=(4,), start=(0,))
        self.spec = EnvSpec("Repeat", {"obs": ObsSpec("discrete", (), "int64", (4,))}, action)
        self.returns: list[float] = []

    def reset(self, seeds: list[int]) -> tuple[Obs, None]:
        self._rng = np.random.default_rng(seeds)
        self._begin()
        return {"obs": self._shown[0]}, None

    def _begin(self) -> None:
        self._shown = self._rng.integers(0, 4, (self._length, self.num_envs))
        self._time, self._sum = 0, np.zeros(self.num_envs)

    def step(self, actions: Array) -> Step:
        rewards = np.zeros(self.num_envs, np.float32)
        if self._time >= self._back:
            right = actions == self._shown[self._time - self._back]
            rewards = np.where(right, 1.0, -1.0).astype(np.float32) / (self._length - self._back)
        self._sum += rewards
        self._time += 1
        over = np.full(self.num_envs, self._time == self._length)
        last = {"obs": self._shown[self._time - 1]}
        if over[0]:
            self.returns += self._sum.tolist()
            self._begin()
        none = np.zeros(self.num_envs, bool)
        obs = {"obs": self._shown[self._time]}
        return Step(obs, rewards, over, none, ~none, last if over[0] else None, None, [])

    def close(self) -> None:
        pass
