"""Alerts: a rule fires after some cases in a row, and is cleared after some records without one.

The tracker is a fold over records: it ends in the same state whether it gets them one by one while a run
trains, or all at once from a file. A resumed run therefore needs nothing but its metrics.
"""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from gymsolve.doctor.history import History
from gymsolve.doctor.rules import RULES, Rule
from gymsolve.doctor.rules.remedy_limits import prescribe
from gymsolve.doctor.rules.rule import Change, Context, Evidence, Severity


@dataclass(frozen=True)
class Alert:
    """The finding of a rule, with all that is needed to check and to mend it."""

    id: str
    signal: int
    severity: Severity
    title: str
    evidence: Evidence
    """The newest case."""
    step: int
    """Environment steps at the newest case."""
    onset: int
    """Environment steps at the first case."""
    active: bool
    count: int
    """Number of times that it fired."""
    share: float
    """Share of training during which it was active."""
    steps: int
    """Environment steps spent while it was active."""
    seconds: float | None
    """Seconds spent while it was active; None when nothing was timed."""
    cause: str
    changes: tuple[Change, ...]
    effect: str
    instead: str = ""
    """Advice where no setting should change; empty where only the code can help."""
    ended: bool = False
    """It is about the error that ended the run."""

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


class AlertChange(NamedTuple):
    """An alert that has just fired, or just been cleared."""

    kind: Literal["alert", "alert_cleared"]
    alert: Alert


@dataclass(slots=True)
class _State:
    """The state of one rule in one run."""

    rule: Rule
    checkable: bool = False
    active: bool = False
    streak: int = 0
    quiet: int = 0
    count: int = 0
    since: int = 0
    step: int = 0
    onset: int | None = None
    evidence: Evidence | None = None
    steps: int = 0
    seconds: float = 0.0


