"""The claim of a sweep: is the winner better than the recipe on seeds that the search has not seen?

`gymsolve.difference` decides. Without a clear difference the answer is "not better than the recipe".
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from gymsolve.answers import Answer
from gymsolve.difference import SURE, compare_groups, fewest_seeds, lowest_chance
from gymsolve.jobs.sweeps.results import TrialRun, outcome_of
from gymsolve.jobs.sweeps.stored import Sweep
from gymsolve.text import plural

Verdict = Literal["better", "worse", "unclear", "recipe"]


@dataclass(frozen=True)
class Claim(Answer):
    """Winner and recipe on fresh seeds."""

    verdict: Verdict
    """`recipe` where no configuration came out better in the search, so that nothing was tested."""
    winner: int
    seeds: tuple[int, ...]
    recipe_results: tuple[float | None, ...]
    """Steps or seconds to solve, or returns, by seed; null where a run was never solved."""
    winner_results: tuple[float | None, ...]
    ratio: float | None
    """The winner's median over the recipe's."""
    chance: float | None
    """How often chance alone parts the sides as clearly."""
    seeds_needed: int | None
    certainty: str


def judge(sweep: Sweep, winner: int, runs: Sequence[TrialRun]) -> Claim | None:
    """The claim, from the tests that are complete on both sides; None while there is none."""
    if winner == 0:
        words = "no configuration came out better than the recipe in the search, so nothing was tested"
        return Claim("recipe", 0, (), (), (), None, None, None, words)
    sides = {
        number: {run.seed: outcome_of(run, sweep) for run in runs if _is_test(run, number, sweep)}
        for number in (0, winner)
    }
    seeds = tuple(seed for seed in sweep.test_seeds if seed in sides[0] and seed in sides[winner])
    if len(seeds) < len(sweep.test_seeds):
        return None
    before, after = ([sides[number][seed] for seed in seeds] for number in (0, winner))
    gap = compare_groups(before, after)
    larger = gap.higher > 0.5
    verdict: Verdict = "unclear"
    if gap.is_clear and gap.higher != 0.5:
        verdict = "better" if larger == (sweep.objective == "return") else "worse"
    return Claim(
        verdict=verdict,
        winner=winner,
        seeds=seeds,
        recipe_results=tuple(map(_finite, before)),
        winner_results=tuple(map(_finite, after)),
        ratio=_ratio(before, after),
        chance=gap.chance,
        seeds_needed=gap.fewest(),
        certainty=_certainty(len(seeds), gap.chance, gap.by_chance, gap.is_clear, gap.fewest()),
    )


def _is_test(run: TrialRun, number: int, sweep: Sweep) -> bool:
    return (run.purpose, run.number) == ("test", number) and run.reached(None, sweep.config.env_budget)


def _certainty(seeds: int, chance: float, by_chance: str, clear: bool, needed: int | None) -> str:
    if lowest_chance(seeds, seeds) > SURE:
        return f"{plural(seeds, 'seed')} cannot tell, however far apart: at least {fewest_seeds()} are needed"
    text = f"on {plural(seeds, 'fresh seed')}, chance alone gives a gap this clear {by_chance}"
    if clear or chance >= 1.0 or needed is None:
        return text
    return f"{text}; if the gap is what it seems, some {needed} seeds would show it"


def _ratio(before: Sequence[float], after: Sequence[float]) -> float | None:
    first, second = median(before), median(after)
    if not (math.isfinite(first) and math.isfinite(second)) or first == 0:
        return None
    return second / first


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
