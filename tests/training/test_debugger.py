"""With a debugger attached, every kind of training runs in this process, with as few copies as it needs."""

import multiprocessing
import sys

import pytest

import gymsolve
from gymsolve.recipes import validate
from gymsolve.settings.config import TrainConfig
from gymsolve.training.observer import Silent
from gymsolve.training.startup import for_debugger

BRIEF = {
    "env.num_envs": 8,
    "algo.num_steps": 16,
    "steps": 32,
    "eval.every": 16,
    "eval.episodes": 2,
    "solved_at": 1e9,
    "video.enabled": False,
}
CASES = {
    "processes": ("CartPole-v1:ppo", {"env.backend": "async", "eval.asynchronous": True}, 1),
    "minibatches": ("CartPole-v1:ppo", {"algo.num_minibatches": 32}, 1),
    "memory": ("CartPole-v1:positions", {"algo.num_minibatches": 4}, 1),
    "tasks": (
        "CartPole-v1:ppo",
        {
            "env.tasks": {
                "pole": {},
                "acro": {"id": "Acrobot-v1", "backend": "async", "max_episode_steps": 20},
            }
        },
        2,
    ),
    "curriculum": (
        "CartPole-v1:ppo",
        {
            "env.tasks": {"short": {"max_episode_steps": 5}, "long": {}},
            "curriculum": {"stages": ["short", "long"], "promote_at": 4.0, "episodes": 4},
        },
        1,
    ),
}


@pytest.fixture
def debugger(monkeypatch):
    """What a debugger leaves in a process."""
    monkeypatch.setitem(sys.modules, "debugpy", sys)


class Children(Silent):
    """Counts processes that training has started, after every step."""

    most = 0

    def rollout_step(self, done, total):
        self.most = max(self.most, len(multiprocessing.active_children()))


def config(**settings):
    return TrainConfig.model_validate({"env": {"id": "CartPole-v1"}, "algo": {"name": "ppo"}, **settings})


def test_without_a_debugger_nothing_changes():
    settings = config()
    assert for_debugger(settings) is settings


def test_with_a_debugger_one_copy_trains_and_one_is_evaluated(debugger):
    settings = config(
        eval={"asynchronous": True, "num_envs": 9}, env={"id": "CartPole-v1", "backend": "async"}
    )
    changed = for_debugger(settings)
    assert (changed.env.num_envs, changed.env.backend) == (1, "sync")
    assert (changed.eval.num_envs, changed.eval.asynchronous) == (1, False)
    assert changed.algo == settings.algo


def test_a_tracer_is_a_debugger():
    before = sys.gettrace()
    sys.settrace(lambda frame, event, argument: None)
    try:
        assert for_debugger(config()).env.num_envs == 1
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("case", CASES)
def test_every_kind_of_run_trains_under_a_debugger(case, debugger):
    name, settings, copies = CASES[case]
    watcher = Children()
    run = gymsolve.train(name, BRIEF | settings, observer=watcher).run
    assert watcher.most == 0
    stored = validate(run.config_json()["config"], "config.json")  # settings that are valid
    assert stored.env.num_envs == copies
    assert run.status == "finished"


def test_a_run_goes_on_under_a_debugger_and_then_without(debugger, monkeypatch):
    monkeypatch.delitem(sys.modules, "debugpy")
    run = gymsolve.train("CartPole-v1:ppo", BRIEF | {"algo.num_minibatches": 32}).run
    monkeypatch.setitem(sys.modules, "debugpy", sys)
    assert gymsolve.resume(run, steps=192).env_steps >= 192
    monkeypatch.delitem(sys.modules, "debugpy")
    assert gymsolve.resume(run, steps=320).env_steps >= 320
    assert run.config_json()["config"]["env"]["num_envs"] == 8
