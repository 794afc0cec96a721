"""A number that is not finite is an alert with its place, and ends a run that can be gone on with."""

import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import gymsolve
import late_resets
from engines import either_engine
from gymsolve.cli import main
from gymsolve.doctor.diagnose_run import diagnose_path
from gymsolve.errors import BadNumber, DivergenceError, EnvFaultError, GymsolveError
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.runs.loading import load_checkpoint
from gymsolve.seeding import integer_seeds
from gymsolve.training.observer import Silent

ENV = "training_envs:Poisoned-v0:ppo"
SMALL = {
    "env.num_envs": 4,
    "env.backend": "sync",
    "algo.num_steps": 32,
    "algo.num_epochs": 2,
    "steps": 2000,
    "checkpoint.every": 600,
    "eval.every": 600,
    "eval.episodes": 8,
    "eval.num_envs": 4,
    "solved_at": 1e9,
    "video.enabled": False,
}
RELU = {"net.normalize_obs": "none", "net.activation": "relu", "net.hidden": [16]}
VICTIM = integer_seeds(0, "env", 4)[2]
JUDGED_VICTIM = integer_seeds(0, "eval", 4, 0)[3]


class Watch(Silent):
    """Keeps the alerts it is told."""

    def __init__(self):
        self.alerts = []

    def event(self, kind, data):
        if kind == "alert":
            self.alerts.append(data)


def poison(how, victim=VICTIM, at=70, box=False, **more):
    return SMALL | {"env.kwargs": {"victim": victim, "how": how, "at": at, "box": box}} | more


def fail(settings, name=ENV, kind=GymsolveError):
    """Train until it fails: the error, the run and what was told meanwhile."""
    watch = Watch()
    with pytest.raises(kind) as caught:
        gymsolve.train(name, settings, observer=watch)
    return caught.value, gymsolve.open_run("@last"), watch


def assert_told_everywhere(error, run, watch):
    """The same alert live, in the events, in a diagnosis and in the report."""
    bad = error.bad
    assert bad is not None
    (told,) = [alert for alert in watch.alerts if alert["id"] == "nonfinite"]
    assert BadNumber.from_json(told["bad"]) == bad
    events = run.read_events().rows
    assert [event["kind"] for event in events][-2:] == ["alert", "error"]
    assert events[-2]["bad"] == events[-1]["bad"] == json.loads(json.dumps(bad.to_json()))
    found = diagnose_path(str(run.path)).to_json()["roots"][0]
    assert found["id"] == "nonfinite"
    assert found["onset"] == told["onset"] == bad.env_steps
    assert found["evidence"]["note"] == told["remark"]
    assert (
        BadNumber(**{**found["evidence"]["bad"], "element": tuple(found["evidence"]["bad"]["element"])})
        == bad
    )
    assert told["remark"] in (run.path / "report.md").read_text()
    assert run.status == "crashed"
    assert run.info()["reason"].startswith(type(error).__name__)


def assert_sound(run, step):
    """The last checkpoint is the one of that step, and all numbers in all of them are finite."""
    assert load_checkpoint(run, "last").name == str(step)
    for name in list_checkpoints(run):
        saved = load_checkpoint(run, name)
        for arrays in (saved.policy, saved.trainer):
            assert all(np.isfinite(array).all() for array in arrays.values())


CASES = {
    "obs": (poison("obs"), BadNumber("observation", "nan", 2, "obs", (1,))),
    "infinite obs": (poison("inf"), BadNumber("observation", "inf", 2, "obs", (1,))),
    "last obs": (poison("last obs"), BadNumber("observation", "nan", 2, "obs", (2,))),
    "reward": (poison("reward"), BadNumber("reward", "-inf", 2)),
    "too large a reward": (poison("too large"), BadNumber("reward", "1e+300", 2)),
    "clipped reward": (
        poison("reward") | {"env.wrappers": [{"clip_reward": {"sign": True}}]},
        BadNumber("reward", "-inf", 2),
    ),
}


# Processes take a second each to start: one case of each kind of number is found in them.
APART = ("obs", "last obs", "reward")
MEANS = [
    *((case, "sync", "numpy") for case in CASES),
    *((case, "async" if case in APART else "sync", "torch") for case in CASES),
]


@pytest.mark.parametrize(("case", "backend", "engine"), MEANS)
def test_what_an_environment_returns_is_named_with_copy_dimension_and_step(case, backend, engine):
    settings, expected = CASES[case]
    settings = settings | {"env.backend": backend, "env.workers": 2, "engine": engine}
    error, run, watch = fail(settings, kind=EnvFaultError)
    assert error.bad == BadNumber(**{**vars(expected), "vec_steps": 70, "env_steps": 280})
    assert_told_everywhere(error, run, watch)
    assert_sound(run, 256)  # two whole rollouts of 4 x 32 steps
    assert watch.alerts[-1]["changes"] == []
    assert f"Checkpoint 256 is from before; go on with: gymsolve resume {run.id}" in str(error)


