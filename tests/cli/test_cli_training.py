"""train, resume and eval, from the outside."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gymsolve.cli.live.console import Watcher


def test_a_training_in_a_process_of_its_own(shell, place):
    answer = shell("train", "Bandit-v0", "--steps", "2k", "--seed", "3", "--set", "solved_at=100", "--json")

    assert answer.code == 0, answer.err
    told = answer.json
    assert {"run", "status", "solved", "env_steps", "seconds", "mean_reward"} <= set(told)
    assert told["env_steps"] >= 2000
    run = place / "runs" / told["run"]
    log = (run / "log.txt").read_text()
    assert "evaluation:" in log
    assert "gymsolve runs show" in log
    assert "evaluation:" in answer.err  # with --json a person still sees progress, on the other stream
    stored = json.loads((run / "run.json").read_text())
    assert stored["command"][:3] == ["gymsolve", "train", "Bandit-v0"]
    assert stored["seed"] == 3


def test_a_long_setting_does_not_widen_the_plan(cli, place):
    noise = ", ".join("{observation_noise: {std: 0.001, roles: [train]}}" for _ in range(4))
    answer = cli("train", "CartPole-v1", "--set", f"env.wrappers=[{noise}]", "--steps", "600")
    _, _, rest = answer.out.partition("Settings that differ from the defaults:\n")
    lines = rest.partition("\nrun /")[0].splitlines()
    long = next(index for index, line in enumerate(lines) if "observation_noise" in line)
    assert lines[long + 1].strip() == "--set"
    assert all(len(line) < 80 for line in lines[:long] + lines[long + 1 :])


def test_one_of_something_is_not_spoken_of_as_many(cli, place):
    settings = ("--set", "eval.episodes=1", "--set", "solved_at=500", "--set", "video.enabled=false")
    said = cli("train", "CartPole-v1", "--steps", "200", *settings).out
    assert said.count("1 episode") >= 3
    assert " 1 episodes" not in said
    assert " 1 updates" not in said
    assert "0:00" not in cli("runs", "compare", "env:CartPole").out.partition("Evaluations")[0]


def test_the_plan_and_the_verdict_are_printed(cli, place):
    explores = ("--set", "explore=go_explore", "--set", "explore.repeat=0.1")
    answer = cli("train", "CartPole-v1", "--steps", "1k", "--set", "algo.gamma=0.9", *explores)

    assert answer.code == 0
    plan, _, rest = answer.out.partition("run /")
    assert "CartPole-v1, 8 in parallel" in plan
    assert "PPO, rollouts of 8 × 32 = 256 steps" in plan
    assert "episodes begin at places of an archive (Go-Explore); 10% of actions repeat the last one" in plan
    assert "1,000 environment steps" in plan
    assert "20 episodes; solved at 475 over 100" in plan
    changed = [line.split() for line in plan.splitlines() if "algo.gamma" in line]
    assert changed == [["algo.gamma=0.9", "--set"]]
    assert "env.num_envs=" not in plan  # the recipe says 8, which is the default
    assert "Not solved: the budget is spent" in rest
    assert "threshold 475" in rest
    assert "gymsolve resume @last --steps 2k" in rest
    assert str(place / "runs") in rest


def test_an_archive_of_several_tasks_tells_the_best_score_of_each(cli, place):
    """A mean of tasks is nobody's score."""
    tasks = "env.tasks={short: {max_episode_steps: 4}, shorter: {max_episode_steps: 3}}"
    explores = ("--set", "explore=go_explore", "--set", "env.num_envs=2")
    small = ("--set", "eval.episodes=2", "--set", "video.enabled=false")
    assert cli("train", "CartPole-v1", "--steps", "500", "--set", tasks, *explores, *small).code == 0
    said = cli("runs", "show", "@last").out
    assert "cells, best scores: short 4, shorter 3" in said
    (page,) = (place / "runs").rglob("report.html")
    assert "best scores of the tasks, on average" in page.read_text()
    assert "best score of any episode" not in page.read_text()


@pytest.mark.parametrize("staged", [False, True])
def test_the_plan_and_the_verdict_speak_of_tasks(cli, staged):
    """What is played and proved is that of each task, or of the last stage: no mean is a threshold."""
    tasks = "env.tasks={short: {max_episode_steps: 9}, long: {max_episode_steps: 20}}"
    stages = ("--set", "curriculum=[{name: short, steps: 100}, long]") if staged else ()
    small = ("--set", "env.num_envs=2", "--set", "eval.episodes=2", "--set", "video.enabled=false")
    said = cli("train", "CartPole-v1", "--steps", "500", "--set", tasks, *stages, *small).out
    assert "2 tasks (short, long), 2 in parallel" in said
    goal = "475 in long" if staged else "each task's own threshold"
    assert f"2 episodes of each task; solved at {goal} over 100" in said
    behind = "episodes of long" if staged else "over 2 tasks, each over its last 100 episodes at most"
    assert behind in next(line for line in said.splitlines() if "training's own mean" in line)


