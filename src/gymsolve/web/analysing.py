"""Answers that need the rules and the settings of runs: alerts, and runs side by side."""

from typing import Any

from gymsolve.doctor.tried import tried_remedies
from gymsolve.metrics.wording import evidence_text, lasting, remedy_text
from gymsolve.runs import Run
from gymsolve.service.start_requests import FixTrial
from gymsolve.view.compare_page import compare_side_by_side
from gymsolve.view.diagnosed_run import DiagnosedRun
from gymsolve.view.report.comparison import AXES
from gymsolve.view.run_page import run_by_id
from gymsolve.web.reading import asked_run
from gymsolve.web.route import Ask, Reply


def show_alerts(ask: Ask) -> Reply:
    """The alerts of a run by its events, in words."""
    view = DiagnosedRun(asked_run(ask))
    findings = view.findings.to_json()
    follows: dict[str, list[dict[str, Any]]] = {}
    for alert in findings["consequences"]:
        follows.setdefault(alert["because"], []).append(alert)
    tried = {alert: remedy.to_json() for alert, remedy in tried_remedies(view.run.id, view.events).items()}
    roots = [
        {**_alert(ask, view.run, alert, follows.get(alert["id"], [])), "tried": tried.get(alert["id"])}
        for alert in findings["roots"]
    ]
    return {
        "roots": roots,
        "checked": len(findings["not_fired"]) + len(findings["roots"]) + len(findings["consequences"]),
        "lint": findings["lint"],
        "problems": findings["problems"],
    }


def _alert(ask: Ask, run: Run, alert: dict[str, Any], follows: list[dict[str, Any]]) -> dict[str, Any]:
    """An alert as people read it, with the command that tries its remedy."""
    fix = FixTrial(run.id, alert["id"]).command(ask.home) if alert["changes"] else None
    return {
        **{name: alert[name] for name in ("id", "severity", "title", "cause", "effect", "active")},
        "evidence": evidence_text(alert["evidence"]),
        "lasting": lasting(alert, follows),
        "remedy": remedy_text(alert),
        "fix": fix,
        "follows": [_alert(ask, run, other, []) for other in follows],
    }


def compare_runs(ask: Ask) -> Reply:
    """Runs side by side."""
    names = [name for name in ask.query.get("runs", "").split(",") if name]
    axis = next((name for name in AXES if name == ask.query.get("axis")), None)
    runs = [run_by_id(name, ask.home.runs_dir) for name in names]
    return compare_side_by_side(runs, axis, ask.query.get("metric", "")).to_json()
