"""Killed before any single write, a run resumes to the run that was never killed.

A training in a forked process dies, as by `kill -9`, before its first, second, third … file gets its name or
its next line. What the resume makes of it is compared with the uninterrupted run: weights, best, verdict,
records and events.
"""

import json
import os
import signal
import sys
from pathlib import Path

from killing import in_child

import gymsolve
from gymsolve.runs.checkpoints import pointed, read_meta
from gymsolve.runs.loading import load_checkpoint
from gymsolve.runs.stage_checkpoints import find_masters

SETTINGS = {
    "steps": 640,
    "env.num_envs": 2,
    "algo.num_steps": 32,
    "algo.num_epochs": 8,
    "algo.learning_rate": 0.02,
    "eval.every": 128,
    "eval.episodes": 4,
    "checkpoint.every": 192,
    "checkpoint.keep": 1,
    "solved_at": 8.0,
    "video.enabled": False,
}
KINDS = ("best", "solved", "ended", "promoted")
_TIMES = ("time", "seconds", "eval/seconds")


def die_at(number, runs):
    """Kill this process before the given change of a file below `runs`; returns a counter of the changes."""
    seen = [0]

    def hook(event, args):
        append = event == "open" and isinstance(args[2], int) and args[2] & os.O_APPEND
        if not (append or event in ("os.rename", "os.remove")) or not str(args[0]).startswith(runs):
            return
        if any(word in Path(args[0]).name for word in ("report.", "index.", "@last", "lock")):
            return  # others test these
        if seen[0] == number:
            os.kill(os.getpid(), signal.SIGKILL)
        seen[0] += 1

    sys.addaudithook(hook)
    return seen


def told(run):
    """All that a run says of itself in the end, times aside."""
    rows, problems = run.read_metrics()
    assert not problems
    records = [{k: v for k, v in row.items() if k[:5] != "time/" and k not in _TIMES} for row in rows]
    events = run.read_events().rows
    kinds = {(e["kind"], e.get("env_steps")) for e in events if e["kind"] in KINDS}
    best = pointed(run, "best")
    info = run.info()
    return {
        "status": (info["status"], info["reason"], info["env_steps"], info["result"]["mean_reward"]),
        "best": (best, read_meta(run, best)["eval"]),
        "records": json.dumps(records),
        "events": sorted(kinds, key=str),
        "masters": find_masters(run),
    }


def same_weights(one, other):
    for which in ("last", "best"):
        mine, theirs = load_checkpoint(one, which).path, load_checkpoint(other, which).path
        for file in ("policy.safetensors", "trainer.safetensors"):
            assert (mine / file).read_bytes() == (theirs / file).read_bytes(), which


STAGES = {
    "steps": 192,
    "env.tasks": {"short": {"max_episode_steps": 15}, "long": {"max_episode_steps": 30}},
    "curriculum": {"stages": [{"name": "short", "steps": 60}, "long"], "promote_at": 14.0},
    "net.hidden": [8],
    "algo.num_epochs": 1,
    "eval.episodes": 2,
    "eval.num_envs": 1,
    "checkpoint.every": 1000,
    "solved_at": 15.0,
}
"""The end of a stage is saved before it is judged: a kill in between must not lose the evaluation."""


def test_killed_before_any_write_a_run_resumes_to_the_uninterrupted_one(tmp_path):
    assert kill_everywhere("Bandit-v0:ppo", SETTINGS, tmp_path, until=1000) > 30


def test_so_does_a_curriculum(tmp_path):
    kill_everywhere("CartPole-v1:ppo", SETTINGS | STAGES, tmp_path, first=6, until=22)


def kill_everywhere(name, settings, folder, *, until, first=0):
    """Kill a training before each of its changes, as far as asked for; how many times it was killed."""
    straight = gymsolve.train(name, settings, runs_dir=folder / "straight")
    expected = told(straight.run)
    assert len([kind for kind, _ in expected["events"] if kind == "best"]) > 1
    assert straight.solved or settings is not SETTINGS
    for number in range(first, until):
        runs = folder / str(number)

        def die(runs=runs, number=number):
            die_at(number, str(runs))
            gymsolve.train(name, settings, runs_dir=runs)

        ended = in_child(die)
        if not list(runs.glob("*/run.json")):
            continue  # killed before there was a run
        (path,) = runs.glob("*/run.json")
        resumed = gymsolve.resume(str(path.parent)).run
        assert told(resumed) == expected, f"killed before change {number}"
        same_weights(straight.run, resumed)
        if ended != signal.SIGKILL:
            return number
    return until