def test_quiet_prints_the_verdict_only(cli):
    answer = cli("train", "Bandit-v0", "--steps", "256", "-q")

    assert answer.code == 0
    assert answer.out.startswith(("SOLVED", "Not solved"))
    assert answer.err == ""


def test_an_environment_without_recipe_gets_a_derived_one_with_reasons(cli):
    answer = cli(
        "train", "CartPole-v0", "--steps", "512", "--set", "env.num_envs=2", "--set", "algo.num_steps=32"
    )

    assert answer.code == 0, answer.err
    assert "There is no recipe; these settings were derived" in answer.out
    assert "→" in answer.out
    assert "derived" in answer.out
    assert "note: CartPole-v0 is out of date" in answer.out


def test_resume_continues_with_a_larger_budget(cli, trained):
    answer = cli("resume", "@last", "--steps", "1k", "--json", "-q")

    assert answer.code == 0, answer.err
    assert answer.json["run"] == trained
    assert answer.json["env_steps"] >= 1000
    kinds = [event["kind"] for event in cli("runs", "show", trained, "--json").json["events"]]
    assert "resumed" in kinds
    shown = cli("runs", "show", trained).out
    assert "settings changed" in shown
    assert "previous=" not in shown


def test_a_resume_of_a_finished_run_says_that_nothing_was_changed(cli, trained, place):
    before = {path: path.read_bytes() for path in (place / "runs").rglob("*") if path.is_file()}
    answer = cli("resume", "@last")
    assert answer.code == 0
    assert answer.out.startswith("Nothing to do, and nothing was changed: its budget of 512 steps is spent")
    assert cli("resume", "@last", "--json").json["nothing_to_do"].startswith("its budget")
    detached = cli("resume", trained, "--detach")
    assert (detached.code, detached.out) == (2, "")
    assert "there is nothing to do" in detached.err
    assert {path: path.read_bytes() for path in (place / "runs").rglob("*") if path.is_file()} == before


def test_a_new_run_begins_with_the_weights_of_another(cli, trained):
    answer = cli("train", "Bandit-v0", "--steps", "256", "--from", f"{trained}@last")

    assert answer.code == 0, answer.err
    assert f"of {trained}@last" in answer.out
    child = cli("runs", "show", "@last", "--json").json
    assert child["parent"]["run"] == trained


def test_a_profile_is_printed_and_part_of_the_object(cli, trained):
    shown = cli("train", "Bandit-v0", "--steps", "2k", "--profile").out
    for word in ("stepping the environments", "learning from rollouts", "flame graph", "speedscope.json"):
        assert word in shown
    told = cli("resume", trained, "--steps", "2k", "--profile", "--json", "-q").json
    assert set(told["profile"]) == {"seconds", "phases", "speedscope"}
    assert Path(told["profile"]["speedscope"]).is_file()


def test_eval_gives_one_object(cli, trained):
    answer = cli("eval", trained[:20], "--episodes", "7", "--stochastic", "--seed", "5", "--json")

    assert answer.code == 0, answer.err
    told = answer.json
    assert {"mean_reward", "std_reward", "episodes", "env_steps", "checkpoint"} <= set(told)
    assert told["episodes"] == 7
    assert told["env_steps"] >= 256
    assert (told["seed"], told["deterministic"], told["threshold"]) == (5, False, 100)
    assert (told["seeds"], told["reached"], told["played_steps"]) == ("fresh", False, 7)


def test_eval_chooses_actions_as_the_run_was_judged(cli):
    sampled = ("eval.deterministic=false", "eval.episodes=20", "video.enabled=false")
    made = cli(
        *("train", "CartPole-v1", "--steps", "256", "--json"), *(w for one in sampled for w in ("--set", one))
    ).json
    words = ("eval", f"{made['run']}@last", "--episodes", "20", "--run-seeds", "--json")
    again = cli(*words).json
    assert (again["deterministic"], again["mean_reward"]) == (False, made["mean_reward"])
    assert cli(*words, "--deterministic").json["deterministic"] is True
    look = ("inspect", made["run"], "--no-camera", "--json")
    assert [cli(*look, *how).json["deterministic"] for how in ((), ("--likeliest",))] == [False, True]


def test_eval_for_people(cli, trained):
    answer = cli("eval", "@last@last", "--episodes", "3")

    assert answer.code == 0
    assert "mean return" in answer.out
    assert "100, not reached" in answer.out
    assert "fresh ones, not those that chose the checkpoint" in answer.out
    assert "looks better than it is" in cli("eval", "@last@last", "--episodes", "3", "--run-seeds").out
    assert trained in answer.out


