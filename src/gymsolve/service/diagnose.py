"""What the rules say about a run, or about somebody else's log."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.metrics.alerts import Alert, AlertTracker
from gymsolve.metrics.diagnosis import Diagnosis, diagnose, explain_run, run_context
from gymsolve.metrics.foreign import ForeignLog, fetch_wandb, read_foreign, wandb_log
from gymsolve.metrics.history import read_rows
from gymsolve.metrics.lint import lint
from gymsolve.recipes import validate
from gymsolve.runs import Run, find_run, split_ref
from gymsolve.runs.summary import holds_run
from gymsolve.service.answers import Answer

__all__ = ["ExplainedAlert", "Findings", "diagnose_path"]

_ONLINE = "wandb:"


@dataclass(frozen=True, kw_only=True)
class ExplainedAlert(Alert):
    """An alert that follows from another one."""

    because: str
    """The id of the root it follows from."""


@dataclass(frozen=True)
class Findings(Answer):
    """What went wrong in a training, in causal order; also what was not found and what was not checked."""

    run: str
    path: str
    log: str
    """Who wrote it: `gymsolve`, or another tool."""
    env_id: str | None
    records: int
    env_steps: int
    roots: tuple[Alert, ...]
    """Causes, the most urgent one first."""
    consequences: tuple[ExplainedAlert, ...]
    not_fired: tuple[str, ...]
    not_checked: dict[str, str]
    """Ids of rules, and why they could not be checked."""
    problems: list[str]
    """What could not be read."""
    lint: list[str]
    """Settings that rarely work."""


def diagnose_path(ref: str, runs_dir: Path | str | None = None) -> Findings:
    """Explain a run, the log of another tool at a path, or `wandb:ENTITY/PROJECT/RUN`."""
    path = Path(ref)
    if ref.startswith(_ONLINE):
        return _of_log(wandb_log(fetch_wandb(ref.removeprefix(_ONLINE))))
    if os.path.lexists(path) and not holds_run(path):  # a name that is too long for a path is no path
        return _of_log(read_foreign(path))
    return _of_run(find_run(split_ref(ref)[0], runs_dir))


def _of_run(run: Run) -> Findings:
    rows, problems = read_rows(run.path)
    config = validate(run.config_json()["config"], f"{run.id}/config.json")
    context = run_context(run, config)
    found = explain_run(run, AlertTracker(context, rows))
    return Findings(
        run=run.id,
        path=str(run.path),
        log="gymsolve",
        env_id=config.env.id,
        **_found(found, rows),
        problems=problems,
        lint=[str(finding.without(found.decided)) for finding in lint(config, context.spec)],
    )


def _of_log(log: ForeignLog) -> Findings:
    return Findings(
        run=log.name,
        path=log.where,
        log=log.kind,
        env_id=log.env_id,
        **_found(diagnose(log.records, log.context), log.records),
        problems=[],
        lint=[],
    )


def _found(found: Diagnosis, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "records": len(rows),
        "env_steps": max((int(row.get("env_steps") or 0) for row in rows), default=0),
        "roots": found.roots,
        "consequences": tuple(
            ExplainedAlert(**vars(one.alert), because=one.because) for one in found.consequences
        ),
        "not_fired": found.not_fired,
        "not_checked": dict(found.not_checked),
    }
