"""Alerts as lines of text: one when it fires, some in the summary, a paragraph in a diagnosis."""

from collections.abc import Mapping, Sequence
from typing import Any

from gymsolve.metrics.wording import event_evidence, evidence_text, lasting, remedy_text
from gymsolve.text import count, duration, plural

_FOLLOWS = 3
"""Consequences that a summary tells; the others are in the diagnosis."""


def alert_line(facts: Mapping[str, Any]) -> str:
    """An alert that has just fired, from its event."""
    return (
        f"{facts['severity']} {facts['id']}: {facts['title']} "
        f"({event_evidence(facts)}, since step {count(facts['onset'])}); "
        f"{_advice(facts)}"
    )


def summary_lines(alert: Mapping[str, Any], follows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A cause at the end of a run: how long, the proof, why, what to try, and what came of it."""
    told = [f"{alert['title']} [{alert['id']}{_when(alert, follows)}]"]
    if alert["severity"] == "info":
        return told
    told += [evidence_text(alert["evidence"]), f"likely: {alert['cause']}", remedy_text(alert)]
    if not follows:
        return told
    more = len(follows) - _FOLLOWS
    rest = f" (+{more} more: gymsolve diagnose)" if more > 0 else ""
    return [*told, f"hence: {'; '.join(one['title'] for one in follows[:_FOLLOWS])}{rest}"]


def alert_paragraph(alert: Mapping[str, Any], follows: Sequence[Mapping[str, Any]]) -> list[str]:
    """An alert as a diagnosis shows it; what follows from it tells whether it is over."""
    spent = f"{count(alert['steps'])} steps"
    if alert["seconds"] is not None:
        spent += f" and {duration(alert['seconds'])}"
    cost = f"{spent} spent meanwhile ({alert['share']:.0%} of training)"
    state = f"{lasting(alert, follows)}{', still active' if alert['active'] else ''}"
    when = (
        lasting(alert, follows)
        if alert["ended"]
        else f"{state}; fired {plural(alert['count'], 'time')}, {cost}"
    )
    told = [
        f"{alert['severity'].upper()}  {alert['title']}  [{alert['id']}]",
        f"  evidence  {evidence_text(alert['evidence'])}, step {count(alert['step'])}",
        f"  when      {when}",
        f"  likely    {alert['cause']}",
        f"  remedy    {remedy_text(alert)}",
    ]
    return [*told, f"  expect    {alert['effect']}"] if alert["effect"] else told


def _when(alert: Mapping[str, Any], follows: Sequence[Mapping[str, Any]]) -> str:
    """When an alert was active; its share of training only while it lasts, since a short one may matter."""
    if not alert["active"]:
        return f", {lasting(alert, follows)}"
    return f", {alert['share']:.0%} of training" if alert["share"] >= 0.01 else ""


def _advice(facts: Mapping[str, Any]) -> str:
    return remedy_text(facts) if facts["because"] is None else f"follows from {facts['because']}"
