"""Several seeds of one configuration: trained in processes of their own, stopped and resumed as one."""

import json
import signal
import subprocess
import sys
import time

import pytest

import gymsolve
from gymsolve.cli import main
from gymsolve.errors import CodeRefusedError, UnknownRunError, UsageError
from gymsolve.jobs.request import RunRequest, spell_settings
from gymsolve.jobs.seeds import SeedsVerdict, group_place, judge_seeds, resume_tasks
from gymsolve.jobs.start import start
from gymsolve.runs import find_run, list_runs
from gymsolve.runs.groups import create_group, find_group
from gymsolve.view.comparing import compare_runs
from gymsolve.view.runs import stop_run

QUICK = {"solved_at": 100, "video.enabled": False}
FOREVER = {"steps": 10**9, "eval.every": 10**9, **QUICK}
WORDS = [word for path, value in QUICK.items() for word in ("--set", f"{path}={json.dumps(value)}")]
ENDLESS = [word for path, value in FOREVER.items() for word in ("--set", f"{path}={json.dumps(value)}")]


def wait_until(happened):
    """Pytest's own limit ends a wait in vain."""
    while not happened():
        time.sleep(0.05)


def resumed(ref, runs_dir=None, **change):
    group = find_group(ref, runs_dir)
    return resume_tasks(group, RunRequest("resume", ref, **change), group_place(group, runs_dir))


def running():
    return list_runs(query="status:running")


