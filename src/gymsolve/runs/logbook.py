"""The logbook: what somebody expected, changed, saw and concluded; `logbook.jsonl` beside the runs.

People and agents append to it (`gymsolve log add`, the MCP tool), so that the next one does not repeat what
failed. Entries are text and are never interpreted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gymsolve.runs.files import make_folder
from gymsolve.runs.records import append_record, iterate_records, read_records
from gymsolve.runs.run import now
from gymsolve.runs.schema import LOG_ENTRY, find_fault
from gymsolve.runs.summary import runs_folder

Verdict = Literal["confirmed", "refuted", "open"]
VERDICTS: tuple[Verdict, ...] = ("confirmed", "refuted", "open")
_FILE = "logbook.jsonl"


@dataclass(frozen=True)
class LogEntry:
    """One entry; parts that nobody filled in are empty."""

    time: str
    by: str
    """Who wrote it: a person's or an agent's name."""
    note: str
    hypothesis: str
    change: str
    """What was changed to find out, such as `algo.gamma=0.98`."""
    result: str
    verdict: Verdict
    """What became of the hypothesis."""
    runs: list[str]
    """Ids of the runs that it is about."""


def append_entry(base: Path | str | None, entry: LogEntry) -> None:
    """Add one entry; nothing that is there is ever changed."""
    append_record(make_folder(runs_folder(base)) / _FILE, vars(entry))


def make_entry(
    *,
    by: str,
    note: str = "",
    hypothesis: str = "",
    change: str = "",
    result: str = "",
    verdict: Verdict = "open",
    runs: Sequence[str] = (),
) -> LogEntry:
    """An entry of this moment."""
    return LogEntry(now(), by, note, hypothesis, change, result, verdict, list(runs))


def read_entries(base: Path | str | None) -> tuple[list[LogEntry], list[str]]:
    """All entries, oldest first, and what could not be read."""
    found = read_records(runs_folder(base) / _FILE, _fits)
    return [LogEntry(**_known(row)) for row in found.rows], found.problems


def entries_about(base: Path, run: str) -> list[LogEntry]:
    """Entries about one run, oldest first."""
    rows = iterate_records(base / _FILE, _fits)
    return [LogEntry(**_known(row)) for row in rows if run in row["runs"]]


def _fits(row: Any) -> bool:
    return find_fault(row, LOG_ENTRY) is None


def _known(row: dict[str, Any]) -> dict[str, Any]:
    """The fields of today; later versions may write more."""
    return {name: row[name] for name in LOG_ENTRY}
