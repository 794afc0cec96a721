"""Rows of the live table: which metrics, in which order, and in which format.

The catalogue of metrics decides all of it: priority, groups and their order, precision, and which direction
is better.
"""

import math
from dataclasses import dataclass

from gymsolve.cli.live.view import View
from gymsolve.cli.printing.tables import Line
from gymsolve.doctor.history import Series
from gymsolve.metrics.action_shares import PREFIX, group_names, label_choices
from gymsolve.metrics.catalog import Metric, by_priority, find_metric
from gymsolve.metrics.training_returns import CUT_SHARE, selection
from gymsolve.text import count, duration, number, score, short, sparkline

SEVERITY_STYLES = {"error": "bold red", "warn": "bold yellow", "info": "bold cyan"}
MARKS = {"error": "!", "warn": "!", "info": "·", None: " "}
"""The mark before a metric with an alert, by severity; a hint gets a dot."""

_ELSEWHERE = {"env_steps", "progress", "solved", "eval/std_reward"}
"""Metrics that the bar, the title or another row shows."""
_RETURNS = ("rollout/ep_rew_mean", "eval/mean_reward")
"""Metrics that people look for first."""
_COUNTED = {"steps", "steps/s", "episodes"}

_PREFIX, _NAME, _VALUE, _CHANGE, _SPARK, _RANGE, _MEANING = 8, 22, 14, 10, 12, 14, 24
"""Widths of the columns in characters, each with the gap before it."""
_LONGEST_SPARK = 32


@dataclass(frozen=True)
class Layout:
    """The widths of the columns that fit a terminal; a column of width 0 is left out."""

    prefix: int
    name: int
    change: int
    spark: int
    range: int
    meaning: int

    @classmethod
    def of(cls, width: int) -> "Layout":
        """The value has priority, then change, history and range, then the meaning."""
        name = max(0, min(_NAME, width - _VALUE))
        spare = width - name - _VALUE
        prefix = _PREFIX if spare >= _PREFIX else 0
        change = _CHANGE if spare >= prefix + _CHANGE else 0
        spare -= prefix + change
        spark = _SPARK if spare >= _SPARK else 0
        spread = _RANGE if spare >= spark + _RANGE else 0
        spare -= spark + spread
        if spark:
            longer = min(spare, _LONGEST_SPARK - spark)
            longer = longer if spare - longer >= _MEANING else max(0, min(longer, spare - _MEANING))
            spark, spare = spark + longer, spare - longer
        return cls(prefix, name, change, spark, spread, spare if spare >= _MEANING else 0)


def choose_rows(view: View, room: int) -> list[str]:
    """The most important metrics that fit, group by group; metrics with an alert come first."""
    names = [name for name in view.history.series if name not in _ELSEWHERE and find_metric(name)]
    # All choices of an action share one row, under the name of the first.
    others = {name for choices in group_names(names).values() for name in [*choices][1:]}
    # Metrics of gradients are bars of a histogram, not numbers.
    names = [name for name in names if not name.startswith("gradient/") and name not in others]
    if "time/elapsed" not in names:
        names.append("time/elapsed")  # the clock runs before the first record
    ranked = by_priority(names)
    alerted = {alert["metric"] for alert in view.alerts.values()}
    ranked.sort(key=lambda name: (name not in alerted, name not in _RETURNS))
    chosen = by_priority(ranked[: max(0, room)])
    # A group stands where its most important row does, but returns come before the clock.
    returns = [name for name in _RETURNS if name in chosen]
    groups = list(dict.fromkeys(map(group_of, [*returns, *chosen])))
    return sorted(chosen, key=lambda name: groups.index(group_of(name)))


def header(layout: Layout) -> Line:
    """The names of the columns."""
    text = " " * layout.prefix + f"{'  metric':<{layout.name}}{'value':>{_VALUE}}"
    if layout.change:
        text += f"{'change':>{layout.change}}"
    if layout.spark:
        text += f"  {'history':<{layout.spark - 2}}"
    if layout.range:
        text += f"  {'so far':<{layout.range - 2}}"
    if layout.meaning:
        text += "  meaning"
    return [(text.rstrip(), "dim")]


