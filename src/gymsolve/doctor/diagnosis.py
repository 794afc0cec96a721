"""Findings in causal order: root causes first, their consequences next, then rules that did not fire.

The environment comes before hyperparameters: most trainings that do not learn fail there, and no setting
mends an observation that never changes.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from gymsolve.doctor.alerts import Alert, AlertTracker
from gymsolve.doctor.failure import bad_number_of, crash_alert, failure_alert
from gymsolve.doctor.rules import RULES, Rule
from gymsolve.doctor.rules.remedy_limits import settle
from gymsolve.doctor.rules.rule import Context
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.runs.loading import newest_metadata
from gymsolve.runs.run import Run
from gymsolve.runs.summary import SILENT
from gymsolve.settings.config import TrainConfig
from gymsolve.spec import EnvSpec

_FIRST = (1, 0, 2, 3, 24, 9)
"""Signals of the environment and of bookkeeping, the most urgent first."""
_SEVERITIES = ("error", "warn", "info")
_PASSING = 0.05
"""An alert that was active for a smaller share of training comes after those that lasted."""
_SLACK = 0.1
"""A cause may be noticed later than its effect by this share of training."""


@dataclass(frozen=True)
class Consequence:
    """An alert that another one explains."""

    alert: Alert
    because: str
    """The id of the root it follows from."""


@dataclass(frozen=True)
class Diagnosis:
    """The verdict of all rules on a run."""

    roots: tuple[Alert, ...]
    consequences: tuple[Consequence, ...]
    not_fired: tuple[str, ...]
    not_checked: tuple[tuple[str, str], ...]
    """Id and reason."""

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """Causes first, the most urgent in front, then what follows from them."""
        return (*self.roots, *(consequence.alert for consequence in self.consequences))

    @property
    def because(self) -> dict[str, str]:
        """Ids of alerts that follow from another one, and the id of that one."""
        return {consequence.alert.id: consequence.because for consequence in self.consequences}

    @property
    def decided(self) -> frozenset[str]:
        """Settings that its remedies change."""
        return frozenset(change.path for alert in self.alerts for change in alert.changes)

    def to_json(self) -> dict[str, Any]:
        return {
            "roots": [alert.to_json() for alert in self.roots],
            "consequences": [
                {**consequence.alert.to_json(), "because": consequence.because}
                for consequence in self.consequences
            ],
            "not_fired": list(self.not_fired),
            "not_checked": dict(self.not_checked),
        }


def diagnose(records: Iterable[dict[str, Any]], context: Context, *, failure: str | None = None) -> Diagnosis:
    """Replay the rules over the records of a run; `failure` is the error that ended it, if one did."""
    tracker = AlertTracker(context, records)
    if failure is not None:
        tracker.fail(failure_alert(tracker, failure, None))
    return explain(tracker)


def explain(tracker: AlertTracker) -> Diagnosis:
    """The alerts of a tracker, in causal order."""
    alerts = tracker.alerts()
    reach = _SLACK * max(tracker.context.budget, tracker.history.env_steps)
    because = {alert.id: _cause(alert, alerts, reach) for alert in alerts}
    origin = {alert.id: _root(alert.id, because) for alert in alerts}
    ordered = sorted(alerts, key=lambda alert: (not alert.ended, _urgency(alert)))
    alerts = _reconcile(ordered, origin)
    fired = {alert.id for alert in alerts}
    return Diagnosis(
        roots=tuple(alert for alert in alerts if origin[alert.id] == alert.id),
        consequences=tuple(
            Consequence(alert, origin[alert.id]) for alert in alerts if origin[alert.id] != alert.id
        ),
        not_fired=tuple(rule.id for rule in tracker.quiet_rules() if rule.id not in fired),
        not_checked=tuple((rule.id, reason) for rule, reason in tracker.unchecked_rules()),
    )


def _reconcile(alerts: Sequence[Alert], origin: dict[str, str]) -> list[Alert]:
    """The alerts with remedies that agree: causes overrule consequences, and lasting alerts overrule
    those that are over without a lasting consequence."""
    lasting = {origin[alert.id] for alert in alerts if alert.active}

    def rank(alert: Alert) -> tuple[bool, bool]:
        return origin[alert.id] not in lasting, origin[alert.id] != alert.id

    settled = {alert.id: alert for alert in settle(sorted(alerts, key=rank))}
    return [settled[alert.id] for alert in alerts]


def _cause(alert: Alert, alerts: Sequence[Alert], reach: float) -> str | None:
    """The most urgent alert that explains this one and was not noticed much later, or is a standing one."""
    causes = [
        other
        for other in alerts
        if other.id != alert.id
        and alert.id in _REACHED.get(other.id, ())
        and (other.id in _STANDING or other.onset <= alert.onset + reach)
    ]
    return min(causes, key=_urgency).id if causes else None


def _root(name: str, because: dict[str, str | None]) -> str:
    while (cause := because[name]) is not None:
        name = cause
    return name


def _urgency(alert: Alert) -> tuple[int, int, bool, int, str]:
    place = _FIRST.index(alert.signal) if alert.signal in _FIRST else len(_FIRST)
    passing = not alert.active and alert.share < _PASSING and alert.severity != "error"
    return place, _SEVERITIES.index(alert.severity), passing, alert.onset, alert.id


def _closure(rules: Sequence[Rule]) -> dict[str, frozenset[str]]:
    """Everything that each rule explains, directly or through another."""
    direct = {rule.id: rule.explains for rule in rules}
    reached: dict[str, frozenset[str]] = {}

    def visit(name: str) -> frozenset[str]:
        if name not in reached:
            below = [visit(effect) | {effect} for effect in direct[name]]
            reached[name] = frozenset().union(*below)
        return reached[name]

    for name in direct:
        visit(name)
    return reached


_REACHED = _closure(RULES)
_STANDING = frozenset(rule.id for rule in RULES if rule.standing)


def run_context(run: Run, config: TrainConfig) -> Context:
    """The context of a stored run, for the rules."""
    return Context.of(config, _spec(run), warm_start=run.is_warm_start)


def explain_run(run: Run, alerts: AlertTracker) -> Diagnosis:
    """The diagnosis of a run whose records a tracker has taken; the error that ended the run counts too."""
    summary = run.summary()
    if summary.status == "crashed" and alerts.failure is None:
        reason, events = str(summary.reason or ""), run.read_events().rows
        bad = bad_number_of(events)
        if reason == SILENT or not (bad is not None or reason.startswith("DivergenceError")):
            alerts.fail(_crash(run, alerts, reason, events))
        else:
            alerts.fail(failure_alert(alerts, reason, bad))
    return explain(alerts)


def _crash(run: Run, alerts: AlertTracker, reason: str, events: Sequence[dict[str, Any]]) -> Alert:
    errors = [event for event in events if event.get("kind") == "error"]
    at = errors[-1].get("at") if errors and reason != SILENT else None
    saved = list_checkpoints(run)
    place = at if isinstance(at, dict) else None
    return crash_alert(alerts, reason, at=place, run=run.id, saved=saved[-1] if saved else "")


def _spec(run: Run) -> EnvSpec | None:
    """The spaces that are stored with the weights; None without a readable checkpoint."""
    stored = newest_metadata(run)
    try:
        return None if stored is None else EnvSpec.from_json(json.loads(stored["spec"]))
    except (KeyError, ValueError, RecursionError):
        return None
