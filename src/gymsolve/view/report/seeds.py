"""Runs that differ in their seed alone: what the settings are worth, instead of what luck made of them."""

import math
import random
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from gymsolve.settings.config import INCIDENTAL
from gymsolve.text import number
from gymsolve.view.report.comparison import Contender, differences

FEWEST = 3
"""Seeds from which on a spread says something."""
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
    incidental: tuple[str, ...] = ()
    """Settings in which they differ too, and which change no result."""
    unfinished: tuple[str, ...] = ()
    """Letters of those that were stopped or crashed: their last evaluation counts."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def remark(self) -> str:
        """What to quote, in a sentence."""
        alone = "in the seed alone"
        if self.incidental:
            alone = f"in nothing that changes results but the seed (also in {', '.join(self.incidental)})"
        text = (
            f"{', '.join(self.letters)} differ {alone}: the interquartile mean of their final "
            f"evaluations is {number(self.iqm)} (95 % interval {number(self.low)} to {number(self.high)})."
        )
        if self.unfinished:
            text += f" Not all reached their end: {', '.join(self.unfinished)} stopped or crashed before it."
        if not self.lucky:
            return text
        return f"{text} The best seed, {number(self.best)}, is far above the others: that is luck."


def spread_over_seeds(contenders: Sequence[Contender]) -> list[SeedSpread]:
    """One for every configuration that was trained to an end with three seeds or more."""
    ended = [run for run in contenders if run.judged and run.status != "running"]
    return [_spread(group) for group in runs_alike(ended)]


def runs_alike(contenders: Sequence[Contender]) -> list[list[Contender]]:
    """Runs that differ in nothing that changes results but the seed, where there are three seeds or more.

    They come by seed: which of them began first within a second is chance.
    """
    groups: dict[str, dict[int, Contender]] = {}
    for run in contenders:
        alike = {path: v for path, v in run.settings.items() if not path.startswith((*INCIDENTAL, "seed"))}
        same = groups.setdefault(repr(sorted(alike.items())), {})
        same.setdefault(run.settings["seed"], run)  # a repeated seed tells nothing new
    return [[group[seed] for seed in sorted(group)] for group in groups.values() if len(group) >= FEWEST]


def interquartile_mean(values: Sequence[float]) -> float:
    """Mean of the middle half; values that the quarters cut through count in part."""
    ordered, quarter = sorted(values), len(values) / 4
    weights = [
        max(0.0, min(index + 1.0, len(ordered) - quarter) - max(float(index), quarter))
        for index in range(len(ordered))
    ]
    return math.fsum(w * x for w, x in zip(weights, ordered, strict=True)) / math.fsum(weights)


def seed_interval(values: Sequence[float], resamples: int = _RESAMPLES) -> tuple[float, float]:
    """95 % percentile bootstrap of the interquartile mean; the same values give the same interval."""
    draw = random.Random(0)
    means = sorted(interquartile_mean(draw.choices(values, k=len(values))) for _ in range(resamples))
    cut = round(0.025 * resamples)
    return means[cut], means[-cut - 1]


def _spread(group: Sequence[Contender]) -> SeedSpread:
    finals = [float(run.judged[-1]["eval/mean_reward"]) for run in group]
    low, high = seed_interval(finals)
    # Against the others: within so few, a value cannot be two spreads from a mean that it is part of.
    *others, best = sorted(finals)
    bar = statistics.fmean(others) + _APART * statistics.stdev(others)
    return SeedSpread(
        letters=tuple(run.letter for run in group),
        seeds=tuple(run.settings["seed"] for run in group),
        iqm=interquartile_mean(finals),
        low=low,
        high=high,
        best=best,
        lucky=best > bar,
        incidental=tuple(differences(group, incidental=True)),
        unfinished=tuple(run.letter for run in group if run.status in ("stopped", "crashed")),
    )
