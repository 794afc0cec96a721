"""No checkpoint becomes `best` whose file gives another policy than the one that was trained."""

import pytest

import gymsolve
from gymsolve.errors import CheckpointError
from gymsolve.fast.policy import FastPolicy
from gymsolve.nn.policy import Policy

BRIEF = {
    "env.num_envs": 2,
    "algo.num_steps": 16,
    "algo.num_minibatches": 2,
    "algo.num_epochs": 1,
    "steps": 64,
    "eval.every": 32,
    "eval.episodes": 2,
    "solved_at": 1e9,
    "video.enabled": False,
}
TORCH, LATE = {"engine": "torch"}, {"eval.asynchronous": True}
MEMORY = {"net.memory.size": 4, "net.memory.sequence": 4}
CASES = {
    "numpy": ("CartPole-v1:ppo", {"engine": "numpy"}, FastPolicy, "actor.0.bias"),
    "numpy asynchronous": ("CartPole-v1:ppo", {"engine": "numpy"} | LATE, FastPolicy, "actor.0.bias"),
    "torch": ("CartPole-v1:ppo", TORCH, Policy, "actor.0.bias"),
    "asynchronous": ("CartPole-v1:ppo", TORCH | LATE, Policy, "actor.0.bias"),
    "values": ("CartPole-v1:ppo", TORCH, Policy, "value_head.weight"),
    "box": ("Pendulum-v1:ppo", TORCH | LATE, Policy, "_head.linear.weight"),
    "normaliser": (
        "CartPole-v1:ppo",
        TORCH | {"net.normalize_obs": "running"},
        Policy,
        "encoder.entries.0_obs.norm.mean",
    ),
    "memory": ("CartPole-v1:positions", MEMORY, Policy, "actor_memory.weight_hh"),
    "memory asynchronous": ("CartPole-v1:positions", MEMORY | LATE, Policy, "actor_memory.weight_hh"),
    "memory of values": ("CartPole-v1:positions", MEMORY, Policy, "critic_memory.weight_ih"),
}


@pytest.fixture
def forget(monkeypatch):
    """From now on, files hold other numbers than the policy for one array."""

    def forget(kind, name):
        written = kind.arrays

        def arrays(policy):
            named = written(policy)
            assert name in named
            return named | {name: named[name] + 0.5}

        monkeypatch.setattr(kind, "arrays", arrays)

    return forget


@pytest.mark.parametrize("case", CASES)
def test_a_policy_that_is_saved_wrongly_is_refused(case, forget, tmp_path):
    env, settings, kind, name = CASES[case]
    forget(kind, name)
    with pytest.raises(CheckpointError, match="does not act like the live one"):
        gymsolve.train(env, BRIEF | settings, runs_dir=tmp_path)
    run = gymsolve.open_run("@last", runs_dir=tmp_path)
    assert run.status == "crashed"
    assert not (run.path / "checkpoints" / "best").exists()
    assert not [event for event in run.read_events().rows if event["kind"] == "best"]


@pytest.mark.parametrize("late", [False, True])
def test_weights_of_another_run_are_compared_before_they_are_judged(late, forget, tmp_path):
    settings = BRIEF | TORCH | {"eval.asynchronous": late}
    origin = gymsolve.train("CartPole-v1:ppo", settings, runs_dir=tmp_path).run
    forget(Policy, "actor.0.bias")
    with pytest.raises(CheckpointError, match="does not act like the live one"):
        gymsolve.train("CartPole-v1:ppo", settings, start_from=str(origin.path), runs_dir=tmp_path)
    assert not (gymsolve.open_run("@last", runs_dir=tmp_path).path / "checkpoints" / "best").exists()


@pytest.mark.parametrize("case", ["numpy", "memory asynchronous"])
def test_a_policy_that_is_saved_well_becomes_best(case, tmp_path):
    env, settings, *_ = CASES[case]
    run = gymsolve.train(env, BRIEF | settings, runs_dir=tmp_path).run
    assert (run.path / "checkpoints" / "best").exists()
