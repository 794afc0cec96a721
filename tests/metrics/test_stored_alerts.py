"""Alerts read from events are those of the tracker that followed the run; the rules serve older runs."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from report_runs import store
from stories import story

from gymsolve.doctor.alerts import AlertTracker
from gymsolve.doctor.diagnosis import explain_run, run_context
from gymsolve.doctor.stored_alerts import alert_facts, read_alert
from gymsolve.runs.process import identity
from gymsolve.runs.run import Run
from gymsolve.view.diagnosed_run import DiagnosedRun
from gymsolve.view.report.write import write_report

BY_RULES = "the rules of this version"
STORIES: dict[str, dict[str, Any]] = {
    "healthy": {},
    "active at the end": {"train/approx_kl": 0.5, "train/clip_fraction": 0.7},
    "over by the end": {"train/approx_kl": lambda i: 0.5 if 30 < i < 50 else 0.005},
    "not finite": {"train/loss": lambda i: None if i > 80 else 1.0},
    "twice": {"train/explained_variance": lambda i: -0.5 if (i // 20) % 2 else 0.9},
    "late": {"policy/entropy_relative": lambda i: 0.001 if i > 60 else 0.9},
}


def follow(run: Run, *, ended: bool = True) -> AlertTracker:
    """Feed a tracker as a training process does, and leave the same events."""
    tracker = AlertTracker(run_context(run, DiagnosedRun(run).config))
    for row in run.iterate_metrics():
        for kind, alert in tracker.update(row):
            run.append_event(kind, env_steps=row["env_steps"], **alert_facts(alert))
    if ended:
        facts = [alert_facts(alert) for alert in tracker.alerts()]
        run.append_event("alerts", env_steps=tracker.history.env_steps, alerts=facts)
    return tracker


def replay(run: Run) -> dict[str, Any]:
    """Everything that the rules find in the stored records."""
    context = run_context(run, DiagnosedRun(run).config)
    return explain_run(run, AlertTracker(context, run.iterate_metrics())).to_json()


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)  # NaN equals NaN there


@pytest.mark.parametrize("name", STORIES)
@pytest.mark.parametrize("status", ["finished", "crashed"])
def test_events_tell_how_the_tracker_ended(tmp_path: Path, name: str, status: str) -> None:
    reason = "steps" if status == "finished" else "EnvFaultError: it broke."
    run = store(tmp_path, story(STORIES[name]), status=status, reason=reason)
    tracker = follow(run)
    view = DiagnosedRun(run)
    assert same(view.diagnosis.to_json(), replay(run))
    assert view.diagnosed_now == ""
    active = {alert.id for alert in tracker.alerts() if alert.active}
    assert {alert["id"] for alert in view.active_alerts} == active
    assert "alerts" not in [event["kind"] for event in view.shown_events]


@pytest.mark.parametrize("name", STORIES)
def test_a_running_run_is_told_by_its_events_so_far(tmp_path: Path, name: str) -> None:
    run = store(tmp_path, story(STORIES[name]))
    info = run.info() | {"status": "running"} | identity()
    (run.path / "run.json").write_text(json.dumps(info))
    tracker = follow(run, ended=False)
    view = DiagnosedRun(run)
    assert view.diagnosed_now == ""
    told = {alert.id: alert for alert in view.diagnosis.alerts}
    for alert in tracker.alerts():
        stored = told.pop(alert.id)
        assert (stored.active, stored.onset, stored.count) == (alert.active, alert.onset, alert.count)
        assert (stored.steps, stored.share) == (alert.steps, pytest.approx(alert.share))
    assert not told
    assert view.diagnosis.not_fired == tuple(replay(run)["not_fired"])


@pytest.mark.parametrize("damage", ["none", "older", "torn", "resumed", "no list"])
def test_what_the_events_do_not_tell_the_rules_do_and_it_is_said(tmp_path: Path, damage: str) -> None:
    run = store(tmp_path, story(STORIES["active at the end"]))
    tracker = follow(run, ended=False)
    facts = [alert_facts(alert) for alert in tracker.alerts()]
    assert facts
    if damage == "older":
        facts[0].pop("steps")
    if damage == "torn":
        facts[0]["severity"] = ["error"]
    if damage != "none":
        run.append_event("alerts", env_steps=0, alerts=7 if damage == "no list" else facts)
    if damage == "resumed":
        run.append_event("resumed", env_steps=0)
    view = DiagnosedRun(run)
    assert BY_RULES in view.diagnosed_now
    assert same(view.diagnosis.to_json(), replay(run))
    assert BY_RULES in view.findings.problems[-1]
    assert BY_RULES in write_report(run).markdown.read_text()


def test_an_alert_comes_back_as_it_was_stored(tmp_path: Path) -> None:
    run = store(tmp_path, story(STORIES["not finite"]), status="crashed", reason="DivergenceError: nan")
    alert = DiagnosedRun(run).diagnosis.roots[0]
    assert math.isnan(alert.evidence.value)
    facts = json.loads(json.dumps(alert_facts(alert)).replace(": NaN", ": null"))
    assert repr(read_alert(facts)) == repr(alert)
    for name in facts:
        assert read_alert({key: value for key, value in facts.items() if key != name}) is None
        assert read_alert(facts | {name: {"no": [name]}}) is None
