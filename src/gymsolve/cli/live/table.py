"""The live table of a training, as lines of text: what it says and what fits. No terminal here.

This code puts lines together by hand: libraries measure every cell, which takes several times as long, and
training waits meanwhile.
"""

from typing import Any

from gymsolve.cli.live.rows import MARKS, SEVERITY_STYLES, Layout, choose_rows, group_of, header, metric_row
from gymsolve.cli.live.view import View
from gymsolve.cli.printing.tables import Line, cut, fold
from gymsolve.metrics.wording import event_evidence, lasting, remedy_text
from gymsolve.text import count, duration, number

_SPARE_LINES = 2
"""Left free: the cursor's line, and one so that a prompt or a message does not push the table up."""
_ALERT_SHARE = 0.4
"""Of the lines, at most; but three at least."""
_SLOW_ROLLOUT = 1.0
"""Seconds from which a rollout gets a progress bar of its own; faster ones would only flicker."""
_SMALL_BAR, _LABEL = 20, 12


def render(view: View, now: float, width: int = 100, height: int = 50) -> list[Line]:
    """The whole table; low and narrow terminals get what matters most."""
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
    """The same without colours."""
    return "\n".join("".join(text for text, _ in line) for line in lines)


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
        told = f"  {view.ended} after {count(view.steps_now)} of {count(view.budget)} steps"
        length = max(5, min(40, width - len(told)))
        return [*_strip(1.0 if view.ended == "solved" else view.fraction, length), (told, "")]
    remaining = view.remaining(now)
    left = "" if remaining is None else f"{duration(remaining)} left"
    unit = "vector steps" if view.budget_in == "vec_steps" else "steps"
    told = f"  {view.fraction:4.0%}  {count(view.taken_now)} / {count(view.budget)} {unit}  "
    length = max(5, min(40, width - len(told) - len(left)))  # the numbers matter more than the bar
    return [*_strip(view.fraction, length), (told, ""), (left, "cyan")]


def _strip(fraction: float, width: int) -> Line:
    filled = round(fraction * width)
    return [("━" * filled, "green"), ("─" * (width - filled), "dim")]


def _activity(view: View, now: float) -> Line:
    """What is going on that takes long: an evaluation, or a slow rollout."""
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
    """How much of something is done."""
    done, total = done_of
    return [
        (f"{label:<{_LABEL}}", ""),
        *_strip(done / total, _SMALL_BAR),
        (f"  {count(done)} / {count(total)} {unit}", ""),
    ]


def _alerts(view: View, width: int, room: int) -> list[Line]:
    """The root cause in full, other alerts by name, and the number of those that do not fit."""
    if not view.alerts:
        return [[("no alerts", "dim")]]
    roots = [one for one in view.alerts.values() if one["because"] is None]
    first, *others = sorted(roots, key=lambda one: one["severity"] == "info")  # hints last
    follows = _following(view, first["id"])
    hence = _hence(follows, width)
    details = _details(first, follows, width)[: max(0, room - 1 - len(hence) - bool(others))]
    lines = [_root(first), *details, *hence, *(_other(view, one) for one in others)]
    if len(lines) <= room:
        return lines
    more = f"  and {count(len(lines) - room + 1)} more"
    return [*lines[: room - 1], [(more, "dim")]][: max(0, room)]


def _root(alert: dict[str, Any]) -> Line:
    severity = alert["severity"]
    return [(f"{MARKS[severity]} {alert['id']}: {alert['title']}", SEVERITY_STYLES[severity])]


def _other(view: View, alert: dict[str, Any]) -> Line:
    """One that is not the first, with what follows from it, on one line."""
    names = ", ".join(one["id"] for one in _following(view, alert["id"]))
    return [*_root(alert), (f"; follows from it: {names}", "dim")] if names else _root(alert)


def _following(view: View, root: str) -> list[dict[str, Any]]:
    return [one for one in view.alerts.values() if one["because"] == root]


def _hence(follows: list[dict[str, Any]], width: int) -> list[Line]:
    """On one line without a mark: what follows from a cause is no news of its own."""
    names = [one["id"] for one in follows]
    for kept in range(len(names), 0, -1):
        more = f" (+{len(names) - kept} more)" if kept < len(names) else ""
        told = f"  follows from it: {', '.join(names[:kept])}{more}"
        if len(told) <= width or kept == 1:
            return [[(told, "dim")]]
    return []


def _details(alert: dict[str, Any], follows: list[dict[str, Any]], width: int) -> list[Line]:
    """Evidence, remedy and likely cause; the last ones are left out first where there is no room."""
    proof = f"{event_evidence(alert)}, {lasting(alert, follows)}"
    pieces = [(proof, ""), (remedy_text(alert), "bold")]
    # Where no setting helps, the cause is all that leads anywhere.
    pieces.insert(2 if alert["changes"] else 1, (f"likely: {alert['cause']}", ""))
    return [
        [(line, style)]
        for text, style in pieces
        for line in fold(text, max(20, width), initial_indent="  ", subsequent_indent="    ")
    ]
