"""The rules over a run on disk: its context, and what they say of its records."""

import json

from gymsolve.config import TrainConfig
from gymsolve.metrics.alerts import AlertTracker
from gymsolve.metrics.diagnosis import Diagnosis, explain
from gymsolve.metrics.failure import bad_number_of, failure_alert
from gymsolve.metrics.rules.rule import Context
from gymsolve.runs.loading import newest_metadata
from gymsolve.runs.run import Run
from gymsolve.spec import EnvSpec

__all__ = ["explain_run", "run_context"]


def run_context(run: Run, config: TrainConfig) -> Context:
    """What the rules may know of a stored run."""
    return Context.of(config, _spec(run), warm_start=run.is_warm_start)


def explain_run(run: Run, alerts: AlertTracker) -> Diagnosis:
    """What the rules found in a run that they have followed; the error that ended it counts as evidence."""
    info = run.info()
    reason = str(info.get("reason") or "")
    if info.get("status") == "crashed" and alerts.failure is None:
        bad = bad_number_of(run.read_events().rows)
        if bad is not None or reason.startswith("DivergenceError"):
            alerts.fail(failure_alert(alerts, reason, bad))
    return explain(alerts)


def _spec(run: Run) -> EnvSpec | None:
    """The spaces, as they are stored with the weights; None before the first checkpoint."""
    stored = newest_metadata(run)
    return None if stored is None else EnvSpec.from_json(json.loads(stored["spec"]))
