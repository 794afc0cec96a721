"""Queues of real runs: what fails, stops or is killed concerns nobody else, and a stored queue goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from hashlib import sha256

import pytest

import gymsolve
from gymsolve.errors import CodeRefusedError, RunDamagedError, UsageError
from gymsolve.jobs.local import LocalPlace
from gymsolve.jobs.queue import Queue, Stopping, TaskBegun, TaskEnded, TaskFailed, Tick, work_off
from gymsolve.jobs.request import RunRequest, spell_settings
from gymsolve.runs import find_run, list_runs
from gymsolve.runs.run import Run
from gymsolve.training.stop import StopSignal
from processes import soon_gone

GATED = """
import json, os, pathlib, time
import gymnasium as gym
from gymsolve.envs.families.bandit.env import Bandit

def wait(name):
    pathlib.Path(name).touch()
    while not os.path.exists("go"):
        time.sleep(0.01)

class Gated(Bandit):
    def __init__(self, gate=""):
        super().__init__()
        self.gate = gate
        if gate == "at the start":
            wait("starting")

    def step(self, action):
        if self.gate == "in the middle" and not os.path.exists("go") and self.has_checkpoint():
            wait(f"waiting-{os.getpid()}")
        return super().step(action)

    def has_checkpoint(self):
        runs = [path for path in pathlib.Path("runs").glob("*/run.json")]
        mine = [path for path in runs if json.loads(path.read_text())["pid"] == os.getpid()]
        return any(list(path.parent.glob("checkpoints/[0-9]*/meta.json")) for path in mine)

gym.register("Gated-v0", entry_point=Gated)
"""
PARENT = """
from pathlib import Path
from gymsolve.jobs.local import LocalPlace
from gymsolve.jobs.queue import Queue

queue = Queue("q", Path.cwd() / "runs")
queue.work_off(LocalPlace(queue.jobs), at_once=2, on_event=lambda event: None)
"""
SHORT = {
    "video.enabled": False,
    "solved_at": 1e9,
    "eval.episodes": 2,
    "eval.every": 256,
    "checkpoint.every": 128,
}
BANDIT = {**SHORT, "env.backend": "sync", "env.num_envs": 2, "algo.num_steps": 32, "algo.num_minibatches": 2}
ENDLESS = {**BANDIT, "steps": 10**9, "eval.every": 10**9}


def train(env, settings, **options):
    return RunRequest("train", env, spell_settings(settings), **options)


def wait_until(happened):
    """Pytest's own limit ends a wait in vain."""
    while not happened():
        time.sleep(0.02)


def content(run):
    """What training made of a run: its policies and its numbers, without times."""
    policies = {
        path.parent.name: sha256(path.read_bytes()).hexdigest()
        for path in run.path.glob("checkpoints/[0-9]*/policy.safetensors")
    }
    rows = [
        {name: value for name, value in row.items() if not name.startswith(("time/", "eval/seconds"))}
        for row in run.read_metrics_raw().rows
    ]
    return run.summary().env_steps, max(policies.items(), key=lambda one: int(one[0])), rows


def key_of(run, tasks):
    request = RunRequest.from_words(run.info()["command"][1:])
    return next(key for key, task in tasks.items() if task == request)


@pytest.fixture
def gated(place, monkeypatch):
    (place / "gated_env.py").write_text(GATED)
    monkeypatch.syspath_prepend(str(place))
    return "gated_env:Gated-v0"


