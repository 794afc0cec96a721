"""`eval.max_seconds` ends an evaluation that would go on for ever, and a cut one decides nothing."""

import pytest

import gymsolve
from gymsolve.settings.config import TrainConfig
from gymsolve.training.build import build_trainer
from gymsolve.training.evaluation.evaluate import Evaluator

AT_ONCE = 1e-9
"""Seconds that are over after the first step, on any machine."""
ENDLESS = "training_envs:Endless-v0"
BRIEF = {
    "env.num_envs": 2,
    "algo.num_steps": 16,
    "steps": 64,
    "eval.every": 32,
    "eval.episodes": 3,
    "eval.num_envs": 3,
    "solved_at": -1e9,
    "video.enabled": False,
}


def evaluate(env_id, seconds, **env):
    settings = TrainConfig.model_validate(
        {
            "env": {"id": env_id, "num_envs": 2, **env},
            "algo": {"name": "ppo", "num_steps": 16},
            "eval": {"episodes": 3, "num_envs": 3, "max_seconds": seconds},
        }
    )
    trainer = build_trainer(settings)
    trainer.envs.close()
    evaluator = Evaluator(settings, threshold=-1e9)
    try:
        return evaluator.evaluate(trainer.policy, 1)
    finally:
        evaluator.close()


def test_a_limit_that_is_over_at_once_lets_every_copy_take_one_step():
    verdict = evaluate(ENDLESS, AT_ONCE)
    assert verdict.played_steps == 3
    assert (verdict.complete, verdict.solved) == (False, False)
    assert "cut off by eval.max_seconds=1e-09: 0 episodes had ended, after 3 steps" in verdict.cut


def test_an_endless_evaluation_ends():
    """Nothing else ends it within the time limit of a test: two million steps are not over by then."""
    verdict = evaluate(ENDLESS, 0.2)
    assert not verdict.complete
    assert "eval.max_seconds=0.2" in verdict.cut


def test_whole_episodes_below_the_limit_are_not_cut():
    verdict = evaluate("training_envs:Lengths-v0", 1e6)
    assert (verdict.complete, verdict.cut) == (True, "")


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_run_whose_evaluations_are_cut_has_no_best_and_is_never_solved(asynchronous):
    limits = {"eval.max_seconds": AT_ONCE, "eval.asynchronous": asynchronous}
    outcome = gymsolve.train(f"{ENDLESS}:ppo", BRIEF | limits)
    assert (outcome.solved, outcome.reason) == (False, "steps")
    events = outcome.run.read_events().rows
    assert not [event for event in events if event["kind"] in ("best", "solved")]
    assert [event for event in events if "cut off by eval.max_seconds" in event.get("text", "")]
    assert not (outcome.run.path / "checkpoints" / "best").exists()
