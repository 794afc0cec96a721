"""Curves over seeds: one line and one band for all runs that differ in their seed alone."""

import math
from bisect import bisect_right
from collections.abc import Sequence

from gymsolve.view.report.comparison import AXES, Axis, Contender
from gymsolve.view.report.figures import Curves, Line, Point
from gymsolve.view.report.seeds import FEWEST, interquartile_mean, runs_alike, seed_interval

_POINTS = 60
"""Places at which a band is computed; a terminal has about as many columns."""
_RESAMPLES = 400
_ENDED = ("solved", "finished")
_EVALUATIONS = "eval/mean_reward"


def _note(what: str) -> str:
    return (
        f"Line: interquartile mean of {what} over seeds. Band: its 95 % bootstrap interval. "
        "A run that has ended by itself keeps its last value."
    )


def seed_curves(contenders: Sequence[Contender], axis: Axis, metric: str = _EVALUATIONS) -> list[Curves]:
    """Evaluations, or another metric, of every configuration with enough seeds; none where there is none."""
    lines, thresholds = [], set()
    for number, group in enumerate(runs_alike(contenders), start=1):
        line = _merge(group, axis, number, metric)
        if line is not None:
            lines.append(line)
            thresholds |= {run.threshold for run in group}
    if not lines or len({run.env_id for run in contenders}) > 1:  # returns of others do not compare
        return []
    if metric != _EVALUATIONS:
        return [Curves(f"{metric} over seeds", lines, _note(metric), x_label=AXES[axis])]
    goal = thresholds.pop() if len(thresholds) == 1 else None
    level = None if goal is None else (goal, f"threshold {goal:g}")
    return [
        Curves("Evaluations over seeds", lines, _note("the evaluations"), level=level, x_label=AXES[axis])
    ]


def _merge(group: Sequence[Contender], axis: Axis, number: int, metric: str) -> Line | None:
    judged = {run.letter: _finite(run.points_on(metric, axis)) for run in group}
    judged_runs = [run for run in group if judged[run.letter]]
    if len(judged_runs) < FEWEST:
        return None
    curves = [judged[run.letter] for run in judged_runs]
    begin = max(points[0][0] for points in curves)
    under_way = [judged[run.letter][-1][0] for run in judged_runs if run.status not in _ENDED]
    end = min(under_way) if under_way else max(points[-1][0] for points in curves)
    places = sorted({x for points in curves for x, _ in points if begin <= x <= end})
    every = math.ceil(len(places) / _POINTS) or 1
    line: list[Point] = []
    spread = []
    for x in places[::-1][::every][::-1]:  # the last one always stays
        values = [_at(points, x) for points in curves]
        line.append((x, interquartile_mean(values)))
        spread.append((x, *seed_interval(values, _RESAMPLES)))
    letters = ", ".join(run.letter for run in judged_runs)
    label = f"{letters}: interquartile mean over {len(judged_runs)} seeds; the band is its 95 % interval"
    return Line(label, line, spread, letter=str(number))


def _finite(points: Sequence[Point]) -> list[Point]:
    return sorted(point for point in points if math.isfinite(point[1]))


def _at(points: Sequence[Point], x: float) -> float:
    """The value on the line between two points; the last one beyond them."""
    after = bisect_right(points, (x, math.inf))
    if after == len(points) or after == 0:
        return points[after - 1 if after else 0][1]
    (x0, y0), (x1, y1) = points[after - 1], points[after]
    return y0 + (y1 - y0) * (x - x0) / (x1 - x0)
