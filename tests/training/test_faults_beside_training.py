"""Processes that die or hang beside a training: it goes on, and no verdict comes of it that is not true."""

import json
import os
import signal
import subprocess
import sys
import threading
import weakref
from pathlib import Path

import numpy as np
import pytest

import gymsolve
from gymsolve.apps.inspector.recorder import EpisodeRecorder, Question
from gymsolve.apps.inspector.takeover import Hand
from gymsolve.apps.loaded_policy import evaluate_run
from gymsolve.apps.play.person import serve as play_session
from gymsolve.apps.serve import GoneError, noting
from gymsolve.apps.video.record import RecordRequest, record_run
from gymsolve.cli import main
from gymsolve.cli.printing.verdict import verdict_lines
from gymsolve.doctor.diagnose_run import diagnose_path
from gymsolve.envs.processes import WATCH
from gymsolve.errors import EnvFaultError
from gymsolve.runs.checkpoints import list_checkpoints, pointed
from gymsolve.service.environments import check_env
from gymsolve.settings.config import EnvConfig
from gymsolve.training.fork import Fork, fork_run
from gymsolve.training.observer import Silent
from gymsolve.training.planning.plan import plan_run
from gymsolve.training.watchdog import Watchdog

FALLS = "training_envs:Falls-v0:ppo"
SMALL = {
    "steps": 128,
    "env.num_envs": 2,
    "env.backend": "async",
    "env.workers": 2,
    "algo.num_steps": 32,
    "eval.every": 128,
    "eval.episodes": 4,
    "eval.num_envs": 2,
}


SPENT = ("eval/seconds", "eval/env_steps", "eval/faults")
"""What a death costs an evaluation."""


@pytest.fixture(autouse=True)
def _forks(monkeypatch):
    """Workers start in milliseconds: nothing here runs on another thread."""
    monkeypatch.setattr("gymsolve.envs.processes.can_fork", lambda: True)


def deaths(**options):
    return {"env.wrappers": [{"training_envs:Dies": {**options, "roles": ["eval"]}}]}


def kinds(run):
    return [event["kind"] for event in run.read_events().rows]


@pytest.mark.parametrize("beside", [False, True])
def test_episodes_that_a_death_cut_prove_nothing(beside):
    """An episode costs 20, and whoever plays it dies after 5 steps; -11 would do."""
    aside = {"eval.asynchronous": beside, "solved_at": -11, "eval.every": 1000 if beside else 128}
    outcome = gymsolve.train(FALLS, SMALL | deaths() | aside)
    assert (outcome.status, outcome.solved, outcome.mean_reward) == ("finished", False, None)
    run = outcome.run
    assert pointed(run, "best") is None
    assert not any("eval/mean_reward" in row for row in run.read_metrics().rows)
    told = [event for event in run.read_events().rows if event["kind"] == "eval_failed"]
    assert told
    assert "gives no verdict" in told[0]["text"]
    assert f"gymsolve eval {run.path}@last" in told[0]["text"]  # it may be in any folder
    assert kinds(run).count("env_fault") >= 3
    assert [alert.id for alert in outcome.alerts if alert.id.endswith("_lost")] == ["eval_lost"]
    assert "no evaluation gave a verdict" in "\n".join(verdict_lines(outcome, None))
    if not beside:  # the same policy, judged by hand
        result, _ = evaluate_run(run.id + "@last", episodes=4)
        assert result.lost
        assert not result.complete
        assert not result.episodes


@pytest.mark.parametrize("beside", [False, True])
def test_an_evaluation_that_a_death_interrupted_gives_what_it_would_have_given(beside, tmp_path):
    """Episodes last 1 or 50 steps, which the seeds decide; worker or evaluator die once."""
    aside = {"eval.asynchronous": beside, "solved_at": 1e9}
    flag = tmp_path / "flag"
    verdicts = []
    for armed in (False, True):
        if armed:
            flag.touch()
        outcome = gymsolve.train(
            "training_envs:Lengths-v0:ppo", SMALL | deaths(at=30, once=str(flag)) | aside
        )
        assert kinds(outcome.run).count("env_fault") == armed
        (row,) = [row for row in outcome.run.read_metrics().rows if "eval/mean_reward" in row]
        verdicts.append({key: row[key] for key in row if key not in SPENT})
        assert row.get("eval/faults", 0) == armed
    assert not flag.exists()
    assert verdicts[0] == verdicts[1]