def test_eight_runs_killed_in_the_middle_and_continued_are_the_same_runs(place, gated):
    origin = gymsolve.train("Bandit-v0", BANDIT | {"steps": 256}).run
    middle = BANDIT | {"env.kwargs.gate": "in the middle"}
    tasks = {str(seed): train("Bandit-v0", BANDIT, steps=512, seed=seed) for seed in range(2)}
    tasks |= {str(seed): train(gated, middle, steps=768, seed=seed) for seed in (2, 3)}
    tasks |= {str(seed): train("CartPole-v1", SHORT, steps=600, seed=seed) for seed in (4, 5, 6)}
    tasks["7"] = RunRequest("fork", f"{origin.path}@last", seed=7, steps=512)
    queue = Queue("q", place / "runs")
    queue.add(tasks)

    parent = subprocess.Popen([sys.executable, "-c", PARENT])
    wait_until(lambda: len(list(place.glob("waiting-*"))) == 2 or parent.poll() is not None)
    parent.kill()  # -9: nothing can be said any more
    parent.wait()
    begun = {key_of(run, tasks): run for run in runs_of("q")}
    assert sorted(begun) == ["0", "1", "2", "3"]
    assert begun["3"].status == "running"
    os.kill(begun["2"].info()["pid"], signal.SIGKILL)
    assert soon_gone(begun["2"].info()["pid"])
    with queue.path.open("ab") as file:
        file.write(b'{"key": "8", "requ')  # as if it had been about to add a task

    events = []

    def hear(event):
        events.append(event)
        (place / "go").touch()

    # A thread of the killed process may need a moment more than its leader.
    wait_until(lambda: isinstance(queue.left(LocalPlace(queue.jobs))["2"], RunRequest))
    left = queue.left(LocalPlace(queue.jobs))
    assert list(left) == ["2", "3", "4", "5", "6", "7"]
    assert left["2"] == RunRequest("resume", str(begun["2"].path))
    assert not isinstance(left["3"], RunRequest)  # it still trains
    assert queue.work_off(LocalPlace(queue.jobs), at_once=2, on_event=hear) is None
    ended = [event.key for event in events if isinstance(event, TaskEnded)]
    assert sorted(ended) == ["2", "3", "4", "5", "6", "7"]
    assert queue.left(LocalPlace(queue.jobs)) == {}

    runs = {key_of(run, tasks): run for run in runs_of("q")}
    assert len(runs_of("q")) == 8
    assert {key: run.id for key, run in begun.items()} == {key: runs[key].id for key in begun}
    assert [event["kind"] for event in runs["2"].read_events().rows].count("resumed") == 1
    assert "resumed" not in [event["kind"] for event in runs["3"].read_events().rows]
    for key, request in tasks.items():
        if request.verb == "train":
            alone = gymsolve.train(request.env_or_ref, request.settings(), runs_dir=place / "alone").run
        else:
            words = [*request.words(), "-q"]
            subprocess.run([sys.executable, "-m", "gymsolve", *words], check=True)
            alone = find_run("@last")
        assert content(runs[key]) == content(alone), key


def runs_of(group):
    return [Run(find_run(one.id).path) for one in list_runs() if one.group == group]


def test_a_job_whose_starter_was_killed_before_it_began_is_not_begun_twice(place, gated):
    queue = Queue("q", place / "runs")
    queue.add({"a": train(gated, BANDIT | {"env.kwargs.gate": "at the start"}, steps=128)})
    parent = subprocess.Popen([sys.executable, "-c", PARENT])
    wait_until((place / "starting").exists)
    with pytest.raises(UsageError, match="being worked off by another process"):
        queue.work_off(LocalPlace(queue.jobs), at_once=1, on_event=print)
    parent.kill()
    parent.wait()
    assert list_runs() == []
    (task,) = queue.left(LocalPlace(queue.jobs)).values()
    assert not isinstance(task, RunRequest)
    assert task.poll() is None

    def hear(event):
        (place / "go").touch()

    assert queue.work_off(LocalPlace(queue.jobs), at_once=1, on_event=hear) is None
    (run,) = runs_of("q")
    assert run.status == "finished"
    assert not queue.jobs.exists()


