"""`max_seconds` is a promise about the whole command: what is cut for it, what is kept, and what is said."""

import subprocess
import sys
import time

import pytest

import gymsolve
from gymsolve.cli.live.view import View, progress_line
from gymsolve.training import time_limit
from gymsolve.training.counters import Counters
from gymsolve.training.observer import Silent
from gymsolve.training.planning.plan import plan_run
from gymsolve.training.session import start_run
from gymsolve.training.time_limit import TimeLimit

LIMIT = 1000.0
SETTINGS = {
    "steps": 10_000_000,
    "max_seconds": LIMIT,
    "env.num_envs": 2,
    "algo.num_steps": 16,
    "algo.num_epochs": 1,
    "eval.episodes": 2,
    "eval.every": 5_000_000,
    "solved_at": 1e9,
    "video.enabled": False,
}


class Hours(Silent):
    """A clock that only training and evaluation move: so many seconds for each of their steps."""

    def __init__(self, monkeypatch, *, rollout=0.0, evaluation=0.0):
        self.passed, self.rollout, self.evaluation = 0.0, rollout, evaluation
        self.began = time.perf_counter()
        monkeypatch.setattr(time_limit, "now", lambda: self.began + self.passed)

    def rollout_step(self, step, total):
        self.passed += self.rollout

    def eval_step(self, done, total):
        self.passed += self.evaluation

    def train(self, **changes):
        return start_run(plan_run("CartPole-v1:ppo", SETTINGS | changes), observer=self, began=self.began)


def notes(run):
    return [event["text"] for event in run.read_events().rows if event["kind"] == "note"]


def evaluated(run):
    return [row["env_steps"] for row in run.read_metrics().rows if "eval/mean_reward" in row]


def test_training_ends_in_time_for_the_last_evaluation(monkeypatch):
    clock = Hours(monkeypatch, rollout=1.0)
    outcome = clock.train()
    assert (outcome.status, outcome.reason) == ("finished", "time")
    assert evaluated(outcome.run) == [outcome.env_steps]
    # Kept are 100 s for the evaluation, of which none has been seen, and 30 s; a rollout takes 16 s.
    assert LIMIT - 100 - 30 - 16 <= clock.passed < LIMIT - 100 - 30


def test_a_limit_that_an_evaluation_exceeds_is_kept_and_a_resume_makes_up_for_it(monkeypatch):
    clock = Hours(monkeypatch, rollout=1.0, evaluation=LIMIT / 2)
    outcome = clock.train()
    assert (outcome.reason, outcome.mean_reward) == ("time", None)
    assert evaluated(outcome.run) == []
    left_out = (
        f"left no time for the evaluation at step {outcome.env_steps}, which decides neither solved nor best"
    )
    assert left_out in notes(outcome.run)[-1]
    assert notes(outcome.run)[-1].endswith(f"gymsolve resume {outcome.run.id}")
    # The evaluation is all that the next sitting does, and it does not fit: as long again is of no use.
    clock = Hours(monkeypatch, evaluation=LIMIT / 2)
    assert gymsolve.resume(outcome.run, observer=clock).env_steps == outcome.env_steps
    assert notes(outcome.run)[-1].endswith(f"gymsolve resume {outcome.run.id} --max-seconds 2000")
    monkeypatch.undo()
    resumed = gymsolve.resume(outcome.run, steps=outcome.env_steps + 32, max_seconds="1h")
    assert evaluated(outcome.run) == [outcome.env_steps, outcome.env_steps + 32]
    assert resumed.mean_reward is not None


def test_a_rollout_that_cannot_end_in_time_is_given_up(monkeypatch):
    clock = Hours(monkeypatch, rollout=LIMIT / 11)
    outcome = clock.train()
    assert (outcome.reason, outcome.env_steps) == ("time", 0)
    assert "max_seconds is over in step 10 of 16 of a rollout: nothing is learned from it" in notes(
        outcome.run
    )
    assert evaluated(outcome.run) == [0]
    assert clock.passed <= LIMIT
    monkeypatch.undo()
    resumed = gymsolve.resume(outcome.run, steps=64, max_seconds="1h")
    assert (resumed.env_steps, resumed.reason) == (64, "steps")


