"""Runs that differ in their seed alone: what the settings are worth, instead of what luck made of them."""

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gymsolve.metrics.report.comparison import Contender
from gymsolve.text import number

__all__ = ["SeedSpread", "interquartile_mean", "seed_interval", "spread_over_seeds"]

_FEWEST = 3
_RESAMPLES = 2000
_APART = 2.0
"""Spreads of the other seeds by which the best one may lie above their mean."""


@dataclass(frozen=True)
class SeedSpread:
    """The final evaluations of one configuration, over its seeds."""

    letters: tuple[str, ...]
    seeds: tuple[int, ...]
    iqm: float
    """Mean of the middle half: neither a lucky nor a failed seed decides."""
    low: float
    high: float
    """Ends of its 95 % bootstrap interval."""
    best: float
    lucky: bool
    """The best seed lies apart from the others: quoting it would promise too much."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def remark(self) -> str:
        """What to quote, in a sentence."""
        told = (
            f"{', '.join(self.letters)} differ in the seed alone: the interquartile mean of their final "
            f"evaluations is {number(self.iqm)} (95 % interval {number(self.low)} to {number(self.high)})."
        )
        if not self.lucky:
            return told
        return f"{told} The best seed, {number(self.best)}, is far above the others: that is luck."


def spread_over_seeds(contenders: Sequence[Contender]) -> list[SeedSpread]:
    """One for every configuration that was trained to an end with three seeds or more."""
    groups: dict[str, dict[int, tuple[str, float]]] = {}
    for one in contenders:
        final = one.results("env_steps")["final_reward"]
        if final is not None and one.run.status != "running":
            alike = {path: value for path, value in one.settings.items() if path != "seed"}
            same = groups.setdefault(repr(sorted(alike.items())), {})
            same.setdefault(one.settings["seed"], (one.letter, final))  # a repeated seed tells nothing new
    return [_spread(group) for group in groups.values() if len(group) >= _FEWEST]


def interquartile_mean(values: Sequence[float]) -> float:
    """Mean of the middle half; values that the quarters cut through count in part."""
    ordered, quarter = sorted(values), len(values) / 4
    weights = [
        max(0.0, min(index + 1.0, len(ordered) - quarter) - max(float(index), quarter))
        for index in range(len(ordered))
    ]
    return math.fsum(w * x for w, x in zip(weights, ordered, strict=True)) / math.fsum(weights)


def seed_interval(values: Sequence[float]) -> tuple[float, float]:
    """95 % percentile bootstrap of the interquartile mean; the same values give the same interval."""
    draw = random.Random(0)
    found = sorted(interquartile_mean(draw.choices(values, k=len(values))) for _ in range(_RESAMPLES))
    cut = round(0.025 * _RESAMPLES)
    return found[cut], found[-cut - 1]


def _spread(group: dict[int, tuple[str, float]]) -> SeedSpread:
    finals = [final for _, final in group.values()]
    low, high = seed_interval(finals)
    # Against the others: within so few, a value cannot be two spreads from a mean that it is part of.
    *others, best = sorted(finals)
    bar = statistics.fmean(others) + _APART * statistics.stdev(others)
    return SeedSpread(
        letters=tuple(letter for letter, _ in group.values()),
        seeds=tuple(group),
        iqm=interquartile_mean(finals),
        low=low,
        high=high,
        best=best,
        lucky=best > bar,
    )