def test_one_command_trains_seeds_gives_one_verdict_and_a_group(capsys):
    assert (
        main(["train", "Bandit-v0", "--seeds", "3", "--seed", "4", "--steps", "512", *WORDS, "--json"]) == 0
    )
    told = json.loads(capsys.readouterr().out)
    assert told["seeds"] == [4, 5, 6]
    assert [one["status"] for one in told["runs"]] == ["finished"] * 3
    assert (told["solved"], told["judged"], told["threshold"], told["reason"]) == (0, 3, 100, None)
    finals = sorted(one["final_reward"] for one in told["runs"])
    assert told["mean"] == pytest.approx(sum(finals) / 3)
    assert finals[0] <= told["iqm"] <= finals[-1]
    assert (told["low"], told["high"]) == (None, None)  # three seeds have no interval
    first = find_run(told["runs"][0]["run"])
    assert (first.info()["group"], first.info()["seed"]) == (told["group"], 4)
    assert first.info()["command"][-2:] == ["--seed", "4"]  # repeats this seed alone
    assert main(["runs", f"group:{told['group']}", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == 3
    compared = compare_runs([f"group:{told['group']}"])
    assert compared.seeds[0].seeds == (4, 5, 6)
    assert "Evaluations over seeds" in compared.charts
    with pytest.raises(UsageError, match=r"no seed of .* is running"):
        stop_run(f"group:{told['group']}")
    assert main(["resume", f"group:{told['group']}"]) == 2
    assert "have ended" in capsys.readouterr().err
    # The same seeds in this process give the same numbers.
    here = gymsolve.train_seeds("Bandit-v0", QUICK, seeds=3, seed=4, steps=512)
    assert isinstance(here, SeedsVerdict)
    assert (here.mean, here.iqm, here.seeds) == (told["mean"], told["iqm"], (4, 5, 6))


@pytest.mark.parametrize("ref", ["@last", "@last@256", "Bandit"])
def test_all_seeds_begin_with_the_weights_of_the_same_run(ref, capsys):
    """Each seed is a newer run than the one before, and of the same name."""
    origin = gymsolve.train("Bandit-v0", QUICK, steps=256).run
    command = ["train", "Bandit-v0", "--seeds", "2", "--from", ref, "--steps", "256", *WORDS, "--json"]
    assert main(command) == 0
    begun = [row["run"] for row in json.loads(capsys.readouterr().out)["runs"]]
    assert [find_run(run).info()["parent"]["run"] for run in begun] == [origin.id] * 2


@pytest.mark.parametrize("ref", ["@last", "Bandit"])
def test_all_seeds_of_this_process_begin_with_the_weights_of_the_same_run(ref, tmp_path):
    origin = gymsolve.train("Bandit-v0", QUICK, steps=256, runs_dir=tmp_path).run
    verdict = gymsolve.train_seeds("Bandit-v0", QUICK, seeds=2, steps=256, start_from=ref, runs_dir=tmp_path)
    parents = [find_run(each.run, tmp_path).info()["parent"]["run"] for each in verdict.runs]
    assert parents == [origin.id] * 2


def test_ctrl_c_stops_all_and_resume_goes_on(place, capsys):
    command = [sys.executable, "-m", "gymsolve", "train", "Bandit-v0", "--seeds", "3", *ENDLESS]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: running() or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert "stopping: all seeds" in err
    assert "gymsolve resume group:" in out
    assert running() == []
    (group,) = (path.stem for path in (place / "runs" / "groups").glob("*.json"))
    begun = list_runs()
    assert {one.status for one in begun} == {"stopped"}
    tasks = resumed(f"group:{group}")
    assert [one.verb for one in tasks.values()] == ["resume"] * len(begun) + ["train"] * (3 - len(begun))
    steps = str(max(one.env_steps for one in begun) + 512)
    assert main(["resume", f"group:{group}", "--steps", steps, "--json", "-q"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [one["status"] for one in told["runs"]] == ["finished"] * 3
    assert {one.id for one in begun} <= {one["run"] for one in told["runs"]}


def test_a_closed_terminal_stops_all_and_programs_hear_of_it(place):
    command = [sys.executable, "-m", "gymsolve", "train", "Bandit-v0", "--seeds", "2", *ENDLESS, "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: running() or process.poll() is not None)
    process.send_signal(signal.SIGHUP)
    out, err = process.communicate()
    assert process.returncode == 129, err
    assert json.loads(out)["reason"] == "hangup"
    assert running() == []


GETTING_THERE = """
import gymnasium as gym
from gymsolve.envs.families.bandit.env import Bandit

class GettingThere(Bandit):
    def step(self, action):
        *step, info = super().step(action)
        return *step, info | {"is_success": True}

gym.register("There-v0", entry_point=GettingThere)
"""


def test_seeds_that_successes_solve_are_called_solved(place, capsys):
    (place / "getting_there.py").write_text(GETTING_THERE)
    words = ["--set", "solved_by=success_rate", "--set", "solved_at=0.9", "--set", "video.enabled=false"]
    command = [sys.executable, "-m", "gymsolve", "train", "getting_there:There-v0", "--seeds", "2"]
    done = subprocess.run([*command, "--steps", "2k", *words], capture_output=True, text=True, check=True)
    assert "SOLVED on all 2 seeds" in done.stdout
    assert "90% successes needed" in done.stdout
    assert "no threshold" not in done.stdout.partition("SOLVED")[2]
    (group,) = (path.stem for path in (place / "runs" / "groups").glob("*.json"))
    assert main(["runs", "compare", f"group:{group}", "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)["runs"]
    assert [one["success_needed"] for one in compared] == [0.9, 0.9]
    assert None not in [one["reached_at"] for one in compared]
    assert [(one["quality"], one["best_success"]) for one in compared] == [(1.0, 1.0)] * 2


STUCK = """
import pathlib, time
import gymnasium as gym
from gymsolve.envs.families.bandit.env import Bandit

class Stuck(Bandit):
    def step(self, action):
        if list(pathlib.Path("runs").glob("*/run.json")):
            open("stuck", "w").close()
            time.sleep(1e6)
        return super().step(action)

gym.register("Stuck-v0", entry_point=Stuck)
"""


def test_the_second_signal_to_seeds_is_told_to_programs_too(place):
    (place / "stuck_env.py").write_text(STUCK)
    command = [sys.executable, "-m", "gymsolve", "train", "stuck_env:Stuck-v0", "--seeds", "2", *ENDLESS]
    command += ["--set", "env.backend=sync", "--set", "algo.num_steps=16", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_until(lambda: (running() and (place / "stuck").exists()) or process.poll() is not None)
    process.send_signal(signal.SIGTERM)
    time.sleep(0.8)  # within half a second it would be the same request
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate()
    assert process.returncode == 143, err
    assert "gymsolve resume group:" in json.loads(out)["error"]["hint"]
    assert running() == []


def test_seeds_in_the_background_answer_with_their_group_and_stop_together():
    started = start(RunRequest("train", "Bandit-v0", spell_settings(FOREVER), seeds=2))
    group = find_group(started.run)
    assert started.path == str(group.path)
    wait_until(lambda: len(running()) == 2 or len(group.runs()) == 2)
    with pytest.raises(UsageError, match="is being trained"):
        resumed(started.run)
    stop_run(started.run)
    wait_until(lambda: not running())
    assert {run.summary().reason for run in group.runs().values()} == {"stop file"}
    assert not any(one.has_ended for one in judge_seeds(group).runs)


BREAKING = """
import sys
import gymnasium as gym
from gymsolve.envs.families.bandit.env import Bandit

class Breaking(Bandit):
    def step(self, action):
        if sys.argv[-2:] == ["--seed", "1"]:
            raise ValueError("the arm came off")
        return super().step(action)

gym.register("Breaking-v0", entry_point=Breaking)
"""


def test_a_seed_that_breaks_shows_in_the_exit_code_and_the_others_go_on(place, capsys):
    (place / "breaking_seed.py").write_text(BREAKING)
    words = ["--seeds", "3", "--steps", "512", "--set", "env.backend=sync", *WORDS]
    assert main(["train", "breaking_seed:Breaking-v0", *words]) == 1
    said = capsys.readouterr().out
    assert "seed 1 could not begin: " in said
    assert "the arm came off" in said
    (group,) = (path.stem for path in (place / "runs" / "groups").glob("*.json"))
    told = judge_seeds(find_group(f"group:{group}"))
    assert [one.status for one in told.runs] == ["finished", "not begun", "finished"]


def test_mistakes_come_before_anything_is_written(place, capsys):
    assert main(["train", "Bandit-v0", "--seeds", "2", "--set", "algo.gama=1"]) == 2
    assert main(["train", "Bandit-v0", "--seeds", "1"]) == 2
    assert not (place / "runs").exists()
    with pytest.raises(UnknownRunError, match=r"no group in .* is called 'nothing'"):
        resumed("group:nothing")


def test_a_group_from_elsewhere_begins_nothing_unless_it_is_trusted(tmp_path):
    made = create_group(tmp_path, name="Bandit-v0:ppo", seeds=(1, 2), words=["Bandit-v0", "--steps", "64"])
    assert [one.verb for one in resumed(made.ref, tmp_path).values()] == ["train", "train"]
    stored = json.loads(made.path.read_text())
    made.path.write_text(json.dumps(stored | {"words": ["os:Bandit-v0"]}))
    with pytest.raises(CodeRefusedError, match=r"would run .gymsolve train os:Bandit-v0.*not made here"):
        resumed(made.ref, tmp_path)
    tasks = resumed(made.ref, tmp_path, trust=True)
    assert tasks["1"].words() == ["train", "os:Bandit-v0", "--seed", "1"]
    assert len(resumed(made.ref, tmp_path)) == 2  # remembered
