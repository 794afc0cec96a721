"""The live view of a training on a terminal: one table that redraws in place.

The table is put together as text with fixed columns: rich's own tables measure every cell, which costs
several times as much, and it is training that pays.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import zip_longest
from typing import TextIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from gymsolve.cli.text import count, duration, number, score
from gymsolve.cli.view import View

__all__ = ["LiveScreen", "render"]

_LEARNING = (
    ("loss", "train/loss"),
    ("policy loss", "train/policy_loss"),
    ("value loss", "train/value_loss"),
    ("KL", "train/approx_kl"),
    ("clip fraction", "train/clip_fraction"),
    ("entropy", "train/entropy"),
    ("expl. variance", "train/explained_variance"),
    ("learning rate", "hyper/learning_rate"),
)
_EXPENDABLE = (
    *("update takes", "rollout takes", "policy loss", "value loss", "updates", "clip fraction", "length"),
    *("learning rate", "expl. variance", "shaped mean", "episodes", "entropy", "loss", "KL", "best"),
    *("learning", "progress", "return", "fps", "needed", "elapsed", "mean", "best so far"),
)
"""Rows a low terminal does without, the least important first."""
_LABEL, _VALUE, _GAP = 14, 15, 4
_THREE_COLUMNS, _TWO_COLUMNS = 99, 66
"""Widths from which so many groups stand side by side."""
_SPARE_LINES = 2
"""Left free on a low terminal: rich cuts off a view that fills all of it."""
_SLOW_ROLLOUT = 1.0
"""Seconds from which a rollout gets a progress bar of its own; faster ones would only flicker."""

_MARKS = {"error": "bold red", "warn": "bold yellow", "info": "cyan"}
_SHOWN_ALERTS = 4

Row = tuple[str, str, str]
"""Label, value and style of the value."""


class LiveScreen:
    """Events scroll above the table; rich's own refresh thread stays off, the watcher sets the pace."""

    def __init__(self, console: Console, live: Live) -> None:
        self._console, self._live = console, live
        self._last: View | None = None

    @classmethod
    @contextmanager
    def opened(cls, stream: TextIO) -> Iterator["LiveScreen"]:
        """A screen that leaves the final state on the terminal when it closes."""
        console = Console(file=stream, markup=False, highlight=False, emoji=False)
        with Live(console=console, auto_refresh=False) as live:
            screen = cls(console, live)
            try:
                yield screen
            finally:
                if screen._last is not None:
                    screen.draw(screen._last, time.perf_counter())

    def line(self, text: str) -> None:
        self._console.print(Text(text, style="dim"), soft_wrap=True)

    def progress(self, text: str) -> None:
        pass  # the table shows it all the time

    def draw(self, view: View, now: float) -> None:
        self._last = view
        self._live.update(render(view, now, self._console.width, self._console.height), refresh=True)


def render(view: View, now: float, width: int = 100, height: int = 50) -> Text:
    """The whole table; its groups stand side by side where there is room, and low terminals get less."""
    room = max(1, height - _SPARE_LINES)
    # The line of activity is there even when empty: the table below it must not jump.
    head = [Text(view.title, style="bold"), _bar(view, now, width), _activity(view, now)]
    tail = _alerts(view)[: max(0, room - len(head))]
    columns = [_shortened(rows, max(0, room - len(head) - len(tail))) for rows in _columns(view, now, width)]
    gap = Text(" " * _GAP)
    body = [gap.join(map(_cell, rows)) for rows in zip_longest(*columns, fillvalue=("", "", ""))]
    return Text("\n", no_wrap=True, overflow="ellipsis").join([*head, *body, *tail][:room])


def _columns(view: View, now: float, width: int) -> list[list[Row]]:
    pace, returns, learning = _pace(view, now), _returns(view), _learning(view)
    if width >= _THREE_COLUMNS:
        return [pace, returns, learning]
    if width >= _TWO_COLUMNS:
        return [returns + pace, learning]
    return [returns + pace + learning]


def _shortened(rows: list[Row], lines: int) -> list[Row]:
    """At most so many rows, without the least important ones."""
    surplus = max(0, len(rows) - lines)
    present = {row[0] for row in rows}
    left_out = set([label for label in _EXPENDABLE if label in present][:surplus])
    return [row for row in rows if row[0] not in left_out][:lines]


