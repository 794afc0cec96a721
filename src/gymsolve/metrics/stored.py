"""The rules over a run on disk: its context, and what they say of its records."""

import json
from typing import Any

from gymsolve.config import TrainConfig
from gymsolve.errors import CheckpointError, UnknownRunError
from gymsolve.metrics.diagnosis import Diagnosis, diagnose
from gymsolve.metrics.rules.rule import Context
from gymsolve.runs.loading import load_checkpoint
from gymsolve.runs.run import Run
from gymsolve.spec import EnvSpec

__all__ = ["diagnose_run", "run_context"]

_FATAL = ("DivergenceError", "EnvFaultError")


def run_context(run: Run, config: TrainConfig) -> Context:
    """What the rules may know of a stored run."""
    return Context.of(config, _spec(run), warm_start=run.info().get("parent") is not None)


def diagnose_run(run: Run, rows: list[dict[str, Any]], context: Context) -> Diagnosis:
    """Replay the rules over a run's records; the error that ended it counts as evidence."""
    reason = str(run.info().get("reason") or "")
    return diagnose(rows, context, failure=reason if reason.startswith(_FATAL) else None)


def _spec(run: Run) -> EnvSpec | None:
    """The spaces, as they are stored with the weights; None before the first checkpoint."""
    try:
        saved = load_checkpoint(run, "last", policy_only=True)
    except (CheckpointError, UnknownRunError):
        return None
    return EnvSpec.from_json(json.loads(saved.policy_metadata["spec"]))