def test_what_came_before_training_counts(monkeypatch):
    plan = plan_run("Bandit-v0:ppo", SETTINGS)
    outcome = start_run(plan, began=time.perf_counter() - LIMIT)
    assert (outcome.reason, outcome.env_steps) == ("time", 0)
    assert "left no time for the evaluation at step 0" in notes(outcome.run)[-1]
    # The limit is one of a command: a resume has as long again.
    clock = Hours(monkeypatch, rollout=1.0)
    resumed = gymsolve.resume(outcome.run, observer=clock)
    assert resumed.reason == "time"
    assert resumed.env_steps > 0
    assert evaluated(resumed.run) == [0, resumed.env_steps]


def test_videos_are_left_out_where_no_time_is_left(monkeypatch):
    clock = Hours(monkeypatch, rollout=1.0, evaluation=200.0)
    outcome = clock.train(**{"video.enabled": True, "eval.num_envs": 2})
    assert clock.passed >= LIMIT - 1
    assert evaluated(outcome.run) == []
    assert (
        notes(outcome.run)[-1] == "max_seconds left no time for videos; make one with: gymsolve record @last"
    )


@pytest.mark.real_start
def test_the_time_of_a_command_counts_from_the_start_of_its_process():
    code = (
        "import time; time.sleep(0.3)\n"
        "from gymsolve.cli import command_start\n"
        "from gymsolve.cli.command_start import command_began, counted_from_now\n"
        "command_start._LONGEST_START = 1e9\n"
        "with counted_from_now(alone=True): own = time.perf_counter() - command_began()\n"
        "with counted_from_now(alone=False): called = time.perf_counter() - command_began()\n"
        "command_start._LONGEST_START = 0.2\n"
        "with counted_from_now(alone=True): kept = time.perf_counter() - command_began()\n"
        "print(own >= 0.3, called < own, kept < own)"
    )
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    # The last one stands for a script that did something else for long and became gymsolve by `exec`.
    assert answer.stdout.split() == ["True", "True", "True"]


def test_the_live_line_says_what_is_left(monkeypatch):
    counters, limit = Counters(env_steps=500), TimeLimit(120.0, began=0.0)
    monkeypatch.setattr(time_limit, "now", lambda: 30.0)
    view = View("x", 1000, None, 2, counters, time_limit=limit, began=0.0)
    assert progress_line(view, 30.0).endswith("1:30 left of 2:00")
    view.steps_before = 0  # at this pace the budget is spent in 30 s, before the limit
    assert progress_line(view, 30.0).endswith("0:30 left")


def test_what_a_blind_policy_earns_is_not_measured_in_the_time_of_the_report(monkeypatch):
    clock = Hours(monkeypatch, rollout=1.0, evaluation=1.25)
    outcome = clock.train(**{"eval.episodes": 5})
    assert evaluated(outcome.run) == [outcome.env_steps]
    assert not any("blind/random_reward" in row for row in outcome.run.read_metrics().rows)
    assert LIMIT - 30 <= clock.passed <= LIMIT - 30 + 2


def test_an_evaluation_ends_before_the_time_of_the_report(monkeypatch):
    clock = Hours(monkeypatch, rollout=1.0, evaluation=7.0)
    outcome = clock.train(**{"eval.episodes": 200, "eval.num_envs": 1})
    assert evaluated(outcome.run) == []
    assert clock.passed <= LIMIT - 30 + 7


def test_a_lost_evaluation_says_nothing_of_the_time_of_the_last_one(monkeypatch):
    limit = TimeLimit(LIMIT, began=0.0)
    kept = limit.kept
    limit.saw_evaluation(0.0)  # its process died, each time
    assert limit.kept == kept
    limit.saw_evaluation(20.0)
    assert limit.kept == 20.0 * 1.5 + 30.0
