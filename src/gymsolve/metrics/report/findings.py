"""Alerts with evidence and remedies, and the checks that found nothing."""

from typing import Any

from gymsolve.metrics.report.document import Block, Bullets, Finding, Fold, Paragraph, Section
from gymsolve.metrics.report.facts import Facts
from gymsolve.metrics.wording import evidence_text, lasting, remedy_text
from gymsolve.text import count, duration, plural

__all__ = ["findings", "problems"]


def findings(facts: Facts) -> Section:
    """One root cause first, its consequences under it."""
    found = facts.diagnosis.to_json()
    blocks: list[Block] = [_finding(alert, found["consequences"]) for alert in found["roots"]]
    if not blocks:
        blocks.append(Paragraph("No alert fired, which is not to say that all is well."))
    if facts.lint:
        blocks += [Paragraph("Settings that rarely work:"), Bullets(facts.lint)]
    return Section("Alerts", [*blocks, *_quiet(facts)])


def problems(facts: Facts) -> Section:
    """Damage in the run's files; usually an empty section, which is left out."""
    return Section("Could not be read", [Bullets(facts.problems)] if facts.problems else [])


def _finding(alert: dict[str, Any], consequences: list[dict[str, Any]]) -> Finding:
    follows = [one for one in consequences if one["because"] == alert["id"]]
    spent = f"{count(alert['steps'])} steps"
    if alert["seconds"] is not None:
        spent += f" and {duration(alert['seconds'])}"
    state = ", still active at the end" if alert["active"] else ""
    when = lasting(alert, follows)
    details = [
        ("evidence", f"{evidence_text(alert['evidence'])}, step {count(alert['step'])}"),
        ("when", f"{when}{state}; fired {plural(alert['count'], 'time')}"),
        ("cost", f"{spent} ({alert['share']:.0%} of training)"),
        ("likely cause", alert["cause"]),
        ("remedy", remedy_text(alert["changes"])),
    ]
    if alert["effect"]:
        details.append(("expect", alert["effect"]))
    if follows:
        details.append(("explains", "; ".join(f"{one['title']} [{one['id']}]" for one in follows)))
    return Finding(alert["severity"], f"{alert['title']} [{alert['id']}]", details)


def _quiet(facts: Facts) -> list[Block]:
    quiet, unchecked = facts.diagnosis.not_fired, facts.diagnosis.not_checked
    blocks: list[Block] = []
    if quiet:
        blocks.append(Fold(f"{plural(len(quiet), 'check')} did not fire", [Paragraph(", ".join(quiet))]))
    if unchecked:
        reasons = [f"{name}: {reason}" for name, reason in unchecked]
        blocks.append(Fold(f"{plural(len(unchecked), 'check')} could not be made", [Bullets(reasons)]))
    return blocks
