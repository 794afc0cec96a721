"""The live table of a training as lines of text; `screen.py` draws them.

This code puts lines together by hand: libraries measure every cell, which takes several times as long, and
training waits meanwhile.
"""

from typing import Any

from gymsolve.cli.live.rows import MARKS, SEVERITY_STYLES, Layout, choose_rows, group_of, header, metric_row
from gymsolve.cli.live.view import View
from gymsolve.cli.printing.tables import Line, cut, fold, join_pieces
from gymsolve.metrics.wording import event_evidence, lasting, remedy_text
from gymsolve.text import count, duration, number

_SPARE_LINES = 2
"""Lines left free: the cursor's, and another so that a message does not push the table up."""
_ALERT_SHARE = 0.4
"""The largest share of lines for alerts, which get three lines at least."""
_SLOW_ROLLOUT = 1.0
"""Seconds from which a rollout gets a progress bar of its own; faster ones would only flicker."""
_SMALL_BAR, _LABEL = 20, 12


def render(view: View, now: float, width: int = 100, height: int = 50) -> list[Line]:
    """The whole table; small terminals get the most important rows and columns."""
    room = max(1, height - _SPARE_LINES)
    layout = Layout.of(width)
    # The line of activity is there even when empty: the table below it must not jump.
    head = [_title(view), _bar(view, now, width), _activity(view, now)]
    tail = _alerts(view, width, min(max(3, int(room * _ALERT_SHARE)), max(0, room - len(head) - 2)))
    names = choose_rows(view, room - len(head) - 1 - len(tail))
    body = [
        metric_row(view, name, layout, now, first=index == 0 or group_of(names[index - 1]) != group_of(name))
        for index, name in enumerate(names)
    ]
    lines = [*head, *([header(layout)] if body else []), *body, *tail]
    return [cut(line, width) for line in lines[:room]]


def plain(lines: list[Line]) -> str:
    """The table without colours."""
    return "\n".join(map(join_pieces, lines))


def _title(view: View) -> Line:
    name, _, run = view.title.partition("  ")
    goal = "" if view.threshold is None else f" of {number(view.threshold)} needed"
    if view.best is None:
        return [(name, "bold"), (f"  not evaluated yet{goal and ','}{goal[3:]}", ""), (f"  {run}", "dim")]
    reached = view.threshold is not None and view.best >= view.threshold
    best = (f"  best evaluation {number(view.best)}", "bold green" if reached else "bold")
    return [(name, "bold"), best, (goal, ""), (f"  {run}", "dim")]


def _bar(view: View, now: float, width: int) -> Line:
    if view.ended:
        text = f"  {view.ended} after {count(view.steps_now)} of {count(view.budget)} steps"
        length = max(5, min(40, width - len(text)))
        return [*_strip(1.0 if view.ended == "solved" else view.fraction, length), (text, "")]
    left = view.left(now)
    unit = "vector steps" if view.budget_in == "vec_steps" else "steps"
    text = f"  {view.fraction:4.0%}  {count(view.taken_now)} / {count(view.budget)} {unit}  "
    length = max(5, min(40, width - len(text) - len(left)))  # the numbers matter more than the bar
    return [*_strip(view.fraction, length), (text, ""), (left, "cyan")]


def _strip(fraction: float, width: int) -> Line:
    filled = round(fraction * width)
    return [("━" * filled, "green"), ("─" * (width - filled), "dim")]


def _activity(view: View, now: float) -> Line:
    """The progress of an evaluation or of a slow rollout."""
    if view.evaluation is not None and view.evaluation[0] < view.evaluation[1]:
        bar, seconds = small_bar("evaluating", view.evaluation, "episodes"), now - view.evaluation_began
        if seconds < _SLOW_ROLLOUT:
            return bar
        # Episodes of the same length all end at once, so their number alone may stand still for minutes.
        return [*bar, (f", step {count(view.evaluation_steps)}", ""), (f"  {duration(seconds)}", "cyan")]
    if view.rollout[1] and now - view.rollout_began > _SLOW_ROLLOUT:
        return small_bar("collecting", view.rollout, "steps")
    return []


def small_bar(label: str, done_of: tuple[int, int], unit: str) -> Line:
    """A label, a short bar, and the numbers behind it."""
    done, total = done_of
    numbers = f"  {count(done)} / {count(total)} {unit}"
    return [(f"{label:<{_LABEL}}", ""), *_strip(done / total, _SMALL_BAR), (numbers, "")]


def _alerts(view: View, width: int, room: int) -> list[Line]:
    """The root cause in full, other alerts by name, and the number of those that do not fit."""
    if not view.alerts:
        return [[("no alerts", "dim")]]
    roots = [alert for alert in view.alerts.values() if alert["because"] is None]
    first, *others = sorted(roots, key=lambda alert: alert["severity"] == "info")  # hints last
    follows = _following(view, first["id"])
    hence = _hence(follows, width)
    details = _details(first, follows, width)[: max(0, room - 1 - len(hence) - bool(others))]
    lines = [_root(first), *details, *hence, *(_other(view, alert) for alert in others)]
    if len(lines) <= room:
        return lines
    more = f"  and {count(len(lines) - room + 1)} more"
    return [*lines[: room - 1], [(more, "dim")]][: max(0, room)]


def _root(alert: dict[str, Any]) -> Line:
    severity = alert["severity"]
    return [(f"{MARKS[severity]} {alert['id']}: {alert['title']}", SEVERITY_STYLES[severity])]


def _other(view: View, alert: dict[str, Any]) -> Line:
    """A cause that is not the first, with its consequences, on one line."""
    names = ", ".join(consequence["id"] for consequence in _following(view, alert["id"]))
    return [*_root(alert), (f"; follows from it: {names}", "dim")] if names else _root(alert)


def _following(view: View, root: str) -> list[dict[str, Any]]:
    return [alert for alert in view.alerts.values() if alert["because"] == root]


def _hence(follows: list[dict[str, Any]], width: int) -> list[Line]:
    """The consequences of the first cause on one line; those that do not fit are counted."""
    names = [alert["id"] for alert in follows]
    for kept in range(len(names), 0, -1):
        more = f" (+{len(names) - kept} more)" if kept < len(names) else ""
        text = f"  follows from it: {', '.join(names[:kept])}{more}"
        if len(text) <= width or kept == 1:
            return [[(text, "dim")]]
    return []


def _details(alert: dict[str, Any], follows: list[dict[str, Any]], width: int) -> list[Line]:
    """Evidence, remedy and likely cause, the most useful first: the caller cuts them to the room it has."""
    proof = f"{event_evidence(alert)}, {lasting(alert, follows)}"
    pieces = [(proof, ""), (remedy_text(alert), "bold")]
    # Where no setting helps, the cause matters more than the remedy.
    pieces.insert(2 if alert["changes"] else 1, (f"likely: {alert['cause']}", ""))
    return [
        [(line, style)]
        for text, style in pieces
        for line in fold(text, max(20, width), initial_indent="  ", subsequent_indent="    ")
    ]