def test_eval_tells_what_sticky_actions_of_training_change(cli, place):
    sticky = "env.wrappers=[{sticky_actions: {probability: 1.0, roles: [train]}}]"
    made = json.loads(cli("train", "CartPole-v1", "--steps", "256", "--set", sticky, "--json").out)
    alone = cli("eval", made["run"], "--episodes", "4").out
    assert "sticky_actions of training (--as-trained plays with it too)" in alone
    both = cli("eval", made["run"], "--episodes", "4", "--as-trained").out
    assert re.search(r"as trained +mean return \d.*\(with sticky_actions\)", both)
    assert re.search(r"same again +\d+% of choices, \d+% as trained", both)
    words = ("eval", made["run"], "--episodes", "20", "--stochastic", "--as-trained", "--json")
    told = json.loads(cli(*words).out)
    assert told["training_only"] == ["sticky_actions"]
    # Whoever can only press what it pressed first falls at once.
    assert told["as_trained"]["mean_reward"] < 11 < told["mean_reward"]


def test_an_evaluation_that_a_cap_ends_says_which_and_counts_its_steps(cli):
    changes = ("eval.max_steps=64", "env.num_envs=2", "algo.num_steps=16", "video.enabled=false")
    cli("train", "CartPole-v1", "--steps", "32", *(word for one in changes for word in ("--set", one)), "-q")
    told = cli("eval", "@last")
    assert re.search(r"0 \(of 100: eval.max_steps=64 ended it\), [1-9]\d+ steps without an end", told.out)
    facts = cli("eval", "@last", "--json").json
    assert (facts["played_steps"], facts["cut_by"]) == (0, "eval.max_steps=64")
    assert 64 <= facts["taken_steps"] <= 128


def test_eval_does_not_change_the_run(cli, trained, place):
    before = {path: path.read_bytes() for path in (place / "runs").rglob("*") if path.is_file()}
    cli("eval", "@last", "--episodes", "2")
    assert {path: path.read_bytes() for path in (place / "runs").rglob("*") if path.is_file()} == before


def test_ctrl_c_ends_a_training_in_order(place):
    command = [sys.executable, "-m", "gymsolve", "train", "Bandit-v0", "--steps", "100m", "--json"]
    changes = ["--set", "eval.every=90m", "--set", "checkpoint.every=90m"]
    with subprocess.Popen(
        [*command, *changes], cwd=place, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        _wait_for_metrics(place / "runs", process)
        os.kill(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=240)

    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert err.count("stopping: the update under way is finished and saved first") == 1
    told = json.loads(out)
    assert (told["status"], told["reason"]) == ("stopped", "interrupt")


def test_termination_ends_a_training_in_order(cli, monkeypatch):
    seen = Watcher.record

    def record(self, record):
        seen(self, record)
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Watcher, "record", record)
    answer = cli("train", "Bandit-v0", "--steps", "100m", "--set", "eval.every=90m", "--json")

    assert answer.code == 143
    assert (answer.json["status"], answer.json["reason"]) == ("stopped", "terminated")


def test_a_second_ctrl_c_does_not_wait(cli, monkeypatch, place):
    def step(self, step, total):
        while True:  # signals in quick succession are one: `timeout` and shells send theirs twice
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.01)

    monkeypatch.setattr(Watcher, "rollout_step", step)
    answer = cli("train", "Bandit-v0", "--steps", "100m", "-q")

    assert answer.code == 130
    assert "Traceback" not in answer.err
    (run,) = cli("runs", "--json").json
    assert (run["status"], run["reason"]) == ("stopped", "interrupted twice")


def test_stop_ends_a_training_from_another_process(place, cli):
    command = [sys.executable, "-m", "gymsolve", "train", "Bandit-v0", "--steps", "100m", "-q"]
    with subprocess.Popen(
        [*command, "--set", "eval.every=90m"], cwd=place, stdout=subprocess.PIPE
    ) as process:
        _wait_for_metrics(place / "runs", process)
        assert "running" in cli("runs").out
        asked = cli("stop", "@last", "--json")
        out, _ = process.communicate(timeout=240)

    assert asked.json["stop_requested"] is True
    assert process.returncode == 130
    assert b"stopped on request" in out
    assert b"gymsolve resume @last" in out


def _wait_for_metrics(runs: Path, process: "subprocess.Popen[str] | subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 240
    while not any(path.stat().st_size for path in runs.glob("*/metrics.jsonl")):
        assert process.poll() is None, "the training ended before it was stopped"
        assert time.monotonic() < deadline, "no metrics after four minutes"
        time.sleep(0.05)
