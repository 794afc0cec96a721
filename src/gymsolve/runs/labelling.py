"""Gives runs names and tags, also while they train."""

from collections.abc import Callable, Iterable

from gymsolve.errors import RunDamagedError, UsageError
from gymsolve.runs.files import locked, replace_json
from gymsolve.runs.index import LOCK, list_runs, record_run
from gymsolve.runs.labels import LABELS_FILE, Labels, checked_label, checked_tags, read_labels
from gymsolve.runs.run import Run
from gymsolve.runs.summary import SCHEMA_VERSION, holds_run


def rename_run(run: Run, label: str) -> Labels:
    """Give a run a name beside its id; an empty one takes the name away."""
    label = checked_label(label)
    for other in list_runs(run.path.parent) if label else ():
        taken = next((name for name in (other.label, other.id) if name.lower() == label.lower()), None)
        if taken is not None and other.id != run.id:
            hint = "Take another name, or rename that run first."
            raise UsageError(f"run {other.id} has the name '{taken}'.", hint=hint)
    return _change(run, lambda old: Labels(label, old.tags))


def tag_run(run: Run, add: Iterable[str] = (), remove: Iterable[str] = ()) -> Labels:
    """Add tags to a run, and remove others."""
    added, removed = checked_tags(add), checked_tags(remove)
    return _change(run, lambda old: old.tagged(added, removed))


def _change(run: Run, change: Callable[[Labels], Labels]) -> Labels:
    with locked(run.path.parent / LOCK):
        if not holds_run(run.path):
            raise RunDamagedError("the run is gone.", where=str(run.path))
        labels = change(read_labels(run.path))
        facts = {"schema_version": SCHEMA_VERSION, "label": labels.label, "tags": list(labels.tags)}
        replace_json(run.path / LABELS_FILE, facts)
        record_run(run.path)
    return labels
