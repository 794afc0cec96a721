"""Killed at any moment, a run can still be listed, read and resumed; faults are one clear sentence."""

import os
import random
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from killing import KillAt, in_child

import gymsolve
from gymsolve.doctor.diagnose_run import diagnose_path
from gymsolve.doctor.failure import FAILURES
from gymsolve.errors import DivergenceError, EnvFaultError, RunDamagedError
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.runs.index import list_runs
from gymsolve.runs.loading import load_checkpoint
from gymsolve.training.observer import Silent

TINY = {
    "steps": 3000,
    "checkpoint.every": 200,
    "eval.every": 300,
    "eval.episodes": 2,
    "checkpoint.keep": 2,
    "algo.num_epochs": 1,
    "solved_at": 1e9,
}


class _Timed(Silent):
    """From the start of training, so many seconds to live; nothing gets a chance to clean up."""

    def __init__(self, seconds):
        self.seconds = seconds

    def started(self, run, trainer):
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # the test runner's own alarm came along
        signal.setitimer(signal.ITIMER_REAL, self.seconds)


def test_killed_at_random_moments_a_run_stays_usable(tmp_path):
    """One run, killed and resumed over and over at seeded random times until it is done."""
    # Also loads what torch loads on first use, so that the children do not spend their time on it.
    straight = gymsolve.train("CartPole-v1", TINY, runs_dir=tmp_path / "straight").run
    moments = random.Random(7)
    ref = None
    for _ in range(25):
        moment = _Timed(moments.uniform(0.005, 0.2))
        if ref is None:
            ended = in_child(
                lambda m=moment: gymsolve.train("CartPole-v1", TINY, runs_dir=tmp_path, observer=m)
            )
        else:
            ended = in_child(lambda r=ref, m=moment: gymsolve.resume(r, runs_dir=tmp_path, observer=m))
        assert ended in (0, signal.SIGALRM)

        for summary in list_runs(tmp_path):
            run = gymsolve.open_run(summary.id, runs_dir=tmp_path)
            ref = run.id
            assert run.status in ("crashed", "finished")
            rows, _ = run.read_metrics()
            steps = [row["env_steps"] for row in rows]
            assert steps == sorted(steps)
    assert ref is not None
    outcome = gymsolve.resume(ref, runs_dir=tmp_path)
    assert outcome.status == "finished"
    assert outcome.env_steps >= 3000
    # However often it died, the result is the one of the run that never did.
    mine, theirs = load_checkpoint(outcome.run, "last").policy, load_checkpoint(straight, "last").policy
    assert all(np.array_equal(mine[name], theirs[name]) for name in theirs)


class _InterruptAt(Silent):
    def __init__(self, number):
        self.number, self.left = number, 4

    def record(self, record):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), self.number)


@pytest.mark.parametrize(("number", "reason"), [(signal.SIGINT, "interrupt"), (signal.SIGTERM, "terminated")])
def test_signals_leave_a_checkpoint_of_the_step_they_came_at(number, reason):
    outcome = gymsolve.train("CartPole-v1", TINY, observer=_InterruptAt(number))
    assert outcome.status == "stopped"
    assert outcome.reason == reason
    assert outcome.env_steps < 3000
    assert load_checkpoint(outcome.run, "last").meta["env_steps"] == outcome.env_steps
    assert gymsolve.resume(outcome.run).status == "finished"


def test_a_stop_file_ends_the_run_between_updates():
    class Stop(Silent):
        def started(self, run, trainer):
            run.request_stop()

    outcome = gymsolve.train("CartPole-v1", TINY, observer=Stop())
    assert (outcome.status, outcome.reason, outcome.env_steps) == ("stopped", "stop file", 0)
    assert gymsolve.resume(outcome.run).env_steps >= 3000


class _BreakLater(Silent):
    """The look at the environment before training must find nothing wrong."""

    def started(self, run, trainer):
        os.environ["BREAK_AT"] = "300"


@pytest.mark.parametrize("how", ["raise", "nan"])
def test_a_faulty_environment_ends_the_run_with_a_sentence_and_a_checkpoint(how, monkeypatch):
    monkeypatch.delenv("BREAK_AT", raising=False)
    settings = TINY | {"env.kwargs": {"how": how}, "env.num_envs": 2, "algo.num_steps": 32}
    with pytest.raises(EnvFaultError) as caught:
        gymsolve.train("training_envs:Breaks-v0:ppo", settings, observer=_BreakLater())
    monkeypatch.delenv("BREAK_AT")
    assert ("emulator died" if how == "raise" else "NaN") in str(caught.value)
    run = gymsolve.open_run("@last")
    assert run.status == "crashed"
    assert "EnvFaultError" in run.info()["reason"]
    saved = load_checkpoint(run, "last")
    assert all(np.isfinite(array).all() for array in saved.policy.values())
    assert [event["kind"] for event in run.read_events().rows][-1] == "error"
    assert "It crashed: environment" in (run.path / "report.md").read_text()
    if how == "raise":
        _require_trace(run)
    # What is left can be used, and trained on with an environment that works.
    policy = gymsolve.load_policy(run)
    assert policy.act(np.zeros(3, np.float32)) in (0, 1, 2)
    resumed = gymsolve.resume(run)
    assert resumed.status == "finished"


