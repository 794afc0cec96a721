"""Runs on disk whose records are made up, so that what a report must say is known."""

import json
from pathlib import Path
from typing import Any

from stories import make_config, make_context, story

from gymsolve.doctor.alerts import AlertTracker
from gymsolve.recipes import flatten
from gymsolve.runs.run import Run, create_run
from gymsolve.settings.config import TrainConfig
from gymsolve.view.diagnosed_run import DiagnosedRun


def store(
    folder: Path,
    rows: list[dict[str, Any]] | None = None,
    *,
    config: TrainConfig | None = None,
    name: str = "Story-v0:ppo",
    status: str = "finished",
    reason: str = "steps",
) -> Run:
    """A finished run with these records, or with those of the healthy story."""
    config = make_config(solved_at=150.0) if config is None else config
    run = create_run(
        folder,
        name=name,
        config_json=config.model_dump(mode="json"),
        provenance=dict.fromkeys(flatten(config), "default") | {"seed": "--seed", "algo.gamma": "--set"},
        command=["gymsolve", "train", name],
        seed=config.seed,
        steps=config.steps,
    )
    records = story() if rows is None else rows
    (run.path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in records))
    steps = max((int(row.get("env_steps") or 0) for row in records), default=0)
    run.set_status(status, reason=reason, env_steps=steps)  # type: ignore[arg-type]
    return run


def facts_of(folder: Path, rows: list[dict[str, Any]] | None = None, kind: str = "discrete") -> DiagnosedRun:
    """As a training process sees it: with the spaces, which stories have no checkpoint for."""
    run = store(folder, rows)
    context = make_context(kind, solved_at=150.0)
    return DiagnosedRun(run, AlertTracker(context, run.read_metrics().rows))
