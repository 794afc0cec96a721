"""Which trainings there are, and to which half each belongs."""

import zlib
from dataclasses import dataclass
from typing import Any, Literal

from benchmarks.doctor.faults import FAULTS, HEALTHY, METHODS, Fault

__all__ = ["CASES", "SEEDS", "STAGES", "Case", "find_case"]

Half = Literal["calibration", "held-out"]
SEEDS = (0, 1, 2)

STAGES: dict[str, dict[str, Any]] = {
    "CartPole-v1": {"steps": 20_000},
    "Acrobot-v1": {"steps": 20_000, "env.num_envs": 4},
    "Pendulum-v1": {"steps": 30_000, "env.num_envs": 4},
    "FrozenLake-v1": {"steps": 20_000, "env.num_envs": 4},
    "FrozenLake8x8-v1": {"steps": 20_000, "env.num_envs": 4},
    "CliffWalking-v1": {"steps": 20_000, "env.num_envs": 4},
    "MountainCar-v0": {"steps": 15_000},
    "MountainCarContinuous-v0": {"steps": 20_000, "env.num_envs": 8},
    "Bandit-v0": {"steps": 4_000},
}
"""Short budgets; rollouts are small enough for them to hold the updates that rules want to see."""

_RECIPES = (
    *("CartPole-v1:ppo", "Bandit-v0:ppo", "Bandit-v0:a2c", "Bandit-v0:reinforce", "Acrobot-v1:ppo"),
    *("Pendulum-v1:ppo", "MountainCarContinuous-v0:ppo", "FrozenLake-v1:ppo", "CartPole-v1:reinforce"),
)
"""Trained as they are, to solved: nothing may be found in them."""


@dataclass(frozen=True)
class Case:
    """One training."""

    fault: Fault
    env: str
    """A stage, or the name of a recipe."""
    seed: int

    @property
    def key(self) -> str:
        return f"{self.fault.name}/{self.env}/{self.seed}"

    @property
    def half(self) -> Half:
        """By fault and environment, never by seed: runs that differ in the seed alone are alike."""
        return "calibration" if zlib.crc32(f"{self.fault.name}/{self.env}".encode()) % 2 else "held-out"

    def overrides(self) -> dict[str, Any]:
        """Settings of the stage, without the fault's own."""
        # In one process: on a busy machine `auto` would start workers, with the same results.
        in_process = {} if "CartPole" in self.env else {"env.backend": "sync"}
        common = {"seed": self.seed, "video.enabled": False, **in_process}
        if self.env not in STAGES:
            return common
        stage = STAGES[self.env]
        return common | stage | {"eval.every": stage["steps"] // 6, "eval.episodes": 5}


def _all_cases() -> list[Case]:
    """Seed by seed, so that an unfinished matrix has something of everything."""
    cases = []
    for seed in SEEDS:
        cases += [Case(fault, env, seed) for fault in FAULTS for env in fault.envs]
        cases += [Case(HEALTHY, env, seed) for env in (*_RECIPES, "CartPole-v1", "Pendulum-v1")]
        cases += [Case(method, env, seed) for method in METHODS for env in method.envs]
    return cases


CASES = _all_cases()


def find_case(key: str) -> Case:
    return next(case for case in CASES if case.key == key)
