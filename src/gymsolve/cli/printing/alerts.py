"""Alerts as text: a line when they fire, some lines in the summary, a paragraph in a diagnosis."""

from collections.abc import Mapping, Sequence
from typing import Any

from gymsolve.metrics.wording import event_evidence, evidence_text, lasting, remedy_text
from gymsolve.text import count, duration, plural

_FOLLOWS = 3
"""Consequences that a summary names; `gymsolve diagnose` names all."""


def alert_line(facts: Mapping[str, Any]) -> str:
    """An alert that has just fired, from its event."""
    because = facts["because"]
    advice = remedy_text(facts) if because is None else f"follows from {because}"
    evidence = f"{event_evidence(facts)}, since step {count(facts['onset'])}"
    return f"{facts['severity']} {facts['id']}: {facts['title']} ({evidence}); {advice}"


def summary_lines(alert: Mapping[str, Any], follows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A cause at the end of a run: duration, evidence, likely cause, remedy and consequences."""
    lines = [f"{alert['title']} [{alert['id']}{_when(alert, follows)}]"]
    if alert["severity"] == "info":
        return lines
    lines += [evidence_text(alert["evidence"]), f"likely: {alert['cause']}", remedy_text(alert)]
    if not follows:
        return lines
    more = len(follows) - _FOLLOWS
    rest = f" (+{more} more: gymsolve diagnose)" if more > 0 else ""
    return [*lines, f"hence: {'; '.join(consequence['title'] for consequence in follows[:_FOLLOWS])}{rest}"]


def alert_paragraph(alert: Mapping[str, Any], follows: Sequence[Mapping[str, Any]]) -> list[str]:
    """An alert as a diagnosis shows it; it lasts as long as its consequences."""
    spent = f"{count(alert['steps'])} steps"
    if alert["seconds"] is not None:
        spent += f" and {duration(alert['seconds'])}"
    cost = f"{spent} spent meanwhile ({alert['share']:.0%} of training)"
    when = lasting(alert, follows)
    if not alert["ended"]:
        active = ", still active" if alert["active"] else ""
        when = f"{when}{active}; fired {plural(alert['count'], 'time')}, {cost}"
    lines = [
        f"{alert['severity'].upper()}  {alert['title']}  [{alert['id']}]",
        f"  evidence  {evidence_text(alert['evidence'])}, step {count(alert['step'])}",
        f"  when      {when}",
        f"  likely    {alert['cause']}",
        f"  remedy    {remedy_text(alert)}",
    ]
    return [*lines, f"  expect    {alert['effect']}"] if alert["effect"] else lines


def _when(alert: Mapping[str, Any], follows: Sequence[Mapping[str, Any]]) -> str:
    """When an alert was active; the share of training is given only while it is active."""
    if not alert["active"]:
        return f", {lasting(alert, follows)}"
    return f", {alert['share']:.0%} of training" if alert["share"] >= 0.01 else ""
