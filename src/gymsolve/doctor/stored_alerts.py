"""Alerts in a run's events: written as they change, read back without running the rules again.

`alert` and `alert_cleared` hold one alert as it was then. An `alerts` event holds all of them as they stand
when a sitting begins and ends: the evidence of an active alert, and how long it lasted, change without an
event of their own.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from gymsolve.doctor.alerts import Alert
from gymsolve.doctor.history import History
from gymsolve.doctor.rules.rule import Change, Evidence
from gymsolve.errors import BadNumber
from gymsolve.runs.schema import ALERT, find_fault

Event = Mapping[str, Any]


def alert_facts(alert: Alert) -> dict[str, Any]:
    """An alert as events store it: flat, with the note of its evidence as its remark."""
    facts, bad = asdict(alert), alert.evidence.bad
    evidence: dict[str, Any] = facts.pop("evidence")
    rest = {"remark": evidence.pop("note"), "changes": list(facts["changes"])}
    return facts | evidence | rest | {"bad": None if bad is None else bad.to_json()}


def read_alert(facts: Any) -> Alert | None:
    """The alert that `alert_facts` has stored; None where a field is missing, as in older runs, or wrong."""
    if not isinstance(facts, Mapping) or find_fault(facts, ALERT) is not None:
        return None
    try:
        bad = None if facts["bad"] is None else BadNumber.from_json(facts["bad"])
        changes = tuple(Change(**change) for change in facts["changes"])
    except (KeyError, TypeError):
        return None
    names = ("metric", "sign", "meaning", "aim", "since")
    evidence = Evidence(
        **{name: facts[name] for name in names},
        value=math.nan if facts["value"] is None else facts["value"],
        threshold=math.nan if facts["threshold"] is None else facts["threshold"],
        note=facts["remark"],
        bad=bad,
    )
    kept = {name: facts[name] for name in Alert.__dataclass_fields__ if name not in ("evidence", "changes")}
    return Alert(**kept, evidence=evidence, changes=changes)


def stored_alerts(events: Sequence[Event], history: History, *, running: bool) -> list[Alert] | None:
    """All alerts that fired, from a run's events; None where the events do not hold all of them.

    They hold all alerts of a run that has ended if its last sitting wrote an `alerts` event at its end. In a
    running run, an active alert has the evidence with which it fired, and lasts until now.
    """
    alerts: dict[str, Alert] = {}
    complete = running
    for event in events:
        kind = event.get("kind")
        if kind == "resumed":
            complete = running
        elif kind == "alerts":
            given = event.get("alerts")
            read = [read_alert(facts) for facts in given] if isinstance(given, list) else [None]
            alerts = {alert.id: alert for alert in read if alert is not None}
            complete = len(alerts) == len(read)
        elif kind in ("alert", "alert_cleared"):
            alert = read_alert(event)
            complete = complete and alert is not None
            if alert is not None:
                alerts[alert.id] = _until_now(alert, event, history) if running else alert
    return list(alerts.values()) if complete else None


def _until_now(alert: Alert, event: Event, history: History) -> Alert:
    """An alert of a running run by now: an active one lasts for all steps and seconds since its event."""
    then, now = int(event.get("env_steps") or 0), history.env_steps
    steps, seconds = alert.steps, alert.seconds
    if alert.ended or now <= then:
        return alert
    if alert.active:
        steps += now - then
        if seconds is not None:
            seconds += (history.seconds_at(now) or 0.0) - (history.seconds_at(then) or 0.0)
    return replace(alert, steps=steps, seconds=seconds, share=min(1.0, steps / now))
