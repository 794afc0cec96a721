"""`gymsolve diagnose`: applies the rules to a run, or to a log of another tool."""

import os
from dataclasses import replace
from itertools import islice
from pathlib import Path

from gymsolve.doctor.alerts import Alert, AlertTracker
from gymsolve.doctor.diagnosis import Diagnosis, diagnose, explain_run, run_context
from gymsolve.doctor.external_logs import ForeignLog, fetch_wandb, read_foreign, wandb_log
from gymsolve.doctor.external_logs.settings import their_changes
from gymsolve.doctor.findings import Findings, facts, run_findings
from gymsolve.errors import UnknownRunError, did_you_mean
from gymsolve.recipes import validate
from gymsolve.runs import Run, find_run, split_ref
from gymsolve.runs.index import LAST
from gymsolve.runs.records import Records
from gymsolve.runs.summary import holds_run

ONLINE = "wandb:"
_SUFFIXES = (".csv", ".wandb")
_MOST_NAMES = 1000


def diagnose_path(ref: str, runs_dir: Path | str | None = None) -> Findings:
    """Explain a run, the log of another tool at a path, or `wandb:ENTITY/PROJECT/RUN`."""
    if ref.startswith(ONLINE):
        return _of_log(wandb_log(fetch_wandb(ref.removeprefix(ONLINE))))
    path, name = Path(ref), split_ref(ref)[0]
    # A runs folder holds a file called @last; as an argument it means the run.
    if name != LAST and os.path.lexists(path) and not holds_run(path):
        return _of_log(read_foreign(path))
    try:
        run = find_run(name, runs_dir)
    except (UnknownRunError, OSError) as error:  # a name may also be too long for any file
        if os.sep in ref or path.suffix in _SUFFIXES:  # it names a place, not a run
            near = did_you_mean(path.name, _names(path.parent))
            hint = near or (None if _exists(path.parent) else f"There is no folder {path.parent} either.")
            raise UnknownRunError(f"there is no file or folder '{ref}'.", hint=hint) from error
        raise
    return _of_run(run)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is too long, or a folder that may not be entered
        return False


def _names(folder: Path) -> list[str]:
    try:
        return [path.name for path in islice(folder.iterdir(), _MOST_NAMES)]
    except OSError:
        return []


def _of_run(run: Run) -> Findings:
    rows, problems = run.read_metrics_raw()
    config = validate(run.config_json()["config"], f"{run.id}/config.json")
    context = run_context(run, config)
    diagnosis = explain_run(run, AlertTracker(context, rows))
    return run_findings(run, config, context, diagnosis, Records(rows, problems))


def _of_log(log: ForeignLog) -> Findings:
    return Findings(
        run=log.name,
        path=log.where,
        log=log.kind,
        env_id=log.env_id,
        settings=log.settings,
        **facts(_in_their_words(diagnose(log.records, log.context), log), log.records),
        problems=log.problems,
        lint=[],
    )


def _in_their_words(diagnosis: Diagnosis, log: ForeignLog) -> Diagnosis:
    """Remedies under the names that the log's own tool gives its settings."""

    def translate(alert: Alert) -> Alert:
        return replace(alert, changes=their_changes(log.kind, alert.changes, log.settings))

    return replace(
        diagnosis,
        roots=tuple(map(translate, diagnosis.roots)),
        consequences=tuple(
            replace(follows, alert=translate(follows.alert)) for follows in diagnosis.consequences
        ),
    )