class AlertTracker:
    """Follows a run record by record."""

    def __init__(
        self, context: Context, records: Iterable[dict[str, Any]] = (), rules: Sequence[Rule] = RULES
    ) -> None:
        self.context = context
        self.history = History()
        self._states = [_State(rule) for rule in rules if rule.applies(context)]
        self.inapplicable = [rule for rule in rules if not rule.applies(context)]
        self.failure: Alert | None = None
        """The alert about the error that ended the run, if one did."""
        self._recalled: dict[str, Alert] = {}
        self._by_metric: dict[str, list[_State]] = {}
        for state in self._states:
            self._by_metric.setdefault(state.rule.metric, []).append(state)
        for record in records:
            self.update(record)

    def update(self, record: dict[str, Any]) -> list[AlertChange]:
        """Take a record; returns the alerts that it fired or cleared."""
        history = self.history
        history.append(record)
        context, progress = self.context, self.context.progress(history)
        changed: list[AlertChange] = []
        for metric, states in self._by_metric.items():
            if metric in history.record:
                for state in states:
                    if progress >= state.rule.warmup and (state.checkable or self._is_checkable(state)):
                        evidence = state.rule.check(history, context, state.active)
                        if evidence is None and not state.active:
                            state.streak = 0  # by far the most common case
                        else:
                            self._step(state, evidence, changed)
        if history.record.get("solved") == 1.0:
            self._settle_success(changed)
        return changed

    def alerts(self) -> list[Alert]:
        """All alerts that have fired so far, sorted by id."""
        fired = {state.rule.id: self._alert(state) for state in self._states if state.count} | self._recalled
        if self.failure is not None:
            fired[self.failure.id] = self.failure
        return [fired[name] for name in sorted(fired)]

    def recall(self, history: History, alerts: Iterable[Alert]) -> None:
        """Take over the alerts that another tracker found in these records, instead of running the rules."""
        self.history = history
        self._recalled = {alert.id: alert for alert in alerts}

    def fail(self, failure: Alert) -> AlertChange:
        """Take the alert about the error that ended the run: no record holds it."""
        self.failure = failure
        return AlertChange("alert", failure)

    def _settle_success(self, changed: list[AlertChange]) -> None:
        """Clear active alerts that are no case any more once the run is solved: no later record would."""
        for state in self._states:
            if state.active and state.rule.check(self.history, self.context, True) is None:
                state.active, state.streak = False, 0
                changed.append(AlertChange("alert_cleared", self._alert(state)))

    def quiet_rules(self) -> list[Rule]:
        """Rules that were checked and never fired."""
        fired = None if self.failure is None else self.failure.id
        return [
            state.rule
            for state in self._states
            if not state.count and state.rule.id != fired and self._is_checkable(state)
        ]

    def unchecked_rules(self) -> list[tuple[Rule, str]]:
        """Rules that could not be checked, and why."""
        ours = self.context.config is not None  # a log of another tool holds neither spaces nor all settings
        why = "does not apply to these settings" if ours else "needs what such a log does not tell"
        unchecked = [(rule, why) for rule in self.inapplicable]
        for state in self._states:
            if not self._is_checkable(state):
                missing = [name for name in state.rule.needs if not is_present(self.history, name)]
                unchecked.append((state.rule, f"needs {', '.join(missing)}"))
        return unchecked

    def _is_checkable(self, state: _State) -> bool:
        if not state.checkable:
            state.checkable = all(is_present(self.history, name) for name in state.rule.needs)
        return state.checkable

    def _step(self, state: _State, evidence: Evidence | None, changed: list[AlertChange]) -> None:
        """Take a case, or a record without one while the alert is active."""
        rule, step = state.rule, self.history.env_steps
        if state.active:
            self._charge(state, step)
        if evidence is None:
            state.streak = 0
            state.quiet += 1
            if state.quiet >= rule.patience:
                state.active = False
                changed.append(AlertChange("alert_cleared", self._alert(state)))
            return
        state.quiet = 0
        if state.streak == 0 and not state.active:
            # What was charged before is not charged again.
            state.since = step if evidence.since is None else max(state.since, evidence.since)
        state.streak += 1
        if state.active or state.streak >= rule.persistence:
            state.evidence, state.step = evidence, step
        if not state.active and state.streak >= rule.persistence:
            state.active = True
            state.count += 1
            state.onset = state.since if state.onset is None else state.onset
            self._charge(state, step)
            changed.append(AlertChange("alert", self._alert(state)))

    def _charge(self, state: _State, step: int) -> None:
        """Add steps and seconds since the last charge; an evaluation may arrive with an earlier step."""
        if step <= state.since:
            return
        state.steps += step - state.since
        now, then = self.history.seconds_at(step), self.history.seconds_at(state.since)
        if now is not None:
            state.seconds += now - (then or 0.0)
        state.since = step

    def _alert(self, state: _State) -> Alert:
        rule = state.rule
        assert state.evidence is not None
        assert state.onset is not None
        total = max(1, self.history.env_steps)
        remedy = prescribe(self.context, rule.remedy(self.context, state.evidence))
        instead = rule.instead if isinstance(rule.instead, str) else rule.instead(self.context)
        return Alert(
            id=rule.id,
            signal=rule.signal,
            severity=rule.severity,
            title=rule.title,
            evidence=state.evidence,
            step=state.step,
            onset=state.onset,
            active=state.active,
            count=state.count,
            share=min(1.0, state.steps / total),
            steps=state.steps,
            seconds=None if "time/elapsed" not in self.history.series else round(state.seconds, 3),
            cause=rule.cause,
            changes=remedy.changes,
            effect="" if rule.effect is None else str(rule.effect),
            instead="" if remedy.changes else instead or remedy.instead,
        )


def is_present(history: History, name: str) -> bool:
    """A metric was recorded at least once; a name with `<…>` stands for any with its prefix."""
    if not name.endswith(">"):
        return name in history.series
    prefix = name.partition("<")[0]
    return any(metric.startswith(prefix) for metric in history.series)
