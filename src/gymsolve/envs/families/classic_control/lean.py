"""Classic control with compiled rules, all copies at once, with the results of the stock classes.

What differs between them stands in one table here; the arithmetic of a step is in `classic.c`. Each copy
has a generator of its own, seeded and drawn from as in the stock class, so that a vector of these equals a
vector of stock environments bit for bit. They stand in only while the stock code is the code that they were
compared with.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
from gymnasium.envs.classic_control.pendulum import DEFAULT_X, DEFAULT_Y
from gymnasium.utils.seeding import np_random

from gymsolve.envs.lean import fingerprint
from gymsolve.spec import Array

_HIGHEST = np.array([DEFAULT_X, DEFAULT_Y])
_NO_LIMIT = 2**62


@dataclass(frozen=True)
class Classic:
    """One kind of environment, as far as Python needs to know it."""

    name: str
    variables: int
    """Variables of its state, including those that the rules keep between stages."""
    functions: int
    """Rows of `trig`."""
    begin: Callable[[np.random.Generator], Array]
    """The first values of its state."""
    first_seen: Callable[[Array], Array]
    """The observation of a state."""
    option: str | None = None
    """The one argument of the class that matters, and what it is by default."""
    default: float = 0.0
    stages: int = 1
    angle: int | None = None
    """Index of the state variable whose cosine and sine are in `trig`; None where there is none, or where
    `trig` begins with three angles itself, followed by their cosines and the sines of two."""


def _as_is(state: Array) -> Array:
    return state


def _car(rng: np.random.Generator) -> Array:
    return np.array([rng.uniform(low=-0.6, high=-0.4), 0])


def _acrobat(rng: np.random.Generator) -> Array:
    return rng.uniform(low=-0.1, high=0.1, size=(4,)).astype(np.float32)


def _hanging(state: Array) -> Array:
    first, second = state[0], state[1]  # single precision here, and only here
    return np.array([np.cos(first), np.sin(first), np.cos(second), np.sin(second), state[2], state[3]])


CLASSICS = {
    "cartpole:CartPoleEnv": Classic(
        "CartPole",
        variables=4,
        functions=2,
        begin=lambda rng: rng.uniform(low=-0.05, high=0.05, size=(4,)),
        first_seen=_as_is,
        option="sutton_barto_reward",
        angle=2,
    ),
    "pendulum:PendulumEnv": Classic(
        "Pendulum",
        variables=2,
        functions=2,
        begin=lambda rng: rng.uniform(low=-_HIGHEST, high=_HIGHEST),
        first_seen=lambda state: np.array([np.cos(state[0]), np.sin(state[0]), state[1]]),
        option="g",
        default=10.0,
        angle=0,
    ),
    "mountain_car:MountainCarEnv": Classic(
        "MountainCar", variables=2, functions=0, begin=_car, first_seen=_as_is, option="goal_velocity"
    ),
    "continuous_mountain_car:Continuous_MountainCarEnv": Classic(
        "MountainCarContinuous",
        variables=2,
        functions=0,
        begin=_car,
        first_seen=_as_is,
        option="goal_velocity",
    ),
    "acrobot:AcrobotEnv": Classic(
        "Acrobot",
        variables=20,
        functions=8,
        begin=_acrobat,
        first_seen=_hanging,
        stages=5,
    ),
}
"""The kinds by entry point, below `gymnasium.envs.classic_control`."""
_STOCK = "gymnasium.envs.classic_control."
_STOCK_CODE = frozenset(
    {
        "4923675db2361a94a22598d1c76fdf103d29f080b7e6f47269e1501b1c6cb87f",
        "356569e5a44a6fc956ded8634db65e7c7939ecffd9615fd34d702d7588bbb8a4",
        "a9ad8974ca1be7bf4cf0a40e252276e14abcebf5509f4a896b3c6c88d8b9b7f2",
        "f32b6379c999b6f9b04d9b7066626201d5676f409461649ac81c30dbd59ab8e7",
        "bfcc44022b70154db2ae1dc06df655ba0f49959965bb81030f3c3980d7f367d9",
    }
)
"""Fingerprints of the modules that `classic.c` was compared with."""


def find_classic(entry_point: Any) -> Classic | None:
    """The compiled rules of a registered entry point; None where there are none."""
    if not isinstance(entry_point, str) or not entry_point.startswith(_STOCK):
        return None
    return _find_classic(entry_point)


@cache
def _find_classic(entry_point: str) -> Classic | None:
    known = CLASSICS.get(entry_point.removeprefix(_STOCK))
    if known is None:
        return None
    stock = importlib.import_module(entry_point.partition(":")[0])
    return known if fingerprint(stock) in _STOCK_CODE else None


class ClassicRows:
    """The arrays of some copies, and what moves them."""

    def __init__(
        self,
        kind: Classic,
        kernels: ModuleType,
        entries: int,
        count: int,
        options: dict[str, Any],
        limit: int | None,
    ) -> None:
        self._kind = kind
        self._state = np.zeros((kind.variables, count))  # [variables, N]
        self._trig = np.zeros((kind.functions, count))  # [functions, N]
        self.obs = np.zeros((count, entries), np.float32)  # [N, entries]
        self.rewards, self.returns = np.zeros(count), np.zeros(count)  # [N]
        self.lengths = np.zeros(count, np.int64)  # [N]
        self.terminated, self.truncated = np.zeros(count, bool), np.zeros(count, bool)  # [N]
        self._rules = kernels.Classic(
            name=kind.name,
            state=self._state,
            trig=self._trig,
            obs=self.obs,
            rewards=self.rewards,
            returns=self.returns,
            lengths=self.lengths,
            terminated=self.terminated,
            truncated=self.truncated,
            limit=_NO_LIMIT if limit is None else limit,
            option=float(options.get(kind.option, kind.default) if kind.option else kind.default),
        )
        self._generators = [np.random.default_rng(0)] * count
        if kind.angle is not None:
            angle = self._state[kind.angle]  # [N]
            self._turning = (angle, self._trig[0]), (angle, self._trig[1])
        else:
            self._turning = (self._trig[:3], self._trig[3:6]), (self._trig[:2], self._trig[6:])

    def reset(self, seeds: list[int]) -> None:
        for row, seed in enumerate(seeds):
            self._generators[row] = np_random(seed)[0]
        self.begin(np.arange(len(seeds)))

    def reseed(self, row: int, seed: int) -> None:
        """Seed the generator of a row, as a reset with the seed would."""
        self._generators[row] = np_random(seed)[0]

    def begin(self, rows: Array) -> None:
        """New episodes in these rows, with the random numbers that come next there."""
        for row in rows.tolist():
            state = self._kind.begin(self._generators[row])
            self._state[: len(state), row] = state
            self.obs[row] = self._kind.first_seen(state)
        self.returns[rows], self.lengths[rows] = 0.0, 0
        self._measure_angles()

    def step(self, actions: Array) -> int:
        """Step all copies; results go to the arrays. Returns how many episodes ended."""
        for stage in range(self._kind.stages):
            self._rules.advance(actions, stage)
            self._measure_angles()
        ended: int = self._rules.settle()
        return ended

    def _measure_angles(self) -> None:
        if self._kind.functions:
            (flat, cosines), (upright, sines) = self._turning
            np.cos(flat, cosines)
            np.sin(upright, sines)

    def capture(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "name": self._kind.name,
            "state": self._state.tolist(),
            "obs": self.obs.tolist(),
            "returns": self.returns.tolist(),
            "lengths": self.lengths.tolist(),
            "rngs": [generator.bit_generator.state for generator in self._generators],
        }

    def capture_row(self, row: int) -> dict[str, Any]:
        """One copy, JSON-ready."""
        return {
            "state": self._state[:, row].tolist(),
            "obs": self.obs[row].tolist(),
            "return": float(self.returns[row]),
            "length": int(self.lengths[row]),
            "rng": self._generators[row].bit_generator.state,
        }

    def restore_row(self, row: int, saved: dict[str, Any]) -> None:
        self._state[:, row], self.obs[row] = saved["state"], saved["obs"]
        self.returns[row], self.lengths[row] = saved["return"], saved["length"]
        self._generators[row] = np_random(0)[0]  # its own: another row may share the old one
        self._generators[row].bit_generator.state = saved["rng"]
        self._measure_angles()

    def restore(self, saved: dict[str, Any], count: int) -> None:
        """Put the first `count` copies where as many were."""
        self._state[:, :count] = np.array(saved["state"])[:, :count]
        self.obs[:count] = saved["obs"][:count]
        self.returns[:count], self.lengths[:count] = saved["returns"][:count], saved["lengths"][:count]
        for generator, state in zip(self._generators[:count], saved["rngs"], strict=False):
            generator.bit_generator.state = state
        self._measure_angles()
