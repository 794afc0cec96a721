"""A comparison with its charts as data, for a page that draws them itself."""

from collections.abc import Sequence
from dataclasses import dataclass

from gymsolve.answers import Answer
from gymsolve.errors import UsageError
from gymsolve.metrics.catalog import by_priority
from gymsolve.runs.run import Run
from gymsolve.view.comparing import Comparison, compare_contenders
from gymsolve.view.report.comparison import AXES, Axis, Contender, common_axis, compare_curves, contend
from gymsolve.view.report.figures import Curves, Line, thin
from gymsolve.view.report.seeds import seed_curves

MOST_RUNS = 50
_RETURNS = ("eval/mean_reward", "rollout/ep_rew_mean")
_BUCKETS = 500


@dataclass(frozen=True)
class ChartLine(Answer):
    """One line, and the band around it if it stands for several seeds."""

    label: str
    letter: str
    points: list[tuple[float, float | None]]
    band: list[tuple[float, float, float]]
    """x, low, high."""


@dataclass(frozen=True)
class Chart(Answer):
    """Lines over one axis."""

    title: str
    note: str
    x: str
    level: float | None
    """A threshold to draw."""
    lines: list[ChartLine]


@dataclass(frozen=True)
class SideBySide(Answer):
    """A comparison, its charts, and the metrics that a chart can be asked for."""

    comparison: Comparison
    axis: str
    charts: list[Chart]
    metrics: list[str]


def compare_side_by_side(runs: Sequence[Run], axis: Axis | None = None, metric: str = "") -> SideBySide:
    """The comparison of two runs or more; a further `metric` comes as a chart of its own."""
    if len({run.id for run in runs}) < 2:
        raise UsageError("a comparison needs at least two different runs.", hint="Choose some in the list.")
    if len(runs) > MOST_RUNS:
        raise UsageError(f"{len(runs)} runs are too many for one page; {MOST_RUNS} are allowed.")
    contenders = contend(list({run.id: run for run in runs}.values()))
    chosen = axis or common_axis(contenders)
    names = by_priority({name for run in contenders for name in run.history.series if "/" in name})
    if metric and metric not in names:
        raise UsageError(f"none of these runs recorded {metric!r}.", where="metric")
    drawn = [*seed_curves(contenders, chosen), *compare_curves(contenders, chosen)]
    if metric and metric not in _RETURNS:
        drawn += _of_metric(contenders, chosen, metric)
    charts = [_chart(curves) for curves in drawn]
    return SideBySide(compare_contenders(contenders, chosen), chosen, charts, names)


def _of_metric(contenders: Sequence[Contender], axis: Axis, metric: str) -> list[Curves]:
    lines = [Line(run.label, run.points_on(metric, axis), letter=run.letter) for run in contenders]
    own = Curves(metric, lines, x_label=AXES[axis])
    return [*seed_curves(contenders, axis, metric), own]


def _chart(curves: Curves) -> Chart:
    lines = [
        ChartLine(line.label, line.letter, list(thin(line.points, _BUCKETS)), list(line.spread))
        for line in curves.lines
    ]
    level = None if curves.level is None else curves.level[0]
    return Chart(curves.title, curves.note, curves.x_label, level, lines)