def metric_row(view: View, name: str, layout: Layout, now: float, *, first: bool) -> Line:
    """One metric: mark, name, value, change, history, range so far and meaning, as far as they fit."""
    metric, series = find_metric(name), view.history.get(name)
    assert metric is not None
    severity = view.severity(name)
    style = SEVERITY_STYLES[severity] if severity else ""
    line: Line = []
    if layout.prefix:
        line.append((f"{group_of(name) if first else '':<{layout.prefix}}", "dim"))
    tail = f"{MARKS[severity]} {name.partition('/')[2] or name}{_qualified(view, name)}"
    line.append((f"{tail[: layout.name]:<{layout.name}}", style))
    if name == "time/elapsed":
        return [*line, (f"{duration(view.elapsed(now)):>{_VALUE}}", "bold blue")]
    if name.startswith(PREFIX):
        return [*line[:-1], *_histogram_cells(view, name, layout)]
    assert series is not None
    bold = "bold" if metric.priority == 1 else ""
    line.append((f"{_format_value(view, metric, name, series):>{_VALUE}}", style or bold))
    if layout.change:
        line.append(_change(metric, series, layout.change))
    if layout.spark:
        line.append((f"  {sparkline(series.values, layout.spark - 2):<{layout.spark - 2}}", "cyan"))
    if layout.range:
        line.append((f"  {_range(series, layout.range - 2):<{layout.range - 2}}", "dim"))
    if layout.meaning:
        line.append((f"  {metric.meaning}", "dim"))
    return line


def _qualified(view: View, name: str) -> str:
    """Says beside the mean return of training that it is another quantity than that of an evaluation."""
    if name != _RETURNS[0]:
        return ""
    if selection(share := view.history.last(CUT_SHARE)):
        return f", {share:.0%} cut"
    return view.training_unit.replace("per ", "/")


def _histogram_cells(view: View, name: str, layout: Layout) -> Line:
    """The row for all choices of an action, or of one part of it: how often each was taken recently.

    The value is the commonest choice; bars stand where other metrics have their history.
    """
    part, named = next(item for item in group_names(view.history.series).items() if name in item[1])
    shares, choices = [view.history.last(bar) or 0.0 for bar in named], [*named.values()]
    largest = max(shares)
    title = "  shares" if part is None else f"  shares, part {part}"
    value = f"{label_choices(choices[shares.index(largest)])}: {largest:.0%}"
    cells: Line = [(f"{title[: layout.name]:<{layout.name}}", ""), (f"{value:>{_VALUE}}", "")]
    if layout.change:
        cells.append((" " * layout.change, ""))
    if layout.spark:
        bars = sparkline(shares, layout.spark - 2, limits=(0.0, largest))
        cells.append((f"  {bars:<{layout.spark - 2}}", "cyan"))
    if layout.range:
        ends = f"of 0…{choices[-1][-1]}"
        cells.append((f"  {ends:<{layout.range - 2}}", "dim"))
    if layout.meaning:
        cells.append(("  the commonest choice, and the share of each", "dim"))
    return cells


def group_of(name: str) -> str:
    """The part of a name that related metrics share."""
    return name.partition("/")[0] if "/" in name else "run"


def _format_value(view: View, metric: Metric, name: str, series: Series) -> str:
    value = series.last
    if name == "eval/mean_reward":
        return score(value, view.history.last("eval/std_reward"))
    if name == "train/entropy" and view.max_entropy is not None:
        return f"{number(value, 3)} of {number(view.max_entropy, 3)}"
    if metric.unit in _COUNTED and abs(value) >= 500:
        return count(value)
    return number(value, metric.precision)


def _change(metric: Metric, series: Series, width: int) -> tuple[str, str]:
    """The change since the last record; green or red only where one direction is better."""
    if len(series) < 2 or not math.isfinite(series.values[-1] - series.values[-2]):
        return " " * width, ""
    change = series.values[-1] - series.values[-2]
    if change == 0:
        return f"{'=':>{width}}", "dim"
    size = f"{abs(change):,.0f}" if abs(change) >= 1000 else f"{abs(change):.2g}"
    if "e" in size and abs(change) >= 1:
        size = f"{abs(change):.0f}"  # 1.2e+02 is 120
    good = None if metric.better is None else (change > 0) == (metric.better == "up")
    style = "" if good is None else "green" if good else "red"
    return f"{'↑' if change > 0 else '↓'}{size:>7}".rjust(width), style


def _range(series: Series, width: int) -> str:
    """The lowest and highest value so far, with as many digits as fit."""
    if not math.isfinite(series.peak) or series.low == series.peak:
        return ""
    texts = (f"{short(series.low, digits)}…{short(series.peak, digits)}" for digits in (3, 2, 1))
    return next((text for text in texts if len(text) <= width), "")
