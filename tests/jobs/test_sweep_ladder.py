"""The ladder of a sweep against brute force: who goes on, who is the best, and what is worth its cost."""

import itertools
import math
import random

import pytest

from gymsolve.jobs.sweeps.ladder import Level, Standing, best_of, make_levels, next_promotion, pareto
from gymsolve.jobs.sweeps.results import Evaluation, curve_mean, training_seconds


def standings(*scores, busy=()):
    return {
        number: Standing(number, tuple(own), busy=number in busy, broken=-math.inf in own)
        for number, own in enumerate(scores)
    }


def climb(final, levels):
    """Numbers by level when every configuration scores the same at each level, one after the other."""
    scores = {0: []}
    reached = {level: [] for level in range(1, levels + 1)}
    while True:
        now = standings(*scores.values())
        waiting = [number for number, own in scores.items() if not own]
        chosen = None if waiting else next_promotion(now, levels)
        if waiting:
            number = waiting[0]
        elif chosen is not None:
            number = chosen.number
        elif len(scores) < len(final):
            scores[len(scores)] = []
            continue
        elif (chosen := next_promotion(now, levels, last=True)) is not None:
            number = chosen.number
        else:
            return reached
        scores[number].append(final[number])
        reached[len(scores[number])].append(number)


@pytest.mark.parametrize("seed", range(20))
def test_the_best_climb_to_the_top_and_the_work_shrinks_by_level(seed):
    rng = random.Random(seed)
    final = [rng.random() for _ in range(rng.choice([2, 5, 14, 30]))]
    reached = climb(final, 4)
    assert len(reached[1]) == len(final)
    assert max(final) == max(final[number] for number in reached[4])
    for level in (1, 2, 3):
        cohort, above = reached[level], reached[level + 1]
        assert set(above) <= set(cohort)
        assert len(above) <= max(2, len(cohort))
    assert len(reached[2]) < len(final) or len(final) <= 5


def test_a_configuration_that_rests_goes_on_once_worse_ones_have_come():
    now = standings([1.0], [3.0], [2.0])
    assert next_promotion(now, 2).number == 1
    now = standings([1.0], [3.0, 3.0], [2.0])
    assert next_promotion(now, 2) is None  # one of three
    now = standings([1.0], [3.0, 3.0], [2.0], [0.0], [0.5], [0.1])
    assert next_promotion(now, 2).number == 2  # two of six: it is revived


def test_broken_and_busy_ones_do_not_go_on():
    now = standings([-math.inf], [1.0], [0.0], busy=(1,))
    assert next_promotion(now, 2) is None
    assert next_promotion(standings([-math.inf], [-math.inf], [-math.inf]), 2, last=True) is None
    assert best_of(standings([-math.inf], [])) is None


def test_the_end_waits_for_those_that_may_still_be_better():
    assert next_promotion(standings([1.0], [], busy=(1,)), 2, last=True) is None
    assert next_promotion(standings([1.0], [0.0]), 2, last=True).number == 0


def test_the_best_is_the_best_of_the_highest_level():
    assert best_of(standings([9.0], [1.0, 2.0], [3.0, 1.0])).number == 1


@pytest.mark.parametrize("seed", range(10))
def test_the_front_is_what_nothing_else_beats(seed):
    rng = random.Random(seed)
    points = {number: (rng.randrange(6), rng.randrange(6)) for number in range(12)}

    def beaten(number):
        score, cost = points[number]
        others = [point for other, point in points.items() if other != number]
        return any(s >= score and c <= cost and (s, c) != (score, cost) for s, c in others)

    front = pareto(points)
    assert {points[number] for number in front} == {points[n] for n in points if not beaten(n)}
    assert [points[n][1] for n in front] == sorted(points[n][1] for n in front)


def test_levels_are_thirds_of_the_budget_with_evaluations_in_them_then_seeds():
    levels = make_levels(90_000, 4_500, None, (0, 1, 2))
    assert [level.until for level in levels] == [10_000, 30_000, None, None, None]
    assert [level.seed for level in levels] == [0, 0, 0, 1, 2]
    assert make_levels(1_000, 500, None, (5,)) == (Level(5, None),)
    assert make_levels(90_000, 4_500, 1, (0, 1)) == (Level(0, None), Level(1, None))


def test_the_mean_of_a_curve_is_its_area():
    rng = random.Random(0)
    steps = sorted(rng.sample(range(1, 100), 6))
    curve = [Evaluation(step, rng.uniform(-5, 5), 0.0, False) for step in steps]

    def value(at):
        if at <= steps[0] or at >= steps[-1]:
            return curve[0].mean if at <= steps[0] else curve[-1].mean
        left, right = next((a, b) for a, b in itertools.pairwise(curve) if a.env_steps <= at <= b.env_steps)
        return left.mean + (right.mean - left.mean) * (at - left.env_steps) / (
            right.env_steps - left.env_steps
        )

    fine = 1000
    area = sum(value((index + 0.5) / fine) for index in range(120 * fine)) / fine
    assert curve_mean(curve, 120) == pytest.approx(area / 120, abs=1e-6)


def test_seconds_of_training_leave_evaluations_out():
    rows = [
        {"env_steps": 100, "time/elapsed": 1.0},
        {"env_steps": 100, "eval/mean_reward": 0.0, "eval/seconds": 5.0},
        {"env_steps": 150, "eval/mean_reward": 0.0, "eval/seconds": 7.0},
        {"env_steps": 200, "time/elapsed": 14.0},
    ]
    seconds = training_seconds(rows)
    assert [seconds(step) for step in (50, 100, 150, 200)] == [0.5, 1.0, 1.5, 2.0]
    assert training_seconds(rows[1:2])(100) == 0.0
