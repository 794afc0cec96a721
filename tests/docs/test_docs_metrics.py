"""docs/metrics.md lists what records hold: no name is missing, none is listed that never comes."""

import multiprocessing
import os
import re
import signal
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

import gymsolve
from gymsolve.envs.describe import describe_env
from gymsolve.metrics.catalog import find_metric
from gymsolve.runs.episodes import RecordedEpisode
from gymsolve.settings.config import EnvConfig
from gymsolve.training.observer import Silent

PAGE = Path(__file__).parents[2] / "docs" / "metrics.md"
ALGORITHMS = ("ppo", "a2c", "reinforce", "pqn", "dqn", "sac", "td3", "tqc")
CONTINUOUS = ("sac", "td3", "tqc")
ACTION_VALUES = ("pqn", "dqn", *CONTINUOUS)
EACH = [pytest.param(algo, marks=pytest.mark.slow if algo in ("td3", "tqc") else ()) for algo in ALGORITHMS]
"""The relatives of SAC have its metrics, but for a few: `make learn` looks at them."""


class Coin(gym.Env[Any, Any]):
    """Three guesses; tells success, so that every metric has a reason to appear."""

    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(0.0, 1.0, (1,), np.float32)
        self.action_space = gym.spaces.Discrete(2)
        self.at = 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.at = 0
        return self._obs(), {}

    def step(self, action: Any) -> Any:
        self.at += 1
        noise = float(self.np_random.normal(scale=0.1))
        return self._obs(), float(action) + noise, self.at == 3, False, {"is_success": bool(action)}

    def _obs(self) -> Any:
        return np.array([0.9 * self.at / 3 + 0.1 * self.np_random.random()], np.float32)


class Mortal(Coin):
    """The same in a worker that dies where a flag is put up."""

    def __init__(self, flag: str = "") -> None:
        super().__init__()
        self.flag = Path(flag)

    def step(self, action: Any) -> Any:
        if multiprocessing.parent_process() is not None and self.flag.exists():
            self.flag.unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().step(action)


class PutsUpFlags(Silent):
    """Once in training, and once in an evaluation."""

    def __init__(self, flag: Path) -> None:
        self.flag, self.phases = flag, {"train", "eval"}

    def rollout_step(self, step: int, total: int) -> None:
        self._once("train")

    def eval_step(self, done: int, total: int) -> None:
        self._once("eval")

    def _once(self, phase: str) -> None:
        if phase in self.phases:
            self.phases.remove(phase)
            self.flag.touch()


class Dial(Coin):
    """The same with a dial to turn, and a time limit instead of an end."""

    def __init__(self) -> None:
        super().__init__()
        self.action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def step(self, action: Any) -> Any:
        obs, reward, over, _, info = super().step(float(action[0]))
        return obs, reward, False, over, info


class Knob(Coin):
    """The same with a dial to turn."""

    def __init__(self, flag: str = "") -> None:
        super().__init__()
        self.action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def step(self, action: Any) -> Any:
        return super().step(float(action[0]))


class MortalKnob(Mortal):
    """A dial to turn in a worker that dies where a flag is put up."""

    def __init__(self, flag: str = "") -> None:
        super().__init__(flag)
        self.action_space = gym.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def step(self, action: Any) -> Any:
        return super().step(float(action[0]))


class Clock(Coin):
    """The same with a time limit instead of an end."""

    def step(self, action: Any) -> Any:
        obs, reward, over, _, info = super().step(action)
        return obs, reward, False, over, info


@pytest.fixture(scope="module")
def samples():
    """Environments that together give every metric a reason to appear."""
    gym.register("DocsCoin-v0", entry_point=Coin, reward_threshold=-100.0)
    gym.register("DocsDial-v0", entry_point=Dial, reward_threshold=-100.0)
    gym.register("DocsMortal-v0", entry_point=Mortal, reward_threshold=-100.0)
    gym.register("DocsKnob-v0", entry_point=Knob, reward_threshold=-100.0)
    gym.register("DocsMortalKnob-v0", entry_point=MortalKnob, reward_threshold=-100.0)
    gym.register("DocsClock-v0", entry_point=Clock, reward_threshold=-100.0)
    yield "DocsCoin-v0", "DocsDial-v0"
    for name in ("Coin", "Dial", "Mortal", "Clock", "Knob", "MortalKnob"):
        del gym.registry[f"Docs{name}-v0"]


def documented() -> dict[str, str]:
    """Metric → who emits it."""
    rows = re.findall(r"^\| `([\w/<>]+)` \| ([^|]+) \|", PAGE.read_text(), re.MULTILINE)
    names = [name for name, _ in rows]
    assert len(names) == len(set(names)), "a metric is listed twice"
    return dict(rows)


def listed(row: dict[str, Any]) -> set[str]:
    """Names of a record as the page has them: `action/share_0` is listed as `action/share_<k>`."""
    known = {name: find_metric(name) for name in row}
    return {name if metric is None else metric.name for name, metric in known.items()}


