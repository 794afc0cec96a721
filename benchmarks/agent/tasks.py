"""The tasks: what is prepared, what is asked, and how the end is checked."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import gymsolve
from benchmarks.doctor.cases import find_case
from benchmarks.doctor.train import start_training
from gymsolve.runs import list_runs

__all__ = ["TASKS", "Task"]

_FAULTS = (
    "rate_x100/CartPole-v1/0",
    "rate_x0.001/CartPole-v1/0",
    "gamma_one/Pendulum-v1/0",
    "bonus_huge/CartPole-v1/0",
    "obs_huge/CartPole-v1/0",
    "gradient_choked/CartPole-v1/0",
)
_OWN_ENV = '''\
"""A walk on a line: go right to the end."""

import gymnasium as gym
import numpy as np


class Walk(gym.Env):
    observation_space = gym.spaces.Box(0.0, 1.0, (1,))
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return self._seen(), {}

    def step(self, action):
        self.place = max(0, self.place + (1 if action else -1))
        return self._seen(), -1.0, self.place == 8, False, {}

    def _seen(self):
        return np.array([self.place / 8], dtype=np.float32)


gym.register("Walk-v0", entry_point=Walk, max_episode_steps=60, reward_threshold=-9)
'''


@dataclass(frozen=True)
class Task:
    """One task. `prepare` fills a folder; `check` gets the folder and the agent's last words."""

    name: str
    question: str
    prepare: Callable[[Path], None]
    check: Callable[[Path, str], bool]
    limit: int = 60
    """Calls of tools."""


def _train_some(folder: Path) -> None:
    short = {"video.enabled": False}
    for seed in (0, 1):
        gymsolve.train("Bandit-v0", short, seed=seed, runs_dir=folder / "runs")
    gymsolve.train("CartPole-v1", {**short, "steps": 2000}, runs_dir=folder / "runs")


def _names_newest_solved(folder: Path, said: str) -> bool:
    solved = list_runs(folder / "runs", "status:solved")
    return bool(solved) and solved[0].id in said


def _with_fault(key: str) -> Callable[[Path], None]:
    def prepare(folder: Path) -> None:
        case = find_case(key)
        worker = start_training(case, folder)
        worker.join()
        (folder / key.replace("/", "__").replace(":", "-")).rename(folder / "runs")

    return prepare


def _names_cause(key: str) -> Callable[[Path, str], bool]:
    wanted = find_case(key).fault.names
    return lambda folder, said: any(re.search(rf"\b{name}\b", said) for name in wanted)


def _solved(env: str) -> Callable[[Path, str], bool]:
    return lambda folder, said: any(env in one.env_id for one in list_runs(folder / "runs", "status:solved"))


def _nothing(folder: Path) -> None:
    (folder / "runs").mkdir()


def _own_env(folder: Path) -> None:
    _nothing(folder)
    (folder / "walk_env.py").write_text(_OWN_ENV)


def _stalled(folder: Path) -> None:
    settings = {"algo.learning_rate": 1e-7, "steps": 15_000, "video.enabled": False}
    gymsolve.train("CartPole-v1", settings, runs_dir=folder / "runs")


TASKS = (
    Task(
        "newest solved run",
        "Which is the newest solved run? Answer with its id.",
        _train_some,
        _names_newest_solved,
    ),
    *(
        Task(
            f"why: {key.partition('/')[0]}",
            "Why did the newest run fail? Answer with the id of the alert that is the root cause.",
            _with_fault(key),
            _names_cause(key),
        )
        for key in _FAULTS
    ),
    Task("solve CartPole", "Solve CartPole-v1.", _nothing, _solved("CartPole")),
    Task("solve Acrobot", "Solve Acrobot-v1.", _nothing, _solved("Acrobot")),
    Task(
        "solve an environment of one's own",
        "Solve walk_env:Walk-v0, which is in the working directory; 40,000 steps are plenty.",
        _own_env,
        _solved("Walk"),
    ),
    Task(
        "get a stalled run going",
        "The newest run does not learn. Find out why, mend it, and get CartPole-v1 solved.",
        _stalled,
        _solved("CartPole"),
    ),
)
