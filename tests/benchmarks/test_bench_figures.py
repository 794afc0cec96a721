"""Medians, ratios and lines: known numbers in, known numbers out."""

import math

import pytest

from benchmarks.figures import line_fit, paired_ratios, quartiles, spread


def run(tool, number, speed, session="s1"):
    return {"case": "c", "tool": tool, "session": session, "round": number, "speed": speed}


def test_spread_is_the_median_and_the_full_range():
    found = spread([3.0, 1.0, 10.0])
    assert (found.median, found.low, found.high, found.count) == (3.0, 1.0, 10.0, 3)


def test_spread_leaves_out_what_is_no_number():
    assert spread([math.nan, 2.0]).count == 1
    assert spread([math.nan]) is None
    assert spread([]) is None


def test_seeds_that_never_solve_are_infinitely_late():
    found = quartiles([1.0, 2.0, 3.0, math.inf])
    assert found.median == 2.5
    assert found.low == 1.75
    assert found.high == math.inf
    assert quartiles([math.inf, math.inf]).median == math.inf
    assert quartiles([]) is None


def test_ratios_are_taken_within_a_round_of_one_session():
    runs = [
        run("gymsolve", 0, 10.0),
        run("sb3", 0, 2.0),
        run("gymsolve", 1, 30.0),
        run("sb3", 1, 3.0),
        run("gymsolve", 2, 99.0),  # without a partner
        run("sb3", 2, 1.0, session="s2"),  # of another day
    ]
    assert paired_ratios(runs, "c", "sb3", "speed") == [5.0, 10.0]


def test_a_run_that_failed_has_no_ratio():
    failed = {"case": "c", "tool": "sb3", "session": "s1", "round": 0, "error": "no wheel"}
    assert paired_ratios([run("gymsolve", 0, 10.0), failed], "c", "sb3", "speed") == []


def test_a_straight_line_is_found():
    slope, start, fit = line_fit([1, 2, 3], [5.0, 7.0, 9.0])
    assert (slope, start, fit) == pytest.approx((2.0, 3.0, 1.0))
