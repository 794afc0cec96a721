"""Forgetting and transfer against numbers computed by hand."""

import itertools

import pytest

from gymsolve.view.transfer import forgetting, forward_transfer, mean_between, spread_of_tasks, value_at

FIRST = [(0.0, 0.0), (100.0, 0.8), (200.0, 0.9), (300.0, 0.4), (400.0, 0.3)]
SECOND = [(0.0, 0.0), (200.0, 0.2), (300.0, 0.6), (400.0, 1.0)]


def test_forgetting_is_the_end_of_the_stage_less_the_end():
    assert forgetting(FIRST, 200.0) == pytest.approx(0.9 - 0.3)
    assert forgetting(FIRST, 250.0) == pytest.approx(0.6), "the newest evaluation before the stage ended"
    assert forgetting(SECOND, 400.0) == 0.0
    assert forgetting(SECOND, 200.0) == pytest.approx(0.2 - 1.0), "it went on getting better"
    assert forgetting([], 100.0) is None
    assert forgetting([(50.0, 1.0)], 10.0) is None


def test_the_value_at_a_step_is_the_newest_one():
    assert [value_at(SECOND, step) for step in (0, 199, 200, 1e9)] == [0.0, 0.0, 0.2, 1.0]
    assert value_at(SECOND, -1) is None


def test_areas_by_hand():
    assert mean_between(SECOND, 200.0, 400.0) == pytest.approx((0.4 * 100 + 0.8 * 100) / 200)
    assert mean_between(SECOND, 250.0, 350.0) == pytest.approx((0.5 * 50 + 0.7 * 50) / 100)
    assert mean_between([(100.0, 0.5)], 0.0, 200.0) == 0.5
    assert mean_between(SECOND, 300.0, 300.0) is None
    # The rule of the trapezium against a sum of a million strips.
    strips = [value for at in range(4000) for value in [_line(SECOND, at / 10)]]
    assert mean_between(SECOND, 0.0, 400.0) == pytest.approx(sum(strips) / 4000, abs=1e-3)


def _line(curve, at):
    return next(
        low + (high - low) * (at - left) / (right - left)
        for (left, low), (right, high) in itertools.pairwise(curve)
        if left <= at <= right
    )


def test_forward_transfer_by_hand():
    scratch = [(0.0, 0.0), (100.0, 0.2), (200.0, 0.6)]  # an area of (0.1·100 + 0.4·100) / 200 = 0.25
    # The stage lasted from 200 to 400: an area of 0.6.
    found = forward_transfer(SECOND, scratch, begin=200.0, end=400.0)
    assert found == pytest.approx((0.6 - 0.25) / (1 - 0.25))
    assert forward_transfer(scratch, scratch, begin=0.0, end=200.0) == 0.0
    perfect = [(200.0, 1.0), (400.0, 1.0)]
    assert forward_transfer(perfect, scratch, begin=200.0, end=400.0) == pytest.approx(1.0)
    assert forward_transfer(perfect, perfect, begin=200.0, end=400.0) is None, "nothing is left to gain"
    worse = [(200.0, 0.0), (400.0, 0.1)]
    assert forward_transfer(worse, scratch, begin=200.0, end=400.0) < 0
    returns = [(200.0, 50.0), (400.0, 150.0)]
    assert forward_transfer(returns, [(0.0, 0.0)], begin=200.0, end=400.0, best=200.0) == pytest.approx(0.5)


def test_all_steps_at_which_something_was_judged():
    assert spread_of_tasks({"a": FIRST, "b": SECOND}) == [0.0, 100.0, 200.0, 300.0, 400.0]
