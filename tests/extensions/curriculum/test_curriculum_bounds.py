"""Bounds against what they are defined by."""

import math

import numpy as np
import pytest

from gymsolve.confidence import fewest_for, highest_share, mean_bounds, share_bounds, z_of

Z = z_of(0.95)


def test_z_is_the_quantile_of_the_normal_distribution():
    assert z_of(0.95) == pytest.approx(1.6448536, abs=1e-6)
    assert z_of(0.5) == 0.0


@pytest.mark.parametrize(("successes", "count"), [(0, 5), (3, 5), (50, 100), (87, 100), (100, 100), (1, 1)])
def test_wilsons_bounds_are_the_shares_from_which_the_sample_is_z_errors_away(successes, count):
    """The definition itself: p solves |share - p| = z·sqrt(p(1-p)/n); found by bisection."""

    def away(p):
        return abs(successes / count - p) - Z * math.sqrt(p * (1 - p) / count)

    def root(inside, outside):
        for _ in range(200):
            middle = (inside + outside) / 2
            inside, outside = (middle, outside) if away(middle) <= 0 else (inside, middle)
        return inside

    lower, upper = share_bounds(successes, count, Z)
    share = successes / count
    centre = (share + Z * Z / (2 * count)) / (1 + Z * Z / count)  # always inside of the interval
    assert lower == pytest.approx(root(centre, 0.0), abs=1e-9)
    assert upper == pytest.approx(root(centre, 1.0), abs=1e-9)


def test_no_episodes_leave_everything_open():
    assert share_bounds(0, 0, Z) == (0.0, 1.0)
    assert mean_bounds([3.0], Z) == (-math.inf, math.inf)


def test_the_bounds_of_a_mean_are_wrong_as_often_as_they_say():
    rng = np.random.default_rng(0)
    below = sum(mean_bounds(rng.normal(3.0, 2.0, 50).tolist(), Z)[0] > 3.0 for _ in range(1000)) / 1000
    assert below == pytest.approx(0.05, abs=0.02)
    assert mean_bounds([2.0] * 9, Z) == (2.0, 2.0)
    values = [1.0, 2.0, 4.0]
    half = Z * math.sqrt((7 / 3) / 3)  # the sample variance of 1, 2, 4 is 7/3
    assert mean_bounds(values, Z) == pytest.approx((7 / 3 - half, 7 / 3 + half))


@pytest.mark.parametrize("count", [1, 10, 100, 1000])
def test_the_highest_share_is_the_bound_of_all_successes(count):
    assert highest_share(count, Z) == pytest.approx(share_bounds(count, count, Z)[0])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8, 0.95, 0.99])
def test_fewest_episodes_are_just_enough(share):
    count = fewest_for(share, Z)
    assert highest_share(count, Z) >= share
    assert count == 1 or highest_share(count - 1, Z) < share
