"""Writes records and events: to the run's files, to the rules and to the observer."""

import time
from typing import Any

from gymsolve.doctor.alerts import AlertChange, AlertTracker
from gymsolve.doctor.diagnosis import explain
from gymsolve.doctor.failure import failure_alert
from gymsolve.doctor.rules.rule import Context
from gymsolve.doctor.stored_alerts import alert_facts
from gymsolve.errors import BadNumber
from gymsolve.metrics.catalog import require_declared
from gymsolve.runs.run import Run
from gymsolve.training.observer import Observer
from gymsolve.training.records import next_record
from gymsolve.training.stages import episode_metrics
from gymsolve.training.trainer import Trainer


def write_record(trainer: Trainer, run: Run, observer: Observer) -> None:
    """Write one line of metrics: where the run is, and the averages since the last line."""
    counters = trainer.counters
    record: dict[str, Any] = trainer.position() | {"time/elapsed": counters.seconds}
    record |= episode_metrics(trainer) | trainer.averager.take() | trainer.clock.take()
    for extension in trainer.extensions.values():
        record |= extension.metrics()
    if counters.faults:
        record |= {"rollout/faults": counters.faults, "rollout/cut_episodes": counters.cut_episodes}
    publish(trainer, run, observer, record)
    counters.next_record = next_record(counters.env_steps, trainer.config)


def publish(trainer: Trainer, run: Run, observer: Observer, record: dict[str, Any]) -> None:
    """Write a record, show it, and say which alerts it raised or cleared."""
    began = time.perf_counter()
    require_declared(record)
    run.append_metrics(record)
    changes = trainer.alerts.update(record)  # before the observer, which reads the history that it keeps
    observer.record(record)
    _log_changes(trainer, run, observer, changes)
    trainer.clock.add("record", time.perf_counter() - began)


def publish_failure(trainer: Trainer, run: Run, observer: Observer, text: str, bad: BadNumber) -> None:
    """Publish the alert on a number that is not finite and ends the run; no record holds it."""
    failure = failure_alert(trainer.alerts, text, bad)
    _log_changes(trainer, run, observer, [trainer.alerts.fail(failure)])


def _log_changes(trainer: Trainer, run: Run, observer: Observer, changes: list[AlertChange]) -> None:
    if not changes:
        return
    diagnosis = explain(trainer.alerts)
    settled = {alert.id: alert for alert in diagnosis.alerts}  # their remedies agree
    for kind, changed in changes:
        alert = settled[changed.id]
        facts = alert_facts(alert) | {"because": diagnosis.because.get(alert.id)}
        run.append_event(kind, env_steps=trainer.counters.env_steps, **facts)
        observer.event(kind, facts)


def log_event(run: Run, observer: Observer, kind: str, env_steps: int, text: str) -> None:
    """Write an event that is a sentence, and show it."""
    run.append_event(kind, env_steps=env_steps, text=text)
    observer.event(kind, {"text": text})


def store_alerts(trainer: Trainer, run: Run) -> None:
    """Enter into the events how all alerts stand; readers of the run then need not run the rules."""
    alerts = [alert_facts(alert) for alert in trainer.alerts.alerts()]
    run.append_event("alerts", env_steps=trainer.counters.env_steps, alerts=alerts)


def replay_alerts(trainer: Trainer, run: Run) -> None:
    """Run the rules over the run's stored records, so that old alerts are not published again."""
    context = Context.of(trainer.config, trainer.envs.spec, warm_start=run.is_warm_start)
    trainer.alerts = AlertTracker(context, run.iterate_metrics())


def present_alerts(tracker: AlertTracker) -> dict[str, dict[str, Any]]:
    """The active alerts by id, as events store them: causes first, the most urgent in front.

    A cause stays as long as one of its consequences does: a single bad update is over at once, and is still
    the answer to why nothing is learned.
    """
    diagnosis = explain(tracker)
    alerts, because = diagnosis.alerts, diagnosis.because
    blamed = {because.get(alert.id) for alert in alerts if alert.active}
    return {
        alert.id: alert_facts(alert) | {"because": because.get(alert.id)}
        for alert in alerts
        if alert.active or alert.id in blamed
    }
