"""Decides which configurations are worth more steps, and which more seeds: pure functions over scores.

A configuration climbs levels. The first ones are parts of the budget on the first seed (rungs), the last ones
the whole budget on further seeds. It rests after each level until it is among the best that came so far; no
rest is final, since later configurations may show that it was good (successive halving without waiting,
Li et al. 2020).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

KEPT = 3
"""One in three configurations goes on to the next level."""
FINALISTS = 2
"""At the end of a search at least so many go on, however few there are."""
_FEWEST_EVALUATIONS = 2
"""A rung with fewer evaluations would judge a policy that has hardly begun."""


@dataclass(frozen=True)
class Level:
    """One more run, or more of a run, that a configuration gets."""

    seed: int
    until: int | None
    """Environment steps; None is the whole budget."""


@dataclass(frozen=True)
class Standing:
    """How far a configuration has come."""

    number: int
    scores: tuple[float, ...] = ()
    """One for each level that is completed; higher is better, and -inf means that it broke."""
    busy: bool = False
    """A run of it trains."""
    broken: bool = False

    @property
    def level(self) -> int:
        """Levels that are completed."""
        return len(self.scores)


def make_levels(budget: int, every: int, rungs: int | None, seeds: Sequence[int]) -> tuple[Level, ...]:
    """Rungs at a ninth and a third of the budget where there are evaluations for them, then further seeds."""
    most = 1
    while budget / KEPT**most >= _FEWEST_EVALUATIONS * every and most < 3:
        most += 1
    count = most if rungs is None else rungs
    parts = [Level(seeds[0], round(budget / KEPT ** (count - 1 - index))) for index in range(count - 1)]
    return (*parts, *(Level(seed, None) for seed in seeds))


def next_promotion(standings: Mapping[int, Standing], levels: int, *, last: bool = False) -> Standing | None:
    """The configuration that goes on, the highest level first; None where nobody is good enough yet.

    At the `last`, when no configuration is to come, a few go on even if there were not enough to be among the
    best of.
    """
    for level in range(levels - 1, 0, -1):
        cohort = [each for each in standings.values() if each.level >= level]
        above = [each for each in cohort if each.level > level or (each.level == level and each.busy)]
        allowed = len(cohort) // KEPT
        if last:
            allowed = max(allowed, FINALISTS)
        best = sorted(cohort, key=lambda each: (-each.scores[level - 1], each.number))[:allowed]
        resting = [each for each in best if each not in above and not each.broken]
        if resting and (not last or not _may_still_change(standings, level)):
            return resting[0]
    return None


def _may_still_change(standings: Mapping[int, Standing], level: int) -> bool:
    """A configuration that trains may still come to this level and be better."""
    return any(each.busy and each.level < level for each in standings.values())


def best_of(standings: Mapping[int, Standing]) -> Standing | None:
    """The configuration with the best score at the highest level that any has completed."""
    whole = [each for each in standings.values() if each.scores and not each.broken]
    if not whole:
        return None
    return max(whole, key=lambda each: (each.level, each.scores[-1], -each.number))


def pareto(points: Mapping[int, tuple[float, float]]) -> list[int]:
    """Numbers of the points (score, cost) that no other beats in both, by cost."""
    front, best = [], -math.inf
    for number, (score, _) in sorted(points.items(), key=lambda item: (item[1][1], -item[1][0], item[0])):
        if score > best:
            front.append(number)
            best = score
    return front
