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
    kinds = {(e["kind"], e.get("env_steps")) for e in events if e["kind"] in ("best", "solved", "ended")}
    best = pointed(run, "best")
    info = run.info()
    return {
        "status": (info["status"], info["reason"], info["env_steps"], info["result"]["mean_reward"]),
        "best": (best, read_meta(run, best)["eval"]),
        "records": json.dumps(records),
        "events": sorted(kinds, key=str),
    }


def same_weights(one, other):
    for which in ("last", "best"):
        mine, theirs = load_checkpoint(one, which).path, load_checkpoint(other, which).path
        for file in ("policy.safetensors", "trainer.safetensors"):
            assert (mine / file).read_bytes() == (theirs / file).read_bytes(), which


def test_killed_before_any_write_a_run_resumes_to_the_uninterrupted_one(tmp_path):
    straight = gymsolve.train("Bandit-v0:ppo", SETTINGS, runs_dir=tmp_path / "straight")
    assert straight.solved
    expected = told(straight.run)
    assert len([kind for kind, _ in expected["events"] if kind == "best"]) > 1
    number = ended = 0
    while ended == signal.SIGKILL or number == 0:
        runs = tmp_path / str(number)

        def die(runs=runs, number=number):
            die_at(number, str(runs))
            gymsolve.train("Bandit-v0:ppo", SETTINGS, runs_dir=runs)

        ended = in_child(die)
        number += 1
        if not list(runs.glob("*/run.json")):
            continue  # killed before there was a run
        (path,) = runs.glob("*/run.json")
        resumed = gymsolve.resume(str(path.parent)).run
        assert told(resumed) == expected, f"killed before change {number - 1}"
        same_weights(straight.run, resumed)
    assert number > 30
