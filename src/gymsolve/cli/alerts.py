"""Alerts as lines of text: one when it fires, one in the summary, a paragraph in a diagnosis."""

from collections.abc import Mapping, Sequence
from typing import Any

from gymsolve.metrics.wording import evidence_text, remedy_text
from gymsolve.text import count, duration, plural

__all__ = ["alert_line", "alert_paragraph", "event_evidence", "remedy_text", "summary_lines"]


def alert_line(facts: Mapping[str, Any]) -> str:
    """An alert that has just fired, from its event."""
    return (
        f"{facts['severity']} {facts['id']}: {facts['title']} ({event_evidence(facts)}); "
        f"{_advice(facts['changes'], facts['because'])}"
    )


def event_evidence(facts: Mapping[str, Any]) -> str:
    """Which number gave it away, and since when, from its event."""
    shown = evidence_text(facts["metric"], facts["value"], facts["sign"], facts["threshold"], facts["remark"])
    return f"{shown}, since step {count(facts['onset'])}"


def summary_lines(alert: Mapping[str, Any], follows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A cause at the end of a run: how long, why, what to try, and what came of it."""
    lasted = f", {alert['share']:.0%} of training" if alert["share"] >= 0.01 else ""
    told = [f"{alert['title']} [{alert['id']}{lasted}]"]
    if alert["severity"] == "info":
        return told
    told += [f"likely: {alert['cause']}", remedy_text(alert["changes"])]
    return [*told, f"hence: {'; '.join(one['title'] for one in follows)}"] if follows else told


def alert_paragraph(alert: Mapping[str, Any]) -> list[str]:
    """All of an alert, as a diagnosis shows it."""
    one = alert["evidence"]
    state = "still active" if alert["active"] else "over by now"
    spent = f"{count(alert['steps'])} steps"
    if alert["seconds"] is not None:
        spent += f" and {duration(alert['seconds'])}"
    proof = evidence_text(one["metric"], one["value"], one["sign"], one["threshold"], one["note"])
    told = [
        f"{alert['severity'].upper()}  {alert['title']}  [{alert['id']}]",
        f"  evidence  {proof}, step {count(alert['step'])}",
        f"  since     step {count(alert['onset'])}; fired {plural(alert['count'], 'time')}, {state}; "
        f"{spent} spent meanwhile ({alert['share']:.0%} of training)",
        f"  likely    {alert['cause']}",
        f"  remedy    {remedy_text(alert['changes'])}",
    ]
    return [*told, f"  expect    {alert['effect']}"] if alert["effect"] else told


def _advice(changes: Sequence[Mapping[str, Any]], because: str | None) -> str:
    return remedy_text(changes) if because is None else f"follows from {because}"
