"""What a curriculum went through, by events and evaluations that are written out."""

import pytest

from gymsolve.settings.config import TrainConfig
from gymsolve.view.stages import how_it_ended, stage_stories, stage_visits, task_curves

CONFIG = TrainConfig.model_validate(
    {
        "env": {"id": "CartPole-v1", "tasks": {"a": {}, "b": {"max_episode_steps": 9}, "c": {"kwargs": {}}}},
        "algo": {"name": "ppo"},
        "curriculum": {"stages": ["a", "b", "c"], "promote_at": 100},
    }
)


def move(kind, step, stage, following, **more):
    return {"kind": kind, "env_steps": step, "stage": stage, "next": following, "by": "bound", **more}


UP_A = move("promoted", 100, "a", "b", achieved=120.0, bound=110.0, bar=100.0, episodes=100, judged="a")
UP_B = move("promoted", 200, "b", "c", by="steps", judged="b")
DOWN = move("demoted", 300, "c", "a", judged="a")


def test_visits_follow_the_moves():
    found = stage_visits(CONFIG, [{"kind": "started"}, UP_A, UP_B, DOWN])
    assert [(one.stage, one.began, one.ended) for one in found] == [
        ("a", 0, 100),
        ("b", 100, 200),
        ("c", 200, 300),
        ("a", 300, None),
    ]
    words = ["promoted", "promoted, steps spent", "demoted, a collapsed", ""]
    assert [how_it_ended(one) for one in found] == words
    assert (found[0].achieved, found[0].bound, found[0].bar, found[0].episodes) == (120.0, 110.0, 100.0, 100)


def test_moves_that_a_resume_took_back_never_happened():
    again = move("promoted", 250, "b", "c")
    found = stage_visits(CONFIG, [UP_A, UP_B, {"kind": "resumed", "env_steps": 150}, again])
    assert [(one.stage, one.began) for one in found] == [("a", 0), ("b", 100), ("c", 250)]
    # A kill between two writes may have told a move twice.
    assert len(stage_visits(CONFIG, [UP_A, {"kind": "resumed", "env_steps": 100}, UP_A])) == 2


ROWS = [
    {"env_steps": 0, "task_eval/a": 10.0, "task_eval/b": 5.0, "task_eval_success/a": 0.0},
    {"env_steps": 50, "rollout/ep_rew_mean": 1.0},
    {"env_steps": 100, "task_eval/a": 130.0, "task_eval/b": 7.0, "task_eval_success/a": 0.9},
    {"env_steps": 200, "task_eval/a": 90.0, "task_eval/b": 50.0, "task_eval/c": float("nan")},
    {"env_steps": 300, "task_eval/a": 40.0, "task_eval/b": 60.0, "task_eval/c": 3.0},
]


def test_what_is_left_of_each_stage_by_hand():
    curves = task_curves(ROWS, ("a", "b", "c"), by_success=False)
    assert curves["c"] == [(300.0, 3.0)]
    told = {one.stage: one for one in stage_stories(stage_visits(CONFIG, [UP_A, UP_B]), curves)}
    assert (told["a"].at_end, told["a"].now, told["a"].forgotten) == (130.0, 40.0, pytest.approx(90.0))
    assert (told["b"].at_end, told["b"].now, told["b"].forgotten) == (50.0, 60.0, pytest.approx(-10.0))
    assert (told["c"].ended, told["c"].now, told["c"].forgotten) == (None, 3.0, None)
    assert task_curves(ROWS, ("a",), by_success=True)["a"] == [(0.0, 0.0), (100.0, 0.9)]


def test_a_run_without_a_ladder_has_no_visits():
    plain = CONFIG.model_copy(update={"curriculum": type(CONFIG.curriculum)()})
    assert stage_visits(plain, [UP_A]) == []