def emitted(
    algo: str, env: str, folder: Path, observer: Silent | None = None, **more: Any
) -> tuple[set[str], set[str]]:
    """Names in training and in evaluation records of a run that gives each metric its chance."""
    settings: dict[str, Any] = {
        "env.wrappers": [
            {"scale_reward": {"factor": 0.5}},
            {"reward_components": {"components": {"is_success": 0.1}}},
        ],
        "env.num_envs": 4,
        "algo.num_steps": 16,
        "eval.episodes": 5,
        "eval.stop_when_solved": False,
        "net.shared": env.startswith("DocsDial"),
        **more,
    }
    if env.startswith("DocsDial") and algo not in CONTINUOUS:
        settings["net.memory.cell"] = "gru"
    if algo == "dqn" or algo in CONTINUOUS:
        # Some measures wait for many steps in the buffer, or for a full one.
        settings |= {"algo.learning_starts": 0, "algo.buffer_size": 128}
    if algo == "ppo":
        settings |= {"algo.clip_value": 0.2, "algo.target_kl": 0.5}
    run = gymsolve.train(f"{env}:{algo}", settings, steps=256, runs_dir=folder, observer=observer).run
    rows, problems = run.read_metrics()
    assert not problems
    judged = [listed(row) for row in rows if "eval/mean_reward" in row]
    trained = [listed(row) for row in rows if "eval/mean_reward" not in row]
    assert judged
    assert trained
    return set().union(*trained), set().union(*judged)


@pytest.mark.parametrize("algo", EACH)
def test_records_hold_exactly_what_is_documented(algo, samples, tmp_path, monkeypatch):
    monkeypatch.setattr("gymsolve.envs.processes.can_fork", lambda: True)
    table = {name: told.replace("*", "").strip() for name, told in documented().items()}
    flag = tmp_path / "flag"
    mortal = {"env.backend": "async", "env.workers": 1, "env.kwargs": {"flag": str(flag)}}
    dials = algo in CONTINUOUS
    dying = "DocsMortalKnob-v0" if dials else "DocsMortal-v0"
    runs = [emitted(algo, dying, tmp_path, PutsUpFlags(flag), **mortal)]
    if algo in ACTION_VALUES:
        others = ("DocsKnob-v0", "DocsDial-v0") if dials else (samples[0], "DocsClock-v0")
        runs += [emitted(algo, env, tmp_path) for env in others]
    else:
        runs += _with_everything(algo, samples, tmp_path)
    trained, judged = (set().union(*parts) for parts in zip(*runs, strict=True))
    in_training = {n for n, told in table.items() if told in ("all", "both") or algo in told.split(", ")}
    if dials:  # they have no categories to count
        in_training -= {"action/largest_share", "action/share_<k>"}
    in_evaluation = {name for name, told in table.items() if told in ("both", "evaluation")}
    # These runs are solved, and only those that are not measure this: see tests/training/test_blind.py.
    in_evaluation = {name for name in in_evaluation if not name.startswith("blind/")}
    if algo in ACTION_VALUES:  # they learn one task
        in_evaluation = {name for name in in_evaluation if not name.startswith(("task_", "eval/tasks"))}
    assert trained - in_training == set(), "not documented"
    assert in_training - trained == set(), "documented, but never emitted"
    assert judged - in_evaluation == set(), "not documented"
    assert in_evaluation - judged == set(), "documented, but never emitted"


def _record(env: str, path: Path) -> str:
    """A file with one recorded episode."""
    spec, steps = describe_env(EnvConfig(id=env)), 4
    RecordedEpisode(
        obs={key: np.zeros((steps + 1, *entry.shape), entry.dtype) for key, entry in spec.obs.items()},
        actions=np.zeros((steps, *spec.action.shape), spec.action.dtype),
        rewards=np.zeros(steps),
        returns=np.zeros(steps),
        values=np.zeros(steps + 1),
        masks=np.ones((steps, spec.action.mask_size), bool) if spec.masked else None,
        facts={"end": "cut"},
    ).save(path)
    return str(path)


def _with_everything(algo: str, samples: tuple[str, str], tmp_path: Path) -> list[tuple[set[str], set[str]]]:
    """Runs of an algorithm with a policy and values: tasks, bonuses, archive, curriculum."""
    runs = [emitted(algo, env, tmp_path) for env in samples]
    runs.append(emitted(algo, samples[0], tmp_path, imitate=_record(samples[0], tmp_path / "played.npz")))
    runs.append(
        emitted(algo, samples[0], tmp_path, **{"env.tasks": {"one": {}, "two": {}}, "solved_at": 0.0})
    )
    if algo != "reinforce":
        bonuses = {"bonus": "counts"}, {"bonus": "noveld"}, {"bonus": "icm"}
        events = {"bonus": "rarity", "events": ["is_success"]}
        explored = (*bonuses, events, "go_explore")
        runs += [emitted(algo, samples[0], tmp_path, explore=one) for one in explored]
        several = {"env.tasks": {"one": {}, "two": {}}, "solved_at": 0.0, "explore": "go_explore"}
        runs.append(emitted(algo, samples[0], tmp_path, **several))
    tasks = {"env.tasks": {"one": {"solved_at": 1.0}, "two": {"max_episode_steps": 8}}}
    ladder, drawn = (
        {"stages": [{"name": "one", "steps": 64}, "two"]},
        {"stages": ["one", "two"], "choice": "plr"},
    )
    runs += [emitted(algo, samples[0], tmp_path, **tasks, curriculum=one) for one in (ladder, drawn)]
    return runs


@pytest.mark.parametrize("algo", EACH)
def test_a_usual_run_holds_what_is_listed_without_condition(algo, tmp_path):
    trained: set[str] = set()
    env = f"{'Pendulum' if algo in CONTINUOUS else 'CartPole'}-v1:{algo}"
    run = gymsolve.train(env, {"eval.episodes": 1}, steps=1500, runs_dir=tmp_path).run
    for row in run.read_metrics().rows:
        trained |= listed(row)
    table = documented()
    assert trained <= set(table)
    promised = {n for n, told in table.items() if told in ("all", "both", "evaluation") or told == algo}
    assert promised - trained == set()


def test_the_page_knows_only_these_words():
    told = {one.strip() for who in documented().values() for one in who.replace("*", "").split(",")}
    assert told == {"all", "both", "evaluation", "own", *ALGORITHMS}
