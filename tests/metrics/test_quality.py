"""The one number for a training's quality, on curves whose area is known."""

import math

import pytest

from gymsolve.metrics.history import History
from gymsolve.metrics.quality import quality


def area(points, threshold):
    """Of evaluations (step, return), the last of which is the new one."""
    records = [{"env_steps": step, "eval/mean_reward": value} for step, value in points]
    return quality(History(records[:-1]), records[-1], threshold)


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
