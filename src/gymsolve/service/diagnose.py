"""What the rules say about a run, or about somebody else's log."""

from pathlib import Path
from typing import Any

from gymsolve.metrics.alerts import AlertTracker
from gymsolve.metrics.diagnosis import Diagnosis, diagnose, explain_run, run_context
from gymsolve.metrics.foreign import ForeignLog, fetch_wandb, read_foreign, wandb_log
from gymsolve.metrics.history import read_rows
from gymsolve.metrics.lint import lint
from gymsolve.recipes import validate
from gymsolve.runs import Run, find_run, split_ref

__all__ = ["diagnose_path"]

_ONLINE = "wandb:"


def diagnose_path(ref: str, runs_dir: Path | str | None = None) -> dict[str, Any]:
    """Findings in causal order, what was not found, what could not be checked, what could not be read."""
    path = Path(ref)
    if ref.startswith(_ONLINE):
        return _of_log(wandb_log(fetch_wandb(ref.removeprefix(_ONLINE))))
    if path.exists() and not (path / "run.json").is_file():
        return _of_log(read_foreign(path))
    return _of_run(find_run(split_ref(ref)[0], runs_dir))


def _of_run(run: Run) -> dict[str, Any]:
    rows, problems = read_rows(run.path)
    config = validate(run.config_json()["config"], f"{run.id}/config.json")
    context = run_context(run, config)
    notes = [str(finding) for finding in lint(config, context.spec)]
    about = {"run": run.id, "path": str(run.path), "log": "gymsolve", "env_id": config.env.id}
    return about | _told(explain_run(run, AlertTracker(context, rows)), rows, problems) | {"lint": notes}


def _of_log(log: ForeignLog) -> dict[str, Any]:
    found = diagnose(log.records, log.context)
    about = {"run": log.name, "path": log.where, "log": log.kind, "env_id": log.env_id}
    return about | _told(found, log.records, []) | {"lint": []}


def _told(found: Diagnosis, rows: list[dict[str, Any]], problems: list[str]) -> dict[str, Any]:
    steps = max((int(row.get("env_steps") or 0) for row in rows), default=0)
    return {"records": len(rows), "env_steps": steps, **found.to_json(), "problems": problems}