class _KillWorkers(Silent):
    """Kills a worker of the training environments in every other rollout, each time in another step."""

    def __init__(self):
        self.rollouts, self.killed, self.trainer = 0, 0, None

    def started(self, run, trainer):
        self.trainer = trainer

    def rollout_step(self, step, total):
        self.rollouts += step == 1
        if self.rollouts % 2 == 0 and step == 5 * (self.killed + 1):
            self.kill()

    def kill(self):
        workers = self.trainer.envs._vec.processes
        os.kill(workers[self.killed % len(workers)].pid, signal.SIGKILL)
        self.killed += 1


def last_of(run, metric):
    return next(row[metric] for row in reversed(run.read_metrics().rows) if metric in row)


def test_training_goes_on_without_the_episodes_of_dead_workers():
    killer = _KillWorkers()
    settings = SMALL | {"steps": 400, "env.num_envs": 4, "eval.every": 400, "solved_at": 1e9}
    outcome = gymsolve.train(FALLS, settings, observer=killer)
    assert outcome.status == "finished"
    assert killer.killed >= 1
    assert kinds(outcome.run).count("env_fault") == killer.killed
    for row in outcome.run.read_metrics().rows:  # a cut episode would have cost less
        assert row.get("rollout/ep_rew_max", -20.0) == -20.0
        assert row.get("rollout/ep_len_mean", 20.0) == 20.0
    cut, whole = last_of(outcome.run, "rollout/cut_episodes"), last_of(outcome.run, "rollout/episodes")
    assert whole < 100, "all of them are in the window"
    assert last_of(outcome.run, "rollout/cut_share") == cut / (cut + whole) > 0.05
    line = next(line for line in verdict_lines(outcome, None) if line.startswith("training's own mean"))
    assert line.endswith(f"(of those left: faults cut {cut / (cut + whole):.0%})")


class _KillAtSave(_KillWorkers):
    """Kills a worker after every record, right before the checkpoint that captures the environments."""

    def rollout_step(self, step, total):
        pass

    def record(self, record):
        if self.killed < 3 and "eval/mean_reward" not in record:
            self.kill()


def test_a_worker_that_dies_before_a_checkpoint_does_not_end_the_run():
    killer = _KillAtSave()
    settings = SMALL | {"steps": 400, "checkpoint.every": 1, "solved_at": 1e9}
    outcome = gymsolve.train(FALLS, settings, observer=killer)
    assert killer.killed == 3
    assert outcome.status == "finished"
    assert kinds(outcome.run).count("env_fault") == 3
    resumed = gymsolve.resume(f"{outcome.run.id}@{list_checkpoints(outcome.run)[0]}")
    assert resumed.status == "finished"


def test_workers_that_always_die_end_the_run_with_a_sentence_and_a_usable_run():
    settings = SMALL | {"steps": 100_000, "env.wrappers": [{"training_envs:Dies": {"roles": ["train"]}}]}
    with pytest.raises(EnvFaultError, match="lost again and again within"):
        gymsolve.train(FALLS, settings)
    run = gymsolve.open_run("@last")
    assert run.status == "crashed"
    assert kinds(run)[-1] == "error"
    assert 5 <= kinds(run).count("env_fault") <= 20
    assert list_checkpoints(run)
    assert gymsolve.load_policy(run).act(np.zeros(1, np.float32)) in (0, 1)


