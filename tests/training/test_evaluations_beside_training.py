"""Evaluations beside training: a kill while one is under way leaves the same records as no kill."""

import os
import signal

import pytest
from killing import in_child
from resuming import assert_same, metrics

import gymsolve
from gymsolve.runs.loading import load_checkpoint
from gymsolve.training.evaluation.scheduler import ProcessScheduler
from gymsolve.training.observer import Silent

SETTINGS = {
    "steps": 1024,
    "env.num_envs": 2,
    "algo.num_steps": 32,
    "algo.num_epochs": 1,
    "eval.every": 256,
    "eval.episodes": 2,
    "eval.asynchronous": True,
    "checkpoint.every": 128,
    "solved_at": 1e9,
    "video.enabled": False,
}


def done_in_time(scheduler):
    """Every evaluation is over when training looks for it: the quickest that an evaluation can be."""
    return ProcessScheduler._receive(scheduler) if scheduler._pending is not None else []


def never_done(scheduler):
    """No evaluation is over when training looks: the slowest that one can be."""
    return []


class DieAfter(Silent):
    def __init__(self, step):
        self.step = step

    def record(self, record):
        if "eval/mean_reward" not in record and record["env_steps"] > self.step:
            os.kill(os.getpid(), signal.SIGKILL)


def evaluations(run):
    return [row for row in metrics(run) if "eval/mean_reward" in row]


@pytest.fixture(scope="module")
def straight(tmp_path_factory):
    folder = tmp_path_factory.mktemp("straight")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ProcessScheduler, "finished", done_in_time)
        run = gymsolve.train("CartPole-v1:ppo", SETTINGS, runs_dir=folder).run
    assert [row["env_steps"] for row in evaluations(run)] == [256, 512, 768, 1024]
    return run


@pytest.mark.parametrize("killed_after", [300, 600, 800])
def test_an_evaluation_repeated_by_a_resume_keeps_no_other_from_happening(
    straight, killed_after, tmp_path, monkeypatch
):
    """The resume begins the evaluation again, and it is not over when the next one is due."""

    def train():
        monkeypatch.setattr(ProcessScheduler, "finished", done_in_time)
        newest = killed_after // 256 * 256

        def finished(scheduler):
            late = scheduler._pending is not None and scheduler._pending[0]["env_steps"] == newest
            return [] if late else done_in_time(scheduler)

        monkeypatch.setattr(ProcessScheduler, "finished", finished)
        gymsolve.train("CartPole-v1:ppo", SETTINGS, runs_dir=tmp_path, observer=DieAfter(killed_after))

    assert in_child(train) == signal.SIGKILL
    run = gymsolve.open_run("@last", runs_dir=tmp_path)
    counters = load_checkpoint(run, "last").trainer_state["parts"]["counters"]
    assert counters["judging"] == killed_after // 256 * 256

    def finished(scheduler):
        return [] if scheduler._is_first else done_in_time(scheduler)

    monkeypatch.setattr(ProcessScheduler, "finished", finished)
    gymsolve.resume(run)
    by_step = {"key": lambda row: (row["env_steps"], "eval/mean_reward" in row)}
    assert_same(sorted(metrics(run), **by_step), sorted(metrics(straight), **by_step))


def test_one_evaluation_at_a_time_and_those_that_come_too_early_are_left_out(tmp_path, monkeypatch):
    monkeypatch.setattr(ProcessScheduler, "finished", never_done)
    run = gymsolve.train("CartPole-v1:ppo", SETTINGS, runs_dir=tmp_path).run
    # The first one is waited for, and so is the one that is under way at the end.
    assert [row["env_steps"] for row in evaluations(run)] == [256, 512, 1024]
    skipped = [event["env_steps"] for event in run.read_events().rows if event["kind"] == "eval_skipped"]
    assert skipped == [768]


def test_a_process_that_had_to_start_again_keeps_no_evaluation_from_happening(
    straight, tmp_path, monkeypatch
):
    """Another process repeats the evaluation, and it is not over when the next one is due."""
    begin, begun = ProcessScheduler._begin, []

    def begin_and_kill(scheduler, trainer, place, where):
        outcomes = begin(scheduler, trainer, place, where)
        begun.append(where["env_steps"])
        if len(begun) == 2:
            os.kill(scheduler._process.process.pid, signal.SIGKILL)
            scheduler._process.process.join()
        return outcomes

    def finished(scheduler):
        """The death is noticed at once, and an evaluation that had to begin again is never over."""
        late = len(begun) == 2 and scheduler._deaths
        return [] if late else done_in_time(scheduler)

    monkeypatch.setattr(ProcessScheduler, "_begin", begin_and_kill)
    monkeypatch.setattr(ProcessScheduler, "finished", finished)
    run = gymsolve.train("CartPole-v1:ppo", SETTINGS, runs_dir=tmp_path).run
    results = [(row["env_steps"], row["eval/mean_reward"]) for row in evaluations(run)]
    assert results == [(row["env_steps"], row["eval/mean_reward"]) for row in evaluations(straight)]
    assert [event["kind"] for event in run.read_events().rows].count("env_fault") == 1
