"""A run that is killed and resumed beside the same run without an interruption."""

import signal

import numpy as np
from killing import KillAt, in_child

import gymsolve
from gymsolve.runs.loading import load_checkpoint

__all__ = ["BUDGET", "SHORT", "SMALL", "assert_same", "check_that_a_kill_changes_nothing", "metrics"]

SMALL = {"env.num_envs": 4, "algo.num_steps": 64, "algo.num_minibatches": 2, "algo.num_epochs": 2}
SHORT = {"steps": 1500, "checkpoint.every": 300, "eval.every": 500}
BUDGET = {
    "steps": 4000,
    "checkpoint.every": 900,
    "eval.every": 1300,
    "eval.episodes": 4,
    "solved_at": 1e9,
    # Filming takes Taxi minutes on a busy machine, up to the limit of a test, and is not what is compared.
    "video.enabled": False,
}


def metrics(run):
    """The stream of metrics, times aside."""
    rows, problems = run.read_metrics()
    assert not problems
    timed = ("time/", "eval/seconds")
    return [{k: v for k, v in row.items() if not k.startswith(timed)} for row in rows]


def assert_same(one, other):
    assert len(one) == len(other)
    for left, right in zip(one, other, strict=True):
        assert left.keys() == right.keys()
        for name in left:
            np.testing.assert_equal(left[name], right[name], err_msg=f"{name} at {left['env_steps']}")


def assert_same_weights(one, other):
    mine, theirs = (load_checkpoint(run, "last") for run in (one, other))
    assert mine.meta["env_steps"] == theirs.meta["env_steps"]
    for kind in ("policy", "trainer"):
        left, right = getattr(mine, kind), getattr(theirs, kind)
        assert left.keys() == right.keys()
        for name in left:
            np.testing.assert_array_equal(left[name], right[name], err_msg=name)
    for file in ("policy.safetensors", "trainer.safetensors"):  # equal contents are equal files
        assert (mine.path / file).read_bytes() == (theirs.path / file).read_bytes()


def check_that_a_kill_changes_nothing(name, overrides, folder):
    """Train, and train again with a kill and a resume: the two runs are the same."""
    settings = {**BUDGET, **overrides}
    straight = gymsolve.train(name, settings, runs_dir=folder / "straight").run

    def die():
        gymsolve.train(name, settings, runs_dir=folder / "killed", observer=KillAt(records=8))

    assert in_child(die) == signal.SIGKILL
    killed = gymsolve.open_run("@last", runs_dir=folder / "killed")
    assert killed.status == "crashed"
    assert 0 < len(metrics(killed)) < len(metrics(straight))
    gymsolve.resume(killed)

    assert_same_weights(straight, killed)
    assert_same(metrics(straight), metrics(killed))
    notes = [e["text"] for e in killed.read_events().rows if e["kind"] == "note"]
    assert not [note for note in notes if "start anew" in note]
