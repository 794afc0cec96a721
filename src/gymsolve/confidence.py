"""Confidence bounds of a share of successes and of a mean return, from a number of episodes.

Bounds are one-sided: with a confidence of 0.95, the truth lies below the lower one in 5 of 100 cases. A share
of successes has Wilson's bounds, which also hold where all or none succeed. A mean return has the normal
bounds, mean ∓ z·s/√n with the spread s of the sample; both are the mean where all returns are equal.
"""

import math
from collections.abc import Sequence
from math import fsum
from statistics import NormalDist, fmean, stdev


def z_of(confidence: float) -> float:
    """Standard errors between a mean and its one-sided bound of this confidence."""
    return NormalDist().inv_cdf(confidence)


def share_bounds(successes: int, count: int, z: float) -> tuple[float, float]:
    """Wilson's lower and upper bound of a share."""
    if not count:
        return 0.0, 1.0
    share, square = successes / count, z * z
    middle = share + square / (2 * count)
    half = z * math.sqrt(share * (1.0 - share) / count + square / (4.0 * count * count))
    whole = 1.0 + square / count
    return max(0.0, (middle - half) / whole), min(1.0, (middle + half) / whole)


def mean_bounds(values: Sequence[float], z: float) -> tuple[float, float]:
    """Lower and upper bound of a mean; infinite for a single value."""
    if len(values) < 2:
        return -math.inf, math.inf
    mean, half = fmean(values), z * stdev(values) / math.sqrt(len(values))
    return mean - half, mean + half


def highest_share(count: int, z: float) -> float:
    """The lower bound if each of so many episodes succeeds: the most that a stage can demand."""
    return count / (count + z * z)


def fewest_for(share: float, z: float) -> int:
    """The fewest episodes, all successful, whose lower bound reaches a share below 1."""
    return math.ceil(z * z * share / (1.0 - share) - 1e-9)


def is_out_of_reach(
    values: Sequence[float], total: int, bar: float, z: float, like: Sequence[float] = ()
) -> bool:
    """True if the mean of `total` values will stay below a bar, judging by the first ones of them.

    The values to come are expected as those that are known: the first ones, and others that are `like` them.
    `z` standard errors of that prediction are granted, and more where few values are far above the others:
    then a sample that lacks them has both a mean and a spread that are too small.
    """
    known, rest = [*like, *values], total - len(values)
    if len(known) < 2 or rest < 1:
        return False
    mean = fmean(known)
    spread = 0.0 if min(known) == max(known) else stdev(known)
    best = mean + z * spread * math.sqrt(1.0 / len(known) + 1.0 / rest) + _lift(known, mean, spread, z)
    return (fsum(values) + rest * best) / total < bar


def _lift(values: Sequence[float], mean: float, spread: float, z: float) -> float:
    """By how much more the mean may exceed that of a sample with a few large values (Johnson 1978)."""
    if spread == 0.0:
        return 0.0
    skewness = fmean([((value - mean) / spread) ** 3 for value in values])
    return max(0.0, skewness) * spread * (2.0 * z * z + 1.0) / (6.0 * len(values))