def _cell(row: Row) -> Text:
    label, value, style = row
    cell = Text(f"{label:<{_LABEL}}", style="dim" if label and not value else "")
    return cell.append(f"{value:>{_VALUE}}", style=style)


def _bar(view: View, now: float, width: int) -> Text:
    remaining = view.remaining(now)
    left = "" if remaining is None else f"{duration(remaining)} left"
    told = f"  {view.fraction:4.0%}  {count(view.steps_now)} / {count(view.budget)} steps  "
    length = max(5, min(30, width - len(told) - len(left)))  # the numbers matter more than the bar
    return _strip(view.fraction, length).append(told).append(left, style="cyan")


def _strip(fraction: float, width: int) -> Text:
    filled = round(fraction * width)
    return Text().append("━" * filled, style="green").append("━" * (width - filled), style="bright_black")


def _pace(view: View, now: float) -> list[Row]:
    metrics = view.metrics
    return [
        ("progress", "", ""),
        ("elapsed", duration(view.elapsed(now)), "bold blue"),
        ("fps", count(metrics.get("time/fps", 0)), ""),
        ("updates", count(metrics.get("updates", 0)), ""),
        ("episodes", count(metrics.get("rollout/episodes", 0)), ""),
        ("rollout takes", _milliseconds(metrics.get("time/collect_seconds")), ""),
        ("update takes", _milliseconds(metrics.get("time/update_seconds")), ""),
    ]


def _returns(view: View) -> list[Row]:
    metrics = view.metrics
    judged = score(metrics.get("eval/mean_reward"), metrics.get("eval/std_reward"))
    reached = view.threshold is not None and view.best is not None and view.best >= view.threshold
    rows = [
        ("return", "", ""),
        _row(view, "mean", "rollout/ep_rew_mean"),
        ("best", number(metrics.get("rollout/ep_rew_best")), ""),
        _row(view, "length", "rollout/ep_len_mean"),
        _marked(view, "eval/mean_reward", ("evaluation", judged, "bold")),
        ("best so far", number(view.best), "bold green" if reached else ""),
        ("needed", number(view.threshold), ""),
    ]
    if "rollout/ep_shaped_rew_mean" in metrics:
        rows.insert(2, ("shaped mean", number(metrics["rollout/ep_shaped_rew_mean"]), ""))
    return rows


def _learning(view: View) -> list[Row]:
    known = [_row(view, label, name) for label, name in _LEARNING if name in view.metrics]
    return [("learning", "", ""), *known]


def _row(view: View, label: str, metric: str) -> Row:
    return _marked(view, metric, (label, number(view.metrics.get(metric)), ""))


def _marked(view: View, metric: str, row: Row) -> Row:
    """The row of a metric that an active alert is about stands out."""
    severity = view.severity(metric)
    return row if severity is None else (row[0], f"! {row[1]}", _MARKS[severity])


def _alerts(view: View) -> list[Text]:
    """Active alerts, each once, the worst first."""
    order = list(_MARKS)
    ranked = sorted(view.alerts.items(), key=lambda one: (order.index(one[1]["severity"]), one[0]))
    lines = [Text(f"! {name}: {alert['title']}", style=_MARKS[alert["severity"]]) for name, alert in ranked]
    more = len(lines) - _SHOWN_ALERTS
    return [*lines[:_SHOWN_ALERTS], Text(f"  and {more} more", style="dim")] if more > 0 else lines


def _activity(view: View, now: float) -> Text:
    """What is going on that takes long: an evaluation, or a slow rollout."""
    if view.evaluation is not None and view.evaluation[0] < view.evaluation[1]:
        return _small_bar("evaluating", view.evaluation, "episodes")
    if view.rollout[1] and now - view.rollout_began > _SLOW_ROLLOUT:
        return _small_bar("collecting", view.rollout, "steps")
    return Text("")


def _small_bar(label: str, done_of: tuple[int, int], unit: str) -> Text:
    done, total = done_of
    line = Text(f"{label:<{_LABEL}}").append(_strip(done / total, _VALUE))
    return line.append(f"  {done} / {total} {unit}")


def _milliseconds(seconds: float | None) -> str:
    return "–" if seconds is None else f"{1000 * seconds:,.0f} ms"
