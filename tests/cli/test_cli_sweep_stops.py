"""A sweep that is stopped or killed, or whose disk is full, loses nothing and goes on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from gymsolve.jobs.sweeps.stored import find_sweep
from gymsolve.runs import list_runs
from gymsolve.runs.run import Run
from gymsolve.service.sweeps import show_sweep
from processes import soon_gone

TINY = ("--set", "eval.every=256", "--set", "eval.episodes=2", "--set", "env.num_envs=4")
RATES = ("--search", "algo.learning_rate=choice(1e-2, 2e-2)")
ENDLESS = (
    "--steps",
    "1e9",
    "--set",
    "eval.every=500",
    "--set",
    "checkpoint.every=256",
    "--set",
    "solved_at=99",
)


def wait_until(happened):
    """Pytest's own limit ends a wait in vain."""
    while not happened():
        time.sleep(0.05)


def runs_of_trials():
    return [Run(Path("runs").absolute() / each.id) for each in list_runs("runs")]


def start(*words):
    # The parent must hear Ctrl-C, whatever the shell of the tests does.
    return subprocess.Popen(
        [sys.executable, "-m", "gymsolve", *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )


def has_saved(run):
    return any(run.path.glob("checkpoints/[0-9]*/meta.json"))


def test_nothing_is_lost_when_the_parent_and_a_trial_are_killed(place, cli):
    search = ("--search", "algo.learning_rate=log(1e-5, 1e-2)")
    parent = start("sweep", "Bandit-v0", "--trials", "2", "--seeds", "1", "--rungs", "1", "--at-once", "2",
                   "--test-seeds", "1", *TINY, *ENDLESS, *search)  # fmt: skip
    wait_until(lambda: (len(begun := runs_of_trials()) == 2 and all(map(has_saved, begun))) or parent.poll())
    refused = cli("sweep", "resume", "@last")
    assert refused.code == 2
    assert "another process works on this sweep" in refused.err
    parent.kill()  # -9: nothing can be said any more
    parent.communicate()
    oldest, newest = sorted(runs_of_trials(), key=lambda run: run.id)
    os.kill(newest.info()["pid"], signal.SIGKILL)
    assert soon_gone(newest.info()["pid"])
    assert oldest.status == "running"  # it trains on, and the next parent watches it
    steps = newest.summary().env_steps
    wait_until(lambda: newest.status == "crashed")

    parent = start("sweep", "resume", "@last")
    wait_until(lambda: newest.status == "running" or parent.poll() is not None)
    wait_until(lambda: newest.summary().env_steps > steps or parent.poll() is not None)
    assert parent.poll() is None
    assert len(runs_of_trials()) == 2  # both go on; none begins anew
    assert newest.info()["resumed_with"][1:3] == ["resume", str(newest.path)]
    assert cli("sweep", "show", "@last", "--json").json["state"] == "running"
    assert cli("sweep", "stop", "@last").code == 0
    said = parent.communicate(timeout=120)[1].decode()
    assert parent.returncode == 130, said
    assert {run.status for run in runs_of_trials()} == {"stopped"}
    assert all(run.summary().is_trial for run in runs_of_trials())
    assert cli("sweep", "stop", "@last").code == 2
    states = {
        row["trial"]: row["state"] for row in cli("sweep", "show", "@last", "--json").json["configurations"]
    }
    assert states == {0: "waiting", 1: "waiting"}


def test_ctrl_c_saves_and_says_how_to_go_on(place):
    parent = start("sweep", "Bandit-v0", "--trials", "2", "--seeds", "1", *TINY, *ENDLESS, *RATES, "--json")
    wait_until(lambda: any(map(has_saved, runs_of_trials())) or parent.poll() is not None)
    parent.send_signal(signal.SIGINT)
    said = parent.communicate(timeout=120)[1].decode()
    assert parent.returncode == 130
    assert "stopping: all runs finish the update under way and save" in said
    assert {run.status for run in runs_of_trials()} == {"stopped"}
    stopped = show_sweep("@last")
    assert (stopped.state, stopped.claim) == ("stopped", None)  # nothing is said of a search that is not over


def test_a_full_disk_ends_in_a_sentence_and_the_sweep_goes_on_later(place, cli):
    """A limit to the size of files stands in for the disk: the system refuses the write all the same."""
    import resource

    words = ("sweep", "Bandit-v0", "--trials", "3", "--steps", "768", "--seeds", "1", "--test-seeds", "1")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, before[1]))
        full = cli(*words, *TINY, *RATES, "-q")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, old)
    assert full.code == 1
    assert find_sweep("@last").id in full.err
    assert "the file would exceed the size limit. Raise the limit with: ulimit -f" in full.err
    resumed = cli("sweep", "resume", "@last", "-q")
    assert resumed.code == 0, resumed.err
    assert len(cli("sweep", "show", "@last", "--json").json["configurations"]) == 3