def test_deaths_that_cut_every_episode_are_the_root_and_not_how_episodes_end():
    """Episodes last 20 steps, and the only worker dies after 14 of them."""
    dying = {"env.wrappers": [{"training_envs:Dies": {"at": 15, "roles": ["train"]}}], "env.workers": 1}
    outcome = gymsolve.train(FALLS, SMALL | dying | {"algo.num_steps": 8, "solved_at": 1e9})
    assert outcome.status == "finished"
    last = [row for row in outcome.run.read_metrics().rows if "rollout/episodes" in row][-1]
    deaths = kinds(outcome.run).count("env_fault")
    assert (last["rollout/faults"], last["rollout/cut_episodes"]) == (deaths, 2 * deaths)
    assert last["rollout/reset_synchrony"] == 0.0, "no episode ended by itself"
    assert last["rollout/cut_share"] == 1.0
    found = diagnose_path(str(outcome.run.path))
    assert [alert.id for alert in found.roots][:1] == ["worker_lost"]
    assert "no_episode_end" in found.not_fired


def test_an_environment_in_this_process_that_hangs_ends_the_run(monkeypatch):
    monkeypatch.delenv("HANG", raising=False)

    class HangLater(Silent):
        def record(self, record):
            monkeypatch.setenv("HANG", "1")

    settings = SMALL | {"env.backend": "sync", "env.kwargs": {"hang_at": 40}, "env.step_timeout": 1.0}
    with pytest.raises(
        EnvFaultError, match=r"has not returned from step for .*training_envs\.py, line \d+"
    ) as caught:
        gymsolve.train(FALLS, settings | {"steps": 4000, "eval.every": 4000}, observer=HangLater())
    assert "env.step_timeout" in str(caught.value)
    run = gymsolve.open_run("@last")
    assert run.status == "crashed"
    monkeypatch.delenv("HANG")
    assert gymsolve.resume(run).status == "finished"


