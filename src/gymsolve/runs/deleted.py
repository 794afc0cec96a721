"""Runs that were deleted, `deleted.jsonl` beside the runs: for forks and groups that name them."""

from dataclasses import asdict, dataclass
from pathlib import Path

from gymsolve.runs.records import append_record, iterate_records
from gymsolve.runs.schema import DELETED, fitting
from gymsolve.runs.summary import holds_run

_FILE = "deleted.jsonl"


@dataclass(frozen=True)
class DeletedRun:
    """A run that was deleted."""

    time: str
    run: str
    name: str
    label: str
    group: str | None
    seed: int | None
    command: list[str]


def remember(base: Path, run: DeletedRun) -> None:
    """Write down that a run is deleted."""
    append_record(base / _FILE, asdict(run))


def deleted_runs(base: Path) -> dict[str, DeletedRun]:
    """Runs that were deleted here, by id; those that came back are left out."""
    rows = iterate_records(base / _FILE, fitting(DELETED))
    deleted = {row["run"]: DeletedRun(**{name: row[name] for name in DELETED}) for row in rows}
    return {name: run for name, run in deleted.items() if not holds_run(base / name)}


def when_deleted(base: Path, run: str) -> str | None:
    """The day on which a run was deleted; None where it was not."""
    deleted = deleted_runs(base).get(run)
    return None if deleted is None else deleted.time[:10]