@either_engine
def test_a_policy_that_acts_badly_is_blamed_and_not_the_environment(engine):
    """Infinities of both signs meet in the network: it sees 3e38 and has weights of all signs."""
    settings = poison("huge", box=True) | RELU | {"net.hidden": [256, 256], "engine": engine}
    error, run, watch = fail(settings, kind=DivergenceError)
    assert error.bad is not None
    assert (error.bad.env, error.bad.vec_steps, error.bad.env_steps) == (2, 71, 284)
    assert error.bad.what in ("action", "log_prob", "value")
    assert_told_everywhere(error, run, watch)
    assert_sound(run, 256)
    assert watch.alerts[-1]["changes"][0]["path"] == "net.normalize_obs"


@either_engine
def test_rewards_too_large_to_be_summed_are_named(engine):
    error, run, watch = fail(poison("sum") | {"engine": engine}, kind=DivergenceError)
    assert error.bad is not None
    assert (error.bad.what, error.bad.env) == ("advantage", 2)
    assert 280 <= error.bad.env_steps <= 384
    assert_told_everywhere(error, run, watch)
    assert_sound(run, 256)
    assert watch.alerts[-1]["changes"][0]["path"] == "algo.normalize_rewards"


@either_engine
@pytest.mark.parametrize("algo", ["ppo", "a2c", "reinforce"])
def test_an_update_that_runs_away_is_undone_and_saved_as_it_was(engine, algo):
    """With checkpoints far apart: the only one is made when it happens, of the state before it."""
    settings = {"algo.learning_rate": 1e38, "algo.max_grad_norm": 0, "engine": engine, "steps": 20_000}
    settings |= {"net.normalize_obs": "running"}
    error, run, watch = fail(settings, name=f"CartPole-v1:{algo}", kind=DivergenceError)
    assert error.bad is not None
    assert error.bad.what in ("loss", "gradient", "weight", "value", "advantage")
    assert_told_everywhere(error, run, watch)
    steps = run.info()["env_steps"]
    assert steps < error.bad.env_steps
    assert_sound(run, steps)
    assert watch.alerts[-1]["changes"][0]["path"] == "algo.learning_rate"


@either_engine
def test_what_is_undone_is_exactly_the_state_before(engine):
    """The first update fails, so what is saved are the very first weights."""
    _, run, _ = fail(
        {
            "algo.learning_rate": 1e38,
            "algo.max_grad_norm": 0,
            "engine": engine,
            "net.normalize_obs": "running",
        },
        name="CartPole-v1:ppo",
    )
    fresh = gymsolve.train(
        "CartPole-v1:ppo", {"steps": 1, "algo.learning_rate": 0.0, "engine": engine, "video.enabled": False}
    ).run
    saved, start = load_checkpoint(run, "last"), load_checkpoint(fresh, "last")
    assert saved.name == "0"
    for name, array in start.policy.items():
        np.testing.assert_array_equal(saved.policy[name], array, err_msg=name)
    assert saved.policy["encoder.entries.0_obs.norm.count"] == 0
    assert not [name for name in saved.trainer if name.startswith("optimizer/") and name.endswith("/step")]


@pytest.mark.parametrize("where", ["sync", "async", "process"])
def test_a_bad_number_in_an_evaluation_ends_the_run_too(where):
    settings = poison("obs", victim=JUDGED_VICTIM, at=30)
    settings |= (
        {"eval.asynchronous": True} if where == "process" else {"env.backend": where, "env.workers": 2}
    )
    error, run, watch = fail(settings, kind=EnvFaultError)
    judged = 640  # the first update at or after 600 steps
    assert error.bad == BadNumber("observation", "nan", 3, "obs", (1,), None, "eval", judged, 30)
    assert f"vector step 30 of an evaluation after environment step {judged}" in str(error)
    assert_told_everywhere(error, run, watch)
    if where != "process":
        assert_sound(run, judged)
        # Between two iterations the environments' state is worth keeping: nothing has to start anew.
        assert load_checkpoint(run, "last").trainer_state["parts"]["collector"]["envs"] is not None


def test_eval_says_where_a_bad_number_was(capsys):
    outcome = gymsolve.train(ENV, poison("obs", victim=integer_seeds(9, "held_out", 4, 0)[1], at=3))
    assert main(["eval", str(outcome.run.path), "--episodes", "4", "--seed", "9", "--json"]) == 1
    told = json.loads(capsys.readouterr().out)["error"]
    assert told["bad"] | {"env_steps": None} == told["bad"]
    assert (told["bad"]["env"], told["bad"]["element"], told["bad"]["vec_steps"]) == (1, [1], 3)
    assert "environment 1" in told["message"]