def test_whoever_looks_for_hanging_environments_keeps_nothing_alive(monkeypatch):
    """Emulators that outlive a training report that as a leak when the program ends."""
    monkeypatch.setattr("gymsolve.training.watchdog._TICK_SECONDS", 0.001)
    seen = threading.Event()
    looks = Watchdog._innermost
    monkeypatch.setattr(Watchdog, "_innermost", lambda self: (looks(self), seen.set())[0])

    class Emulator:
        pass

    def train():
        emulator = Emulator()
        with Watchdog(EnvConfig(id="CartPole-v1")):
            assert seen.wait(60)
        return weakref.ref(emulator)

    left = train()
    assert left() is None
    assert not [one for one in threading.enumerate() if one.name.startswith(WATCH)]


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_answers_stay_json_and_paths_stay_put_whatever_an_environment_does(backend, tmp_path):
    sets = [
        word
        for key, value in (SMALL | {"env.backend": backend}).items()
        for word in ("--set", f"{key}={value}")
    ]
    told = subprocess.run(
        [sys.executable, "-m", "gymsolve", "train", "training_envs:Loud-v0:ppo", *sets, "--json"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent), "GYMSOLVE_RUNS": "here"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    answer = json.loads(told.stdout)
    assert Path(answer["path"]).parent == tmp_path / "here"
    assert "stepped" in told.stderr
    assert "raised RuntimeError: stays open" in told.stderr


def _film(run):
    return record_run(str(run.path), RecordRequest())


def test_an_evaluation_of_tasks_that_was_cut_counts_what_was_asked_of_all(capsys):
    tasks = {f"env.tasks.{name}.id": "training_envs:Falls-v0" for name in ("one", "two")}
    run = gymsolve.train(FALLS, SMALL | deaths() | tasks | {"video.enabled": False}).run
    assert main(["eval", f"{run.path}@last", "--episodes", "3"]) == 0
    assert "(of 6: " in capsys.readouterr().out


class _Page:
    """Asks for nothing and hears all; gone once it has seen a table."""

    def __init__(self):
        self.heard = []

    def receive(self, timeout=None):
        if self.heard[-1].get("table"):
            raise GoneError
        return

    def send(self, message, blob=b""):
        self.heard.append(message)


def _play(run):
    return play_session(_Page(), {"run": run.id, "runs_dir": str(run.path.parent)})


def _try(run):
    _, reason = fork_run(Fork(run, None, {}, 64, "a remedy"))
    assert reason is None  # a finding, which the run of the trial tells
    trial = max(run.path.parent.glob("2*"), key=lambda path: path.stat().st_mtime)
    raise EnvFaultError(str(gymsolve.open_run(trial).info()["reason"]))


def _check(run):
    return check_env(plan_run("training_envs:Stuck-v0:ppo", {"env.reset_timeout": 1, "env.build_timeout": 1}))


@pytest.mark.parametrize(
    ("method", "told", "verb"),
    [
        ("reset", "reset", evaluate_run),
        ("init", "its constructor", evaluate_run),
        ("reset", "reset", _film),
        ("render", "render", _film),
        ("reset", "reset", _check),
        ("reset", "reset", _play),
        ("step", "step", _play),
        ("step", "step", _try),
    ],
)
def test_whatever_looks_at_an_environment_that_hangs_ends_with_a_sentence(method, told, verb, monkeypatch):
    """Also in the first look at it, before an episode is played, and while it is drawn."""
    monkeypatch.delenv("HANG", raising=False)
    soon = {f"env.{what}_timeout": 1.0 for what in ("step", "reset", "build")}
    quiet = {"env.backend": "sync", "video.enabled": False, "steps": 64}
    run = gymsolve.train("training_envs:Stuck-v0:ppo", SMALL | soon | quiet).run
    monkeypatch.setattr("gymsolve.envs.describe._known", {})
    monkeypatch.setenv("HANG", method)
    with pytest.raises(EnvFaultError, match=rf"has not returned from {told} for .*training_envs\.py, line"):
        verb(run)


@pytest.mark.parametrize("page", ["play", "inspect"])
def test_a_page_tells_while_it_waits_for_a_picture_and_goes_on_without_it(page, monkeypatch):
    monkeypatch.delenv("HANG", raising=False)
    monkeypatch.setattr("gymsolve.training.watchdog._TICK_SECONDS", 0.05)
    quiet = {"env.step_timeout": 1.0, "env.backend": "sync", "video.enabled": False, "steps": 64}
    run = gymsolve.train("training_envs:Stuck-v0:ppo", SMALL | quiet).run
    monkeypatch.setenv("HANG", "render")
    tab = _Page()
    if page == "play":
        with pytest.raises(GoneError):
            play_session(tab, {"run": run.id, "runs_dir": str(run.path.parent)})
        *_, waiting, given_up, frame = tab.heard
        assert frame["undrawn"].startswith(given_up["text"])
        assert frame["table"]
    else:
        with EpisodeRecorder(run, on_wait=noting(tab)) as examiner:
            found = examiner.play(Question(seed=1))
        (waiting,) = tab.heard
        (told,) = found.facts["notes"]
        given_up = {"text": told}
        assert found.facts["state"] == "whole"
    assert (waiting["type"], "after 1 it is given up" in waiting["text"]) == ("note", True)
    assert "Stuck-v0 has not returned from render for" in given_up["text"]


def test_a_person_who_takes_over_hears_of_an_environment_that_hangs(monkeypatch):
    monkeypatch.delenv("HANG", raising=False)
    monkeypatch.setattr("gymsolve.training.watchdog._TICK_SECONDS", 0.05)
    quiet = {"env.step_timeout": 1.0, "env.backend": "sync", "video.enabled": False, "steps": 64}
    run = gymsolve.train("training_envs:Stuck-v0:ppo", SMALL | quiet).run
    tab = _Page()
    with EpisodeRecorder(run, on_wait=noting(tab)) as examiner:
        hand = Hand(examiner, examiner.play(Question(seed=1)), 3)
        (key,) = hand.controls.to_json()["bindings"][0]["keys"]
        assert hand.picture()
        monkeypatch.setenv("HANG", "render")
        hand.press([key], {})
        assert (hand.picture(), hand.step, [*hand.forced]) == (b"", 4, [3])
        assert "Stuck-v0 has not returned from render for" in tab.heard[-1]["text"]
        monkeypatch.setenv("HANG", "step")
        with pytest.raises(EnvFaultError, match="has not returned from step for"):
            hand.press([key], {})
        assert (hand.step, [*hand.forced]) == (4, [3])
        hand.close()
