"""A fork has all of its parent's state: without a change it repeats it, with one only that differs."""

import os

import pytest

import gymsolve
from gymsolve.errors import UsageError
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.runs.loading import load_checkpoint
from gymsolve.training.fork import Fork, branch_run, fork_run
from gymsolve.training.observer import Silent

SETTINGS = {
    "steps": 4000,
    "checkpoint.every": 900,
    "eval.every": 1300,
    "eval.episodes": 4,
    "solved_at": 1e9,
    "video.enabled": False,
    "net.normalize_obs": "running",
    "algo.normalize_rewards": True,
}


@pytest.fixture(scope="module")
def parent(tmp_path_factory):
    return gymsolve.train("CartPole-v1:ppo", SETTINGS, runs_dir=tmp_path_factory.mktemp("runs")).run


def fork(parent, checkpoint, until, **overrides):
    settings = {path.replace("__", "."): value for path, value in overrides.items()}
    run, _ = fork_run(Fork(parent, checkpoint, settings, until, "a test"))
    return run


def records(run, after=0):
    """The metrics beyond a step, but for times and for the quality, which is of a run's own past."""
    timed = ("time/", "eval/seconds", "quality/")
    return [
        {name: value for name, value in row.items() if not name.startswith(timed)}
        for row in run.read_metrics().rows
        if row["env_steps"] > after
    ]


def test_without_a_change_it_repeats_its_parent_and_leaves_it_alone(parent):
    first = list_checkpoints(parent)[0]
    before = {path: path.read_bytes() for path in sorted(parent.path.rglob("*")) if path.is_file()}
    child = fork(parent, first, 4000)
    assert records(child) == records(parent, after=int(first))
    assert {path: path.read_bytes() for path in sorted(parent.path.rglob("*")) if path.is_file()} == before
    assert child.info()["parent"] == {"run": parent.id, "checkpoint": first, "kind": "trial"}
    assert child.is_warm_start


def test_it_ends_early_while_schedules_go_on_and_a_resume_trains_the_rest(parent):
    first = list_checkpoints(parent)[0]
    child = fork(parent, first, int(first) + 600)
    assert child.status == "finished"
    assert child.info()["env_steps"] < int(first) + 600 + 300
    gymsolve.resume(child)
    trained = [row for row in records(child) if "train/loss" in row]
    assert trained == [row for row in records(parent, after=int(first)) if "train/loss" in row]


def test_another_seed_has_the_same_weights_and_another_future(parent):
    first = list_checkpoints(parent)[0]
    one, same, other = (fork(parent, first, int(first) + 300, seed=seed) for seed in (5, 5, 6))
    assert records(one) == records(same)
    assert records(one) != records(other)
    for child in (one, other):
        begin, origin = load_checkpoint(child, first), load_checkpoint(parent, first)
        assert begin.meta["reason"] == "fork"
        assert all((begin.policy[name] == origin.policy[name]).all() for name in origin.policy)
        assert all((begin.trainer[name] == array).all() for name, array in origin.trainer.items())


def test_at_step_0_it_is_a_training_like_its_parents(parent):
    child = fork(parent, None, 4000)
    assert records(child) == records(parent)
    assert child.info()["parent"] == {"run": parent.id, "checkpoint": None, "kind": "trial"}
    assert not child.is_warm_start


def test_changed_settings_are_stored_with_their_source(parent):
    child = fork(parent, list_checkpoints(parent)[0], 1500, algo__gamma=0.9)
    stored = child.config_json()
    assert stored["config"]["algo"]["gamma"] == 0.9
    assert stored["provenance"]["algo.gamma"] == "a test"


def test_another_network_does_not_take_over_a_checkpoint(parent):
    runs = sorted(parent.path.parent.iterdir())
    with pytest.raises(UsageError, match=r"net\.hidden: a fork keeps its .* Fork at step 0 instead"):
        fork(parent, list_checkpoints(parent)[0], 4000, net__hidden=[8])
    assert sorted(parent.path.parent.iterdir()) == runs
    assert fork(parent, None, 300, net__hidden=[8]).status == "finished"


class BreakLater(Silent):
    """The environment works until training has begun."""

    def started(self, run, trainer):
        os.environ["BREAK_AT"] = "100"


def test_a_training_that_breaks_down_is_a_finding(monkeypatch):
    monkeypatch.setenv("BREAK_AT", "later")  # so that it is restored at the end
    monkeypatch.delenv("BREAK_AT")
    settings = {"env.num_envs": 2, "algo.num_steps": 32, "algo.num_minibatches": 1, "steps": 500}
    parent = gymsolve.train("training_envs:Breaks-v0:ppo", settings).run
    run, reason = fork_run(Fork(parent, None, {}, 500, "a test"), observer=BreakLater())
    assert reason is None
    assert run.status == "crashed"
    assert "the emulator died" in run.info()["reason"]


def test_a_fork_of_ones_own_is_a_run_like_any_other(parent):
    first = list_checkpoints(parent)[0]
    same = branch_run(f"{parent.path}@{first}")
    assert records(same.run) == records(parent, after=int(first))
    assert not same.run.summary().is_trial
    assert gymsolve.open_run("@last", runs_dir=parent.path.parent).id == same.run.id
    assert (same.run.path / "report.html").exists()
    other = branch_run(f"{parent.path}@{first}", overrides=["algo.learning_rate=1e-9"])
    assert other.run.config_json()["provenance"]["algo.learning_rate"] == "--set on fork"
    assert records(other.run) != records(parent, after=int(first))


@pytest.mark.parametrize("backend", ["compiled", "sync"])
def test_episodes_of_another_length_are_told_apart_from_those_before(parent, backend):
    """With a lower time limit, the mean length of the newest episodes would be called impossible."""
    child = fork(parent, list_checkpoints(parent)[0], 4000, env__max_episode_steps=9, env__backend=backend)
    lengths = [row["rollout/ep_len_mean"] for row in records(child) if "rollout/ep_len_mean" in row]
    assert lengths
    assert max(lengths) <= 9
    assert records(child)[0]["rollout/episodes"] > 0
    alarms = {event["id"] for event in child.read_events().rows if event["kind"] == "alert"}
    assert not alarms & {"out_of_bounds", "no_episode_end"}


def test_only_a_fork_at_step_zero_may_have_another_network(parent):
    with pytest.raises(UsageError, match="a fork keeps its environment, algorithm and network"):
        branch_run(str(parent.path), overrides=["net.hidden=[8]"])
    begun = branch_run(f"{parent.path}@0", overrides=["net.hidden=[8]", "steps=600"])
    assert begun.run.info()["parent"] == {"run": parent.id, "checkpoint": None, "kind": "fork"}
    assert begun.env_steps >= 600
