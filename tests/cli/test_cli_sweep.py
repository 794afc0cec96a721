"""`gymsolve sweep` with real trainings: what is found, proved, written, stopped, killed and resumed."""

import contextlib
import io
import json
import shutil
import sys
from pathlib import Path

import pytest

from gymsolve.cli import main
from gymsolve.jobs.sweeps.results import read_runs
from gymsolve.jobs.sweeps.stored import find_sweep
from gymsolve.runs import list_runs

TINY = ("--set", "eval.every=256", "--set", "eval.episodes=2", "--set", "env.num_envs=4")
BLIND = ("--set", "algo.learning_rate=1e-9")
"""With this the recipe learns nothing."""
RATES = ("--search", "algo.learning_rate=choice(1e-2, 2e-2)")


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
        words = ("sweep", "Bandit-v0", "--trials", "2", "--steps", "2304", "--seeds", "1", "--seed", "1")
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
    rate = searched["configurations"][0]["settings"]["algo.learning_rate"]
    assert searched["changes"] == {"algo.learning_rate": [1e-9, rate]}
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
    assert settings["algo"]["learning_rate"] == searched["changes"]["algo.learning_rate"][1]
    assert settings["eval"]["every"] == 256
    assert settings["video"]["enabled"] is True
    again = cli("sweep", "write", "@last")
    assert again.code == 2
    assert "there is such a file already" in again.err


def test_a_sweep_that_is_over_does_nothing_when_it_is_resumed_and_goes_on_with_more(searched, cli):
    before = len(list_runs("runs"))
    assert cli("sweep", "resume", "@last", "-q").code == 0
    assert len(list_runs("runs")) == before
    more = cli("sweep", "resume", "@last", "--trials", "3", "--test-seeds", "5", "-q", "--json").json
    assert len(more["configurations"]) == 3
    assert more["claim"]["seeds"] == [1001, 1002, 1003, 1004, 1005]
    refused = cli("sweep", "resume", "@last", "--trials", "2")
    assert (refused.code, "--trials: the sweep has 3" in refused.err) == (2, True)


def test_a_sweep_from_elsewhere_starts_nothing(searched, cli, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another user"))
    refused = cli("sweep", "resume", "@last", "--trials", "9")
    assert refused.code == 2
    assert "it was not made here" in refused.err
    assert "--trust" in refused.err


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
