"""`gymsolve sweep` with real trainings: what is found, proved, written, stopped, killed and resumed."""

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gymsolve.cli import main
from gymsolve.jobs.sweeps.results import read_runs
from gymsolve.jobs.sweeps.stored import find_sweep
from gymsolve.runs import list_runs
from gymsolve.runs.run import Run
from processes import soon_gone

TINY = ("--set", "eval.every=256", "--set", "eval.episodes=2", "--set", "env.num_envs=4")
BLIND = ("--set", "algo.learning_rate=1e-9")
"""With this the recipe learns nothing."""
RATES = ("--search", "algo.learning_rate=choice(1e-9, 1e-2)")
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


def run_main(*arguments):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = main(list(arguments))
    return code, output.getvalue()


@pytest.fixture(scope="module")
def searched_once(tmp_path_factory):
    """A folder with a sweep in which a rate that learns meets a recipe that cannot; and what it printed."""
    folder = tmp_path_factory.mktemp("searched")
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(folder):
        for name in ("GYMSOLVE_RUNS", "GYMSOLVE_RECIPES"):
            patch.delenv(name, raising=False)
        words = ("sweep", "Bandit-v0", "--trials", "3", "--steps", "2304", "--seeds", "2", "--seed", "1")
        words += ("--test-seeds", "4")
        code, said = run_main(*words, *TINY, *BLIND, *RATES, "--json", "-q")
    assert code == 0, said
    return folder, json.loads(said)


@pytest.fixture
def searched(searched_once, place):
    """The same sweep as a copy."""
    shutil.copytree(searched_once[0] / "runs", place / "runs")
    return searched_once[1]


def test_a_real_difference_is_claimed_on_fresh_seeds(searched, cli, place):
    claim, sweep = searched["claim"], find_sweep("@last")
    assert searched["state"] == "done"
    assert searched["objective"] == "steps"
    assert claim["verdict"] == "better"
    assert claim["seeds"] == [1001, 1002, 1003, 1004]
    assert claim["recipe_results"] == [None] * 4  # never solved
    assert all(steps < 2304 for steps in claim["winner_results"])
    assert claim["chance"] == pytest.approx(2 / 70)
    assert searched["changes"] == {"algo.learning_rate": [1e-9, 0.01]}
    assert not set(searched["tuning_seeds"]) & set(searched["test_seeds"])
    by_number = {row["trial"]: row for row in searched["configurations"]}
    assert by_number[0]["settings"] == {}
    tests = {(run.number, run.seed) for run in read_runs(sweep) if run.purpose == "test"}
    assert tests == {(n, seed) for n in (0, claim["winner"]) for seed in claim["seeds"]}


def test_its_trials_are_runs_that_are_listed_apart(searched, cli, place):
    assert cli("runs", "--json").json == []
    listed = cli("runs", f"group:{searched['sweep']}", "--all", "--limit", "99", "--json").json
    assert len(listed) == sum(len(row["runs"]) for row in searched["configurations"]) + 8
    shown = cli("runs", "show", listed[0]["id"], "--json").json
    assert shown["provenance"]["algo.learning_rate"].startswith(f"sweep {searched['sweep']} ")
    assert "not shown; --all shows them" in cli("runs").out
    assert not (place / "runs" / "@last").exists()


def test_what_it_found_is_shown_and_written_with_its_evidence(searched, cli, place):
    report = cli("sweep", "show", "@last", "--json").json
    assert {**report, "path": ""} == {**searched, "path": ""}
    said = cli("sweep", "show", searched["sweep"]).out
    assert f"Trial {searched['best']} is better than the recipe" in said
    assert "never, never, never, never" in said
    assert f"gymsolve sweep write {searched['sweep']}" in said
    assert [each["state"] for each in cli("sweep", "list", "--json").json] == ["idle"]

    written = cli("sweep", "write", "@last", "--json").json
    text = Path(written["path"]).read_text()
    assert f"# Found by the sweep {searched['sweep']}" in text
    assert "fresh seeds 1001, 1002, 1003, 1004" in text
    assert cli("recipes", "check", written["path"]).code == 0
    settings = cli("recipes", "show", written["recipe"], "--json").json["config"]
    assert settings["algo"]["learning_rate"] == 0.01
    assert settings["video"]["enabled"] is True
    again = cli("sweep", "write", "@last")
    assert again.code == 2
    assert "there is such a file already" in again.err


def test_a_sweep_that_is_over_does_nothing_when_it_is_resumed_and_goes_on_with_more(searched, cli):
    before = len(list_runs("runs"))
    assert cli("sweep", "resume", "@last", "-q").code == 0
    assert len(list_runs("runs")) == before
    more = cli("sweep", "resume", "@last", "--trials", "4", "--test-seeds", "5", "-q", "--json").json
    assert len(more["configurations"]) == 4
    assert more["claim"]["seeds"] == [1001, 1002, 1003, 1004, 1005]
    refused = cli("sweep", "resume", "@last", "--trials", "3")
    assert (refused.code, "--trials: the sweep has 4" in refused.err) == (2, True)


def test_a_sweep_from_elsewhere_starts_nothing(searched, cli, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another user"))
    refused = cli("sweep", "resume", "@last", "--trials", "9")
    assert refused.code == 2
    assert "it was not made here" in refused.err
    assert "--trust" in refused.err


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


def test_the_plan_is_printed_without_training(place, cli):
    plan = cli("sweep", "CartPole-v1", "--dry-run", "--json").json
    assert plan["objective"] == "steps"
    assert [level["until"] for level in plan["levels"]] == [11111, 33333, None, None, None]
    assert {each["path"] for each in plan["space"]} >= {
        "algo.learning_rate.start",
        "algo.gamma",
        "net.hidden",
    }
    assert all(each["reason"] for each in plan["space"])
    assert "from too careful to unstable" in cli("sweep", "CartPole-v1", "--dry-run").out
    assert not (place / "runs").exists()


def test_a_missing_extra_and_a_wrong_range_are_one_sentence(place, cli, monkeypatch):
    wrong = cli("sweep", "Bandit-v0", "--search", "algo.gama=range(0, 1)")
    assert wrong.code == 2
    assert "--search: algo.gama: unknown key. Did you mean 'algo.gamma'?" in wrong.err
    monkeypatch.setitem(sys.modules, "optuna", None)
    missing = cli("sweep", "Bandit-v0")
    assert missing.code == 2
    assert (
        "the package 'optuna' is not installed. Install it with: pip install 'gymsolve[sweep]'" in missing.err
    )
    assert cli("sweep", "list").code == 0
