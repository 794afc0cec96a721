"""What is said about several measurements: medians, ranges, ratios within a round."""

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.store import OURS, Record

__all__ = ["Spread", "line_fit", "paired_ratios", "quartiles", "spread"]


@dataclass(frozen=True)
class Spread:
    """A median and how far the measurements lie around it."""

    median: float
    low: float
    high: float
    count: int


def spread(values: Iterable[float]) -> Spread | None:
    """Median and full range; None without a single value."""
    found = [value for value in values if math.isfinite(value)]
    if not found:
        return None
    return Spread(statistics.median(found), min(found), max(found), len(found))


def quartiles(values: Sequence[float]) -> Spread | None:
    """Median and the middle half; seeds that never got there count as infinitely late."""
    if not values:
        return None
    ordered = sorted(values)
    return Spread(_quantile(ordered, 0.5), _quantile(ordered, 0.25), _quantile(ordered, 0.75), len(ordered))


def _quantile(ordered: Sequence[float], share: float) -> float:
    place = share * (len(ordered) - 1)
    below, above = ordered[math.floor(place)], ordered[math.ceil(place)]
    if below == above:  # infinities too
        return below
    return below + (above - below) * (place - math.floor(place))


def paired_ratios(runs: Sequence[Record], case: str, peer: str, key: str) -> list[float]:
    """Ours over a peer's, for every round in which both ran without an error."""
    ours = _by_round(runs, case, OURS, key)
    theirs = _by_round(runs, case, peer, key)
    return [ours[when] / theirs[when] for when in sorted(ours.keys() & theirs.keys()) if theirs[when]]


def _by_round(runs: Sequence[Record], case: str, tool: str, key: str) -> dict[tuple[str, int], float]:
    return {
        (run["session"], run["round"]): run[key]
        for run in runs
        if run["case"] == case and run["tool"] == tool and run.get(key) is not None
    }


def line_fit(xs: Sequence[float], ys: Sequence[float]) -> tuple[float, float, float]:
    """Slope, intercept and R² of the straight line through points."""
    slope, intercept = statistics.linear_regression(xs, ys)
    mean = statistics.fmean(ys)
    total = sum((y - mean) ** 2 for y in ys)
    left = sum((y - slope * x - intercept) ** 2 for x, y in zip(xs, ys, strict=True))
    return slope, intercept, 1.0 - left / total if total else 1.0