def test_a_starter_that_is_killed_before_it_starts_a_process_leaves_the_request_as_it_was(place, monkeypatch):
    queue = Queue("q", place / "runs")
    request = train("Bandit-v0", BANDIT, steps=128)
    queue.add({"a": request})

    def die(*words, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("gymsolve.jobs.local.spawn", die)
        with pytest.raises(KeyboardInterrupt):
            LocalPlace(queue.jobs).submit(request, group="q")
    assert len(LocalPlace(queue.jobs).list()) == 1
    assert queue.left(LocalPlace(queue.jobs)) == {"a": request}
    assert LocalPlace(queue.jobs).list() == []


def test_a_job_that_fails_does_not_end_the_others(place):
    tasks = {
        "good": train("Bandit-v0", BANDIT, steps=128),
        "bad": train("Bandit-v0", {"algo.gama": 1}),
        "unknown": RunRequest("fork", "nothing-like-this"),
        "too": train("Bandit-v0", BANDIT, steps=128, seed=1),
    }
    events = []
    assert work_off(tasks, LocalPlace(), at_once=2, on_event=events.append) == "failed"
    failed = {event.key: event.error for event in events if isinstance(event, TaskFailed)}
    assert set(failed) == {"bad", "unknown"}
    assert failed["bad"].where == "algo.gama"
    ended = {event.key: event.run.status for event in events if isinstance(event, TaskEnded)}
    assert ended == {"good": "finished", "too": "finished"}
    assert len(list_runs()) == 2
    assert any(isinstance(event, Tick) for event in events)


def test_a_stop_reaches_each_and_what_has_not_begun_does_not_begin(place):
    tasks = {str(seed): train("Bandit-v0", ENDLESS, seed=seed) for seed in range(4)}
    stop, events = StopSignal(), []

    def hear(event):
        events.append(event)
        if isinstance(event, TaskBegun) and event.key == "1":
            stop.request("stop file")

    reason = work_off(tasks, LocalPlace(), at_once=2, on_event=hear, stop=stop)
    assert reason == "stop file"
    ended = {event.key: event.run.summary() for event in events if isinstance(event, TaskEnded)}
    assert {key: one.status for key, one in ended.items()} == {"0": "stopped", "1": "stopped"}
    assert {one.reason for one in ended.values()} == {"stop file"}
    assert [event.reason for event in events if isinstance(event, Stopping)] == ["stop file"]
    assert len(list_runs()) == 2


def test_an_exception_of_whoever_listens_leaves_no_process(place):
    pids = []

    def hear(event):
        if isinstance(event, TaskBegun):
            pids.append(event.run.info()["pid"])
            raise KeyError("a mistake")

    with pytest.raises(KeyError, match="a mistake"):
        work_off({"a": train("Bandit-v0", ENDLESS)}, LocalPlace(), at_once=1, on_event=hear)
    assert soon_gone(*pids)


def test_a_queue_refuses_what_it_could_not_go_on_with(place):
    queue = Queue("q", place / "runs")
    request = train("Bandit-v0", {}, steps=128)
    queue.add({"a": request})
    assert queue.tasks() == {"a": request}
    wrong = {
        "is in the queue already": {"a": train("Bandit-v0", {}, steps=1)},
        "or its request": {"b": request},
        "b: a stored queue holds new runs": {"b": RunRequest("resume", "@last")},
        "one in each task": {"b": train("Bandit-v0", {}, seeds=2)},
        "b: a text of this request cannot be stored": {"b": train("Bandit-v0", ["x=\udce4"])},
    }
    for sentence, tasks in wrong.items():
        with pytest.raises(UsageError, match=sentence):
            queue.add(tasks)
    assert queue.tasks() == {"a": request}
    foreign = {"key": "a", "request": train("os:Bandit-v0", {}).to_json()}
    queue.path.write_text(json.dumps(foreign) + "\n")
    with pytest.raises(CodeRefusedError, match=r"would run 'gymsolve train os:Bandit-v0'.* not made here"):
        queue.left(LocalPlace(queue.jobs))
    assert len(queue.left(LocalPlace(queue.jobs), trust=True)) == 1
    assert len(queue.left(LocalPlace(queue.jobs))) == 1  # remembered
    queue.path.write_text(json.dumps({"key": "a", "request": {"verb": "train"}}) + "\n")
    with pytest.raises(RunDamagedError, match="a line is no task"):
        queue.tasks()