@either_engine
def test_a_vector_class_that_is_not_checked_step_by_step_is_found_out_afterwards(engine):
    """CartPole's own class cannot give a NaN; something that writes into its state can."""

    class Break(Silent):
        def __init__(self):
            self.steps = 0

        def started(self, run, trainer):
            self.vec = trainer.envs._vec

        def rollout_step(self, step, total):
            self.steps += 1
            if self.steps == 40:
                self.vec.state[2, 1] = np.nan

    settings = {"env.num_envs": 4, "algo.num_steps": 32, "engine": engine, "env.id": late_resets.ID}
    with pytest.raises(EnvFaultError) as caught:
        gymsolve.train("CartPole-v1:ppo", settings, observer=Break())
    bad = caught.value.bad
    assert bad is not None
    # The pole's angle moves everything but the cart's position; its speed is the first of them.
    assert (bad.what, bad.env, bad.element, bad.vec_steps) == ("observation", 1, (1,), 41)
    run = gymsolve.open_run("@last")
    assert_sound(run, run.info()["env_steps"])


def test_resume_says_what_it_does_and_the_run_can_be_finished():
    _, run, _ = fail(poison("obs"))
    outcome = gymsolve.resume(run)  # new episodes on new seeds: the victim is gone
    assert outcome.status == "finished"
    notes = [event["text"] for event in run.read_events().rows if event["kind"] == "note"]
    (note,) = [text for text in notes if text.startswith("this run ended at")]
    assert "nan in the observation entry 'obs' (element 1) of environment 2 at vector step 70" in note
    assert "it goes on from checkpoint 256, which is from before" in note
    assert "nonfinite" not in {alert.id for alert in outcome.alerts}
    assert not [row for row in diagnose_path(str(run.path)).to_json()["roots"] if row["id"] == "nonfinite"]


def test_steps_are_those_of_the_whole_run_after_a_resume():
    run = gymsolve.train(ENV, poison("obs", victim=10**9) | {"steps": 640}).run
    victim = integer_seeds(0, "env", 4, 640)[1]
    config = json.loads((run.path / "config.json").read_text())
    config["config"]["env"]["kwargs"] |= {"victim": victim, "at": 5}
    (run.path / "config.json").write_text(json.dumps(config))
    with pytest.raises(EnvFaultError) as caught:
        gymsolve.resume(run, steps=2000, trust=True)  # its settings were edited
    bad = caught.value.bad
    assert bad is not None
    assert (bad.env, bad.env_steps) == (1, 4 * bad.vec_steps)
    assert 160 < bad.vec_steps <= 165


def test_an_environment_that_raises_is_no_bad_number(monkeypatch):
    class BreakLater(Silent):
        def started(self, run, trainer):
            monkeypatch.setenv("BREAK_AT", "100")

    with pytest.raises(EnvFaultError) as caught:
        gymsolve.train(
            "training_envs:Breaks-v0:ppo", SMALL | {"env.kwargs": {"how": "raise"}}, observer=BreakLater()
        )
    assert caught.value.bad is None
    assert repr(caught.value.__cause__) == "RuntimeError('the emulator died')"  # its traceback says where
    told = diagnose_path(str(gymsolve.open_run("@last").path)).to_json()
    assert "nonfinite" not in {one["id"] for one in told["roots"]}


def test_a_run_says_how_it_ended_even_where_no_checkpoint_can_be_written():
    class Obstruct(Silent):
        def started(self, run, trainer):
            (run.path / "checkpoints").rmdir()
            (run.path / "checkpoints").write_text("in the way")

    settings = poison("obs") | {"checkpoint.every": 2000, "eval.every": 2000}
    with pytest.raises(EnvFaultError) as caught:
        gymsolve.train(ENV, settings, observer=Obstruct())
    assert any("could not be written" in note for note in caught.value.__notes__)
    run = gymsolve.open_run("@last")
    assert run.status == "crashed"
    assert [event["kind"] for event in run.read_events().rows][-2:] == ["alert", "error"]


def test_on_the_command_line_it_is_one_sentence_and_exit_code_1(tmp_path, monkeypatch, capsys):
    kwargs = f"env.kwargs={{victim: {VICTIM}, how: obs}}"
    sets = [f"{name}={value}" for name, value in SMALL.items()]
    words = [word for text in (kwargs, *sets) for word in ("--set", text)]
    command = [sys.executable, "-m", "gymsolve", "train", ENV, *words, "--runs-dir", str(tmp_path)]
    path = str(Path(__file__).parent)
    done = subprocess.run(
        [*command, "--track", "csv,tensorboard"],
        cwd=path,
        capture_output=True,
        text=True,
        check=False,
        timeout=280,
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: environment 2 of training_envs:Poisoned-v0 returned nan")
    (alert,) = [line for line in done.stdout.splitlines() if line.startswith("error nonfinite")]
    assert "(element 1) of environment 2 at vector step 70, environment step 280" in alert
    run = gymsolve.open_run("@last", runs_dir=tmp_path)
    assert (run.path / "report.html").is_file()
    assert (run.path / "metrics.csv").is_file()
    (tracked,) = (run.path / "tensorboard").rglob("events.*")
    assert b"alert/nonfinite" in tracked.read_bytes()
    monkeypatch.chdir(path)
    capsys.readouterr()
    code = main([*command[3:], "--json", "-q"])
    told = json.loads(capsys.readouterr().out)["error"]
    assert told["bad"]["env"] == 2
    assert told["exit_code"] == code == 1
    assert math.isnan(float(told["bad"]["number"]))
