"""The one number for a training's quality, on curves whose area is known."""

import math

import pytest

from gymsolve.doctor.history import History
from gymsolve.doctor.quality import quality_so_far, training_quality


def area(points, threshold):
    """Of evaluations (step, return), the last of which is the new one."""
    records = [{"env_steps": step, "eval/mean_reward": value} for step, value in points]
    return quality_so_far(History(records[:-1]), records[-1], threshold=threshold, budget=1000)


def test_known_curves():
    assert area([(0, 0.0), (100, 10.0)], 10.0) == {"quality/area": 0.5}  # a straight climb
    assert area([(100, 0.0), (200, 10.0)], 10.0) == {"quality/area": 0.25}  # nothing in the first half
    assert area([(100, 0.0), (200, 10.0), (400, 30.0)], 10.0) == {"quality/area": 0.625}  # no more than all
    assert area([(100, 5.0), (200, -5.0), (300, 5.0)], 10.0) == {"quality/area": 0.0}  # no less than nothing
    assert area([(100, -200.0), (200, -150.0)], -100.0) == {"quality/area": 0.125}


def test_a_start_beyond_the_goal_counts_in_full():
    assert area([(100, 20.0)], 10.0) == {"quality/area": 1.0}
    assert area([(100, 20.0), (200, 0.0)], 10.0) == {"quality/area": 0.75}
    assert area([(0, 3.0)], 10.0) == {"quality/area": 0.0}


def test_without_a_goal_or_a_result_there_is_none():
    assert area([(100, 0.0), (200, 10.0)], None) == {}
    assert area([(100, 0.0), (200, math.nan)], 10.0) == {}
    assert area([(100, 0.0), (200, math.nan), (300, 10.0)], 10.0)["quality/area"] == pytest.approx(1 / 3)


def test_a_solved_run_keeps_what_it_reached_for_the_rest_of_its_budget():
    record = {"env_steps": 200, "eval/mean_reward": 10.0, "solved": 1.0}
    before = History([{"env_steps": 0, "eval/mean_reward": 0.0}])
    told = quality_so_far(before, record, threshold=10.0, budget=1000)
    assert told == {"quality/area": pytest.approx(0.9)}


def test_where_successes_decide_their_share_is_what_counts():
    shares = [(0, 0.0), (100, 0.45), (200, 0.9)]
    records = [{"env_steps": step, "eval/mean_reward": -step, "eval/success_rate": y} for step, y in shares]
    known = {"threshold": None, "success_needed": 0.9, "budget": 1000}
    told = quality_so_far(History(records[:-1]), records[-1], **known)
    assert told == {"quality/area": pytest.approx(0.5)}
    again = training_quality(records, samples=200, solved=False, **known)
    assert again == pytest.approx(0.5)