def _require_trace(run):
    """The line of the user's own code that raised the error, in the event and in the diagnosis."""
    (error,) = [event for event in run.read_events().rows if event["kind"] == "error"]
    at = error["at"]
    assert (Path(at["file"]).name, at["function"]) == ("training_envs.py", "step")
    assert "the emulator died" in Path(at["file"]).read_text().splitlines()[at["line"] - 1]
    first = diagnose_path(str(run.path)).roots[0]
    assert first.id == "env_crashed"
    assert f"{Path(at['file']).name}, line {at['line']}" in first.evidence.note


def test_diverging_weights_are_never_saved_as_the_last_checkpoint():
    settings = TINY | {
        "algo.learning_rate": 1e38,
        "algo.max_grad_norm": 0,
        "eval.every": 100,
        "checkpoint.every": 100,
    }
    with pytest.raises(DivergenceError, match="became"):
        gymsolve.train("CartPole-v1", settings)
    run = gymsolve.open_run("@last")
    assert run.status == "crashed"
    for name in list_checkpoints(run):
        assert all(np.isfinite(a).all() for a in load_checkpoint(run, name).policy.values())


def test_a_full_disk_is_one_sentence_and_loses_nothing(tmp_path):
    """The child may not write files beyond a size that the first checkpoints fit in."""
    first = gymsolve.train("CartPole-v1", TINY | {"steps": 600}, runs_dir=tmp_path).run
    before = load_checkpoint(first, "last").policy
    code = (
        "import resource, signal, sys, gymsolve\n"
        "from gymsolve.errors import RunDamagedError\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "try:\n"
        f"    gymsolve.resume({first.id!r}, steps=3000, runs_dir={str(tmp_path)!r})\n"
        "except RunDamagedError as error:\n"
        "    print(error)\n"
        "    sys.exit(error.exit_code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == RunDamagedError.exit_code, done.stderr
    assert done.stdout.count("\n") == 1
    after = load_checkpoint(first, "last")
    assert all(np.array_equal(before[name], after.policy[name]) for name in before)
    assert gymsolve.resume(first, steps=1200, runs_dir=tmp_path).status == "finished"
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


def test_killed_between_two_records_leaves_no_torn_line(tmp_path):
    def die():
        gymsolve.train("CartPole-v1", TINY, runs_dir=tmp_path, observer=KillAt(steps=100))

    assert in_child(die) == signal.SIGKILL
    run = gymsolve.open_run("@last", runs_dir=tmp_path)
    with (run.path / "metrics.jsonl").open("a") as file:
        file.write('{"env_steps": 12')
    rows, problems = run.read_metrics()
    assert len(problems) == 1
    gymsolve.resume(run)
    assert run.read_metrics().problems == []
    assert len(run.read_metrics().rows) > len(rows)


def test_a_request_to_stop_does_not_wait_for_an_evaluation():
    class Impatient(Silent):
        calls = 0

        def eval_step(self, done, total):
            Impatient.calls += 1
            if Impatient.calls == 3:
                os.kill(os.getpid(), signal.SIGINT)

    outcome = gymsolve.train("CartPole-v1", TINY | {"eval.episodes": 5000}, observer=Impatient())
    assert outcome.reason == "interrupt"
    assert Impatient.calls <= 4
    assert not [row for row in outcome.run.read_metrics().rows if "eval/mean_reward" in row]
    resumed = gymsolve.resume(outcome.run, {"eval.every": 100_000})
    assert resumed.status == "finished"


def test_a_solved_run_that_is_stopped_says_so():
    class Stop(Silent):
        def event(self, kind, data):
            if kind == "solved":
                os.kill(os.getpid(), signal.SIGTERM)

    outcome = gymsolve.train("Bandit-v0:ppo", {"eval.stop_when_solved": False}, observer=Stop())
    assert (outcome.status, outcome.solved, outcome.reason) == ("solved", True, "terminated")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("EnvFaultError: environment 0 of x:Y-v0 has not returned from step for 300 seconds.", "hang"),
        ("time: max_seconds is over, and nothing has moved for 130 s in step 3 of a rollout", "hang"),
        ("EnvLostError: workers of X-v0 were lost again and again; the last one was killed.", "worker_lost"),
        ("EnvLostError: the process of X-v0 was killed (SIGSEGV); see its output above.", "worker_lost"),
        ("EnvLostError: the process of X-v0 ended by itself (exit code 3).", "worker_lost"),
        ("EnvFaultError: environment 0 of X-v0 raised ValueError: broken leg in step 3.", "env_crashed"),
        ("MemoryError: no room for it", "out_of_memory"),
    ],
)
def test_what_ended_a_run_is_recognised_by_its_words(text, kind):
    assert next(one for one in FAILURES if one.words.search(text)).id == kind
