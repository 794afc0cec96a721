"""Whether two groups differ: chances by brute force, intervals that cover, and how many seeds are enough."""

import itertools
import math
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymsolve.difference import (
    SURE,
    compare_groups,
    fewest_seeds,
    holm,
    lowest_chance,
    median_interval,
)

SMALL = st.lists(st.integers(0, 6), min_size=1, max_size=5)


def rank_sum(numbers, chosen):
    """The sum of the ranks of the chosen places; equal numbers share the mean of theirs."""
    ordered = sorted(numbers)
    return sum(
        (ordered.index(numbers[place]) + 1 + len(ordered) - ordered[::-1].index(numbers[place])) / 2
        for place in chosen
    )


@given(SMALL, SMALL)
def test_the_chance_is_counted_over_all_ways_to_deal_the_numbers_out(first, second):
    numbers, n = [*first, *second], len(first)
    middle = n * (len(numbers) + 1) / 2
    seen = abs(rank_sum(numbers, range(n)) - middle)
    dealt = list(itertools.combinations(range(len(numbers)), n))
    clear = sum(abs(rank_sum(numbers, chosen) - middle) >= seen - 1e-9 for chosen in dealt)
    assert compare_groups(first, second).chance == pytest.approx(clear / len(dealt))


@given(SMALL, SMALL)
def test_the_two_groups_change_places(first, second):
    there, back = compare_groups(first, second), compare_groups(second, first)
    assert there.chance == back.chance
    assert there.higher == pytest.approx(1.0 - back.higher)
    assert there.shift == -back.shift
    assert (there.low, there.high) == ((None, None) if back.low is None else (-back.high, -back.low))


@given(SMALL, SMALL, st.integers(-3, 3))
def test_the_interval_holds_the_shifts_that_the_test_does_not_refuse(first, second, shift):
    """Between whole numbers, where no two numbers are equal, test and interval say the same of any shift."""
    moved = [number + 0.5 - shift + place / 100 for place, number in enumerate(second)]
    still = [number + place / 1000 for place, number in enumerate(first)]
    gap = compare_groups(still, moved)
    inside = gap.low is None or gap.low <= 0.0 <= gap.high
    assert inside == (gap.chance > SURE)


@pytest.mark.parametrize("counts", [(4, 4), (5, 5), (3, 8), (12, 12), (30, 30)])
def test_without_a_difference_one_comparison_in_twenty_or_fewer_is_claimed(counts):
    draw = random.Random(sum(counts))
    results = [0.0, 500.0]  # some seeds solve it and others fail, with a little noise
    wrong = 0
    for _ in range(1000):
        first, second = ([draw.choice(results) + draw.random() for _ in range(count)] for count in counts)
        wrong += compare_groups(first, second).is_clear
    assert wrong / 1000 < 0.07  # 0.05 and three standard errors


def test_separated_seeds_are_claimed_from_four_on():
    for count in (1, 2, 3):
        gap = compare_groups(range(count), range(100, 100 + count))
        assert not gap.is_clear
        assert gap.low is None
        assert gap.fewest() == 4
    gap = compare_groups([9, 20, 33, 57], [172, 200, 257, 437])
    assert gap.is_clear
    assert gap.chance == pytest.approx(2 / 70)
    assert (gap.low, gap.high, gap.higher) == (172 - 57, 437 - 9, 1.0)
    assert fewest_seeds() == 4
    assert lowest_chance(3, 3) == pytest.approx(0.1)
    assert lowest_chance(2, 7) > SURE > lowest_chance(2, 8)


def test_more_comparisons_need_more_seeds():
    assert [fewest_seeds(tests) for tests in (1, 3, 6)] == [4, 5, 5]
    assert holm([0.02, 0.03]) == [True, True]
    assert holm([0.03, 0.03]) == [False, False]
    assert holm([0.2, 0.01, 0.02]) == [False, True, True]


def test_the_seeds_that_are_needed_show_it_in_four_of_five_tries():
    draw = random.Random(0)
    wide = [draw.gauss(0, 1) for _ in range(200)], [draw.gauss(1, 1) for _ in range(200)]
    count = replace(compare_groups(*wide), counts=(2, 2)).fewest()
    shown = 0
    for _ in range(300):
        first = [draw.gauss(0, 1) for _ in range(count)]
        second = [draw.gauss(1, 1) for _ in range(count)]
        shown += compare_groups(first, second).is_clear
    assert 0.7 < shown / 300 < 0.9


def test_results_beyond_any_number_count_as_the_lowest():
    crashed = compare_groups([-math.inf] * 4, [1.0, 2.0, 3.0, 4.0])
    assert crashed.is_clear
    assert crashed.shift is None
    assert not compare_groups([-math.inf] * 4, [-math.inf] * 4).is_clear
    assert compare_groups([math.inf, 1.0], [math.inf, 1.0]).higher == 0.5


def test_equal_numbers_differ_in_nothing():
    same = compare_groups([10.0] * 6, [10.0] * 6)
    assert (same.shift, same.low, same.high, same.higher, same.chance) == (0.0, 0.0, 0.0, 0.5, 1.0)
    assert same.fewest() is None


def test_the_interval_of_a_median_is_that_of_the_binomial():
    assert median_interval([1, 2, 3, 4, 5]) is None
    assert median_interval([6, 1, 2, 3, 4, 5]) == (1, 6)
    assert median_interval(range(9)) == (1, 7)
    assert median_interval(range(20)) == (5, 14)
    draw = random.Random(3)
    drawn = [median_interval([draw.expovariate(1) for _ in range(10)]) for _ in range(1000)]
    assert sum(low <= math.log(2) <= high for low, high in drawn) / 1000 > 0.95
