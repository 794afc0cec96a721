"""Runs that differ in their seed alone: a mean, its range and curves of the settings over the seeds."""

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from gymsolve.difference import median_interval
from gymsolve.text import number
from gymsolve.view.report.claims import configurations, group_by_settings
from gymsolve.view.report.comparison import AXES, Axis, Contender, differences
from gymsolve.view.report.figures import Curves, Line, Point

FEWEST = 3
"""Seeds from which on a spread says something."""
_BAND_POINTS = 60
"""Places at which a band is computed; a terminal has about as many columns."""
_ENDED = ("solved", "finished")
_EVALUATIONS = "eval/mean_reward"
_NOTE = (
    "Line: interquartile mean of {} over seeds. Band: from the lowest to the highest seed. "
    "A run that has ended by itself keeps its last value."
)


@dataclass(frozen=True)
class SeedSpread:
    """The final evaluations of one configuration, over its seeds."""

    letters: tuple[str, ...]
    seeds: tuple[int, ...]
    iqm: float
    """Mean of the middle half: neither a lucky nor a failed seed decides."""
    lowest: float
    highest: float
    low: float | None
    high: float | None
    """Ends of the exact 95 % interval of the median; null below six seeds, which have none."""
    incidental: tuple[str, ...] = ()
    """Settings in which they differ too, and which change no result."""
    unfinished: tuple[str, ...] = ()
    """Letters of those that were stopped or crashed: their last evaluation counts."""

    def sentence(self) -> str:
        """The result to quote."""
        alone = "in the seed alone"
        if self.incidental:
            alone = f"in nothing that changes results but the seed (also in {', '.join(self.incidental)})"
        text = (
            f"{', '.join(self.letters)} differ {alone}: the interquartile mean of their final evaluations "
            f"is {number(self.iqm)}, from {number(self.lowest)} to {number(self.highest)}."
        )
        if self.low is not None:
            text += f" Their median: {number(self.low)} to {number(self.high)} (95 % interval)."
        if self.unfinished:
            text += f" Not all reached their end: {', '.join(self.unfinished)} stopped or crashed before it."
        return text


def spread_over_seeds(contenders: Sequence[Contender]) -> list[SeedSpread]:
    """One for every configuration that was trained to an end with three seeds or more."""
    return [_spread(group) for group in configurations(contenders) if len(group) >= FEWEST]


def interquartile_mean(values: Sequence[float]) -> float:
    """Mean of the middle half; values that the quarters cut through count in part."""
    ordered, quarter = sorted(values), len(values) / 4
    weights = [
        max(0.0, min(index + 1.0, len(ordered) - quarter) - max(float(index), quarter))
        for index in range(len(ordered))
    ]
    return math.fsum(w * x for w, x in zip(weights, ordered, strict=True)) / math.fsum(weights)


def _spread(group: Sequence[Contender]) -> SeedSpread:
    finals = [float(run.judged[-1]["eval/mean_reward"]) for run in group]
    low, high = median_interval(finals) or (None, None)
    return SeedSpread(
        letters=tuple(run.letter for run in group),
        seeds=tuple(run.settings["seed"] for run in group),
        iqm=interquartile_mean(finals),
        lowest=min(finals),
        highest=max(finals),
        low=low,
        high=high,
        incidental=tuple(differences(group, incidental=True)),
        unfinished=tuple(run.letter for run in group if run.status in ("stopped", "crashed")),
    )


# ------------------------------------------------------------------------------------- curves


def seed_curves(contenders: Sequence[Contender], axis: Axis, metric: str = _EVALUATIONS) -> list[Curves]:
    """Evaluations, or another metric, of every configuration with enough seeds; none where there is none."""
    lines, thresholds = [], set()
    for index, group in enumerate(_runs_alike(contenders), start=1):
        line = _merge(group, axis, str(index), metric)
        if line is not None:
            lines.append(line)
            thresholds |= {run.threshold for run in group}
    if not lines or len({run.env_id for run in contenders}) > 1:  # returns of others do not compare
        return []
    if metric != _EVALUATIONS:
        return [Curves(f"{metric} over seeds", lines, _NOTE.format(metric), x_label=AXES[axis])]
    goal = thresholds.pop() if len(thresholds) == 1 else None
    level = None if goal is None else (goal, f"threshold {goal:g}")
    note = _NOTE.format("the evaluations")
    return [Curves("Evaluations over seeds", lines, note, level=level, x_label=AXES[axis])]


def _runs_alike(contenders: Sequence[Contender]) -> list[list[Contender]]:
    """Configurations with enough seeds, whatever state their runs are in."""
    return [group for group in group_by_settings(contenders) if len(group) >= FEWEST]


def _merge(group: Sequence[Contender], axis: Axis, letter: str, metric: str) -> Line | None:
    judged = {run.letter: _finite_points(run.points_on(metric, axis)) for run in group}
    judged_runs = [run for run in group if judged[run.letter]]
    if len(judged_runs) < FEWEST:
        return None
    curves = [judged[run.letter] for run in judged_runs]
    begin = max(points[0][0] for points in curves)
    under_way = [judged[run.letter][-1][0] for run in judged_runs if run.status not in _ENDED]
    end = min(under_way) if under_way else max(points[-1][0] for points in curves)
    places = sorted({x for points in curves for x, _ in points if begin <= x <= end})
    every = math.ceil(len(places) / _BAND_POINTS) or 1
    line: list[Point] = []
    spread = []
    for x in places[::-1][::every][::-1]:  # the last one always stays
        values = [_at(points, x) for points in curves]
        line.append((x, interquartile_mean(values)))
        spread.append((x, min(values), max(values)))
    letters = ", ".join(run.letter for run in judged_runs)
    label = f"{letters}: interquartile mean over {len(judged_runs)} seeds; the band holds all of them"
    return Line(label, line, spread, letter=letter)


def _finite_points(points: Sequence[Point]) -> list[Point]:
    return sorted(point for point in points if math.isfinite(point[1]))


def _at(points: Sequence[Point], x: float) -> float:
    """The value on the line between two points; the last one beyond them."""
    after = bisect_right(points, (x, math.inf))
    if after == len(points) or after == 0:
        return points[after - 1 if after else 0][1]
    (x0, y0), (x1, y1) = points[after - 1], points[after]
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
