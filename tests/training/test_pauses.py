"""A trial that pauses at an evaluation and goes on later is the run that never paused, bit for bit."""

from hashlib import sha256

import pytest

from gymsolve.recipes import resolve
from gymsolve.runs import find_run
from gymsolve.training.planning.plan import Plan
from gymsolve.training.session import TrialSitting, resume_run, start_run

SETTINGS = {
    "steps": 2048,
    "env.num_envs": 4,
    "algo.num_steps": 16,
    "eval.episodes": 2,
    "eval.every": 300,
    "eval.stop_when_solved": False,
    "video.enabled": False,
    "solved_at": 1e9,
}
PUT_OFF = {"eval.every": 0, "eval.share": 0.3, "eval.episodes": 20}
"""Evaluations that have to be earned, so that steps decide when they come."""


def content(run):
    """The weights of every cadenced checkpoint, and all numbers but times."""
    weights = {
        path.parent.name: sha256(path.read_bytes()).hexdigest()
        for path in run.path.glob("checkpoints/[0-9]*/policy.safetensors")
    }
    rows = [
        {
            name: value
            for name, value in row.items()
            if not name.startswith("time/") and name != "eval/seconds"
        }
        for row in run.read_metrics_raw().rows
    ]
    return weights, rows


@pytest.mark.parametrize("changes", [{}, PUT_OFF], ids=["by cadence", "put off"])
def test_a_run_in_three_sittings_equals_one_in_a_single_sitting(tmp_path, changes):
    plan = Plan(resolve("Bandit-v0", SETTINGS | changes))
    whole = start_run(plan, runs_dir=tmp_path / "whole").run
    paused = start_run(plan, runs_dir=tmp_path / "paused", trial=TrialSitting(500, "sweep-1")).run
    first = paused.summary()
    assert (first.status, first.reason) == ("finished", "steps")
    assert 500 <= first.env_steps < 2048
    judged = [row["env_steps"] for row in paused.read_metrics().rows if "eval/mean_reward" in row]
    assert judged[-1] == first.env_steps  # it ends with an evaluation
    ref = str(paused.path)
    again = resume_run(ref, trial=TrialSitting(1200, "sweep-1")).run
    assert first.env_steps < again.summary().env_steps < 2048
    resume_run(ref, trial=TrialSitting(None, "sweep-1"))

    weights, rows = content(paused)
    expected_weights, expected_rows = content(whole)
    assert rows == expected_rows
    shared = weights.keys() & expected_weights.keys()
    assert max(map(int, shared)) == 2048
    assert {name: weights[name] for name in shared} == {name: expected_weights[name] for name in shared}


def test_a_trial_is_listed_apart_until_its_user_goes_on_with_it(tmp_path):
    settings = SETTINGS | {"steps": 600}
    last = start_run(Plan(resolve("Bandit-v0", settings)), runs_dir=tmp_path).run
    trial = start_run(
        Plan(resolve("Bandit-v0", settings)), runs_dir=tmp_path, trial=TrialSitting(200, "s")
    ).run
    assert find_run("@last", tmp_path).id == last.id
    assert trial.summary().is_trial
    resume_run(str(trial.path), trial=TrialSitting(400, "s"))
    assert trial.summary().is_trial
    assert find_run("@last", tmp_path).id == last.id
    resume_run(str(trial.path), overrides={"steps": 900})
    assert not trial.summary().is_trial
    assert find_run("@last", tmp_path).id == trial.id
