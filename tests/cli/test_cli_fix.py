"""`gymsolve fix`: the remedy of an alert is tried beside the original settings, and the result is kept."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gymsolve.runs import Run, list_runs

LOGS = Path(__file__).parents[1] / "metrics" / "logs"
QUICK = ("-q", "--set", "video.enabled=false")
FAULT = ("--set", "algo.learning_rate=0.3")
WORN = """
import gymnasium as gym
import numpy as np

class Worn(gym.Env):
    observation_space = gym.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gym.spaces.Discrete(2)
    played = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample() * 0, {}

    def step(self, action):
        self.played += 1
        over = self.played > 100 or self.np_random.random() < 0.2
        return self.np_random.random(2, np.float32), float(action), over, False, {}

gym.register("Worn-v0", entry_point=Worn)
"""

BREAKING = """
import os, pathlib
import gymnasium as gym
from gymsolve.envs.families.bandit.env import Bandit

class Breaking(Bandit):
    def step(self, action):
        if os.path.exists("broken") and len(list(pathlib.Path("runs").glob("*/run.json"))) > 1:
            raise ValueError("the arm came off")
        return super().step(action)

gym.register("Breaking-v0", entry_point=Breaking)
"""


def train(cli, *arguments):
    assert cli("train", *arguments, *QUICK).code == 0
    return last(cli)


def last(cli):
    return Run(Path(cli("runs", "show", "@last", "--json").json["path"]))


def events(run):
    return [event for event in run.read_events().rows if event["kind"] == "fix"]


def test_a_remedy_that_helps_is_tried_told_and_recorded(cli):
    faulty = train(cli, "CartPole-v1", "--steps", "6000", *FAULT)
    assert f"try it    gymsolve fix {faulty.id}\n" in cli("diagnose", "@last").out
    told = cli("fix", faulty.id, "--json").json
    assert told["alert"] == "kl_shock"
    assert [change["path"] for change in told["changes"]] == ["algo.learning_rate", "algo.target_kl"]
    assert told["checkpoint"] is None
    assert told["notes"] == ["no checkpoint is from before the alert: both sides begin at step 0"]
    assert [(one["side"], one["seed"]) for one in told["trials"]] == [
        (side, seed) for seed in range(4) for side in ("original", "changed")
    ]
    assert told["verdict"] == "helped"
    assert told["chance"] == pytest.approx(2 / 70)
    assert told["certainty"] == "with 4 seeds, chance alone gives a gap this clear 1 time in 35"
    assert 0 < told["low"] < told["difference"] < told["high"]
    assert told["original"]["fired"] == 4
    assert told["changed"]["fired"] == 0
    assert told["changed"]["mean_reward"] > told["original"]["mean_reward"] + 50
    assert told["promise"]["metric"] == "train/approx_kl"
    assert told["promise"]["kept"] == 4
    stored = json.loads((faulty.path / "fixes" / "kl_shock.json").read_text())
    assert stored == told | {"schema_version": 1}
    (event,) = events(faulty)
    assert (event["alert"], event["verdict"]) == ("kl_shock", "helped")
    assert event["children"] == [one["run"] for one in told["trials"]]
    assert event["changes"] == told["changes"]
    assert f"  tried     helped: {told['certainty']}\n" in cli("diagnose", faulty.id).out
    (tried,) = cli("diagnose", faulty.id, "--json").json["tried"]
    returns = {
        side: [one["reward"] for one in told["trials"] if one["side"] == side]
        for side in ("original", "changed")
    }
    assert tried == {
        **{name: told[name] for name in ("alert", "verdict", "certainty", "seeds_needed")},
        **returns,
        "runs": event["children"],
        "start": f"{faulty.id}@0",
        "changes": {change["path"]: change["new"] for change in told["changes"]},
    }
    child = cli("runs", "show", event["children"][1], "--json").json
    assert child["parent"] == {"run": faulty.id, "checkpoint": None, "kind": "trial"}
    assert child["config"]["algo"]["target_kl"] == 0.02
    assert child["provenance"]["algo.target_kl"] == "gymsolve fix kl_shock"


def test_it_begins_at_the_last_checkpoint_before_the_alert_which_is_kept(cli):
    train(cli, "CartPole-v1", "--steps", "4000")
    cli("resume", "@last", "--steps", "8000", *FAULT, "-q")
    run = last(cli)
    said = cli("fix", run.id, "--steps", "1k", "--seeds", "1").out
    (event,) = events(run)
    start = cli("runs", "show", event["children"][0], "--json").json["parent"]["checkpoint"]
    onset = next(one["onset"] for one in run.read_events().rows if one.get("id") == "kl_shock")
    saved = [int(one["name"]) for one in cli("runs", "show", run.id, "--json").json["checkpoints"]]
    assert int(start) == max(steps for steps in saved if steps < onset)
    assert f"checkpoint {start}, 2 trials of 1,000 steps, seeds 0" in said
    assert "No clear difference" in said
    assert "1 seed cannot tell, however far apart: at least 4 are needed" in said
    assert f"to know more: gymsolve fix {run.id} kl_shock --seeds 4\n" in said


def test_it_begins_with_the_weights_that_the_run_began_with(cli):
    """The checkpoint at step 0 of a warm start is not the same as a start at step 0."""
    train(cli, "CartPole-v1", "--steps", "1000")
    run = train(
        cli, "CartPole-v1", "--from", "@last", "--steps", "2000", *FAULT, "--set", "checkpoint.every=100k"
    )
    told = cli("fix", run.id, "--steps", "300", "--seeds", "1", "--json").json
    assert told["checkpoint"] == "0"
    child = cli("runs", "show", told["trials"][0]["run"], "--json").json
    assert child["parent"] == {"run": run.id, "checkpoint": "0", "kind": "trial"}


def test_a_dry_run_trains_nothing_and_writes_nothing(cli, place):
    faulty = train(cli, "CartPole-v1", "--steps", "3000", *FAULT)
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    said = cli("fix", "@last", "--dry-run", "--seeds", "3", "--steps", "5k")
    assert said.code == 0
    assert "kl_shock: one update threw the policy somewhere else" in said.out
    assert "--set algo.learning_rate=" in said.out
    assert "step 0, 6 trials of 5,000 steps, seeds 0, 1, 2" in said.out
    assert "schedules are stretched" in said.out
    told = cli("fix", faulty.id, "--dry-run", "--json").json
    assert (told["steps"], told["seeds"], told["verdict"]) == (3000, [0, 1, 2, 3], None)
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before


def test_a_remedy_that_needs_another_network_begins_at_step_0(cli):
    run = train(cli, "CartPole-v1", "--steps", "2000")
    for step in range(1900, 1910):  # as if the network had seen raw pixels late in the run
        run.append_metrics({"env_steps": step, "vec_steps": step, "obs/abs_max": 1e5})
    told = cli("fix", run.id, "obs_huge", "--dry-run", "--json").json
    assert told["changes"][0]["path"] == "net.normalize_obs"
    assert told["checkpoint"] is None
    assert told["notes"] == ["saved weights do not fit another net.normalize_obs: both sides begin at step 0"]


def test_a_damaged_checkpoint_is_passed_over(cli):
    run = train(cli, "CartPole-v1", "--steps", "2000")
    for step in range(1900, 1910):
        run.append_metrics({"env_steps": step, "vec_steps": step, "train/approx_kl": 5.0})
    before = cli("fix", run.id, "--dry-run", "--json").json["checkpoint"]
    (run.path / "checkpoints" / before / "policy.safetensors").write_bytes(b"")
    told = cli("fix", run.id, "--dry-run", "--json").json
    assert int(told["checkpoint"]) < int(before)
    assert told["notes"][0].startswith(f"checkpoint {before} was passed over: the file is cut off")


def test_a_healthy_run_has_nothing_to_fix(cli, place):
    run = train(cli, "Bandit-v0")
    said = cli("fix", "@last")
    assert said.code == 0
    assert "nothing to try: no alert fired in this run" in said.out
    told = cli("fix", "@last", "--json").json
    assert (told["alert"], told["verdict"]) == (None, None)
    assert not events(run)
    assert len(list((place / "runs").glob("2*"))) == 1


def test_a_fault_of_the_environment_has_no_remedy_to_try(cli, place, monkeypatch):
    (place / "worn.py").write_text(WORN)
    monkeypatch.syspath_prepend(str(place))
    train(cli, "worn:Worn-v0", "--steps", "4000", "--set", "env.num_envs=2", "--set", "algo.num_steps=64")
    said = cli("fix", "@last", "one_step_episodes")
    assert said.code == 0
    assert (
        "nothing to try: no setting mends 'one_step_episodes': the environment's reset is broken" in said.out
    )


def test_wrong_requests_are_one_sentence(cli):
    faulty = train(cli, "CartPole-v1", "--steps", "2000", *FAULT)
    wrong = {
        (faulty.id, "kl_shok"): "there is no alert called 'kl_shok'. Did you mean 'kl_shock'?",
        (faulty.id, "obs_huge"): "the alert 'obs_huge' did not fire in this run. Those that did: kl_shock",
        (faulty.id, "--steps", "many"): "--steps: cannot read 'many' as a number",
        (faulty.id, "--steps", "0"): "--steps: 0 steps are none",
        (faulty.id, "--seeds", "0"): "--seeds",
        ("nothing-like-this",): "is called 'nothing-like-this'",
        (str(LOGS / "sb3_rate_too_high"),): "is no run of gymsolve",
    }
    for arguments, sentence in wrong.items():
        answer = cli("fix", *arguments)
        assert answer.code == 2
        assert sentence in answer.err
    assert not events(faulty)


def test_trials_stay_with_the_run_that_they_were_made_for(cli):
    faulty = train(cli, "CartPole-v1", "--steps", "2000", *FAULT)
    assert cli("fix", faulty.id, "--steps", "300", "--seeds", "1", "-q").code == 0
    assert last(cli).id == faulty.id
    assert [run["id"] for run in cli("runs", "--json").json] == [faulty.id]
    said = cli("runs").out
    assert "2 trials of gymsolve fix and sweep are not shown; --all shows them." in said
    everything = cli("runs", "--all", "--json").json
    trials = [run["id"] for run in everything if (run["parent"] or {}).get("kind") == "trial"]
    assert len(trials) == 2
    assert [one["id"] for one in cli("runs", "show", faulty.id, "--json").json["trials"]] == trials[::-1]
    shown = cli("runs", "show", faulty.id).out
    assert "Trials" in shown
    assert trials[0] in shown
    assert f"trial of     {faulty.id}" in cli("runs", "show", trials[0]).out
    assert "--all shows it." in cli("runs", trials[0]).out
    assert cli("runs", "compare", "cartpole").code == 2  # one run, whatever its trials
    compared = cli("runs", "compare", "env:CartPole", "--all", "--json").json
    assert sorted(one["id"] for one in compared["runs"]) == sorted([faulty.id, *trials])


@pytest.mark.parametrize("steps", ["1e400", "-1e400", "9" * 400])
def test_steps_beyond_all_numbers_are_one_sentence(cli, steps):
    told = cli("fix", "@last", "--steps", steps)
    assert told.code == 2
    assert "is no number of steps" in told.err


def test_ctrl_c_stops_all_trials_and_records_nothing(cli, place):
    faulty = train(cli, "CartPole-v1", "--steps", "2000", *FAULT)
    command = [sys.executable, "-m", "gymsolve", "fix", faulty.id, "--steps", "100M", "-q"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not list_runs(query="status:running") and process.poll() is None:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, (out, err)
    assert err == "stopped before there was anything to compare; nothing was recorded\n"
    assert list_runs(query="status:running") == []
    trials = [one for one in list_runs() if one.is_trial]
    assert {one.status for one in trials} == {"stopped"}
    assert not events(faulty)
    assert not (faulty.path / "fixes").exists()


def test_a_trial_that_breaks_down_is_a_finding(cli, place):
    (place / "breaking_env.py").write_text(BREAKING)
    small = ("--set", "env.num_envs=2", "--set", "algo.num_steps=32", "--set", "env.backend=sync")
    run = train(cli, "breaking_env:Breaking-v0", "--steps", "1000", *small)
    for step in range(900, 910):
        run.append_metrics({"env_steps": step, "vec_steps": step, "train/approx_kl": 5.0})
    (place / "broken").touch()
    told = cli("fix", run.id, "--steps", "100", "--seeds", "1", "--json").json
    assert [one["status"] for one in told["trials"]] == ["crashed", "crashed"]
    assert (told["original"]["crashed"], told["verdict"]) == (1, "unclear")
