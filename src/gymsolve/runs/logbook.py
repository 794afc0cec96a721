"""The logbook, `logbook.jsonl` beside the runs: hypotheses, changes, results and verdicts.

People and agents append to it (`gymsolve log add`, the MCP tool), so that others do not repeat failed
experiments. Entries are text and are never interpreted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gymsolve.runs.files import make_folder
from gymsolve.runs.records import append_record, iterate_records, read_records
from gymsolve.runs.run import now
from gymsolve.runs.schema import LOG_ENTRY, fitting
from gymsolve.runs.summary import runs_folder

Verdict = Literal["confirmed", "refuted", "open"]
VERDICTS: tuple[Verdict, ...] = ("confirmed", "refuted", "open")
_FILE = "logbook.jsonl"


@dataclass(frozen=True)
class LogEntry:
    """One entry; fields that were not filled in are empty."""

    time: str
    by: str
    """The name of the person or agent that wrote it."""
    note: str
    hypothesis: str
    change: str
    """The change that tests the hypothesis, such as `algo.gamma=0.98`."""
    result: str
    verdict: Verdict
    """The verdict on the hypothesis."""
    runs: list[str]
    """Ids of the runs that it is about."""


def append_entry(base: Path | str | None, entry: LogEntry) -> None:
    """Append an entry."""
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
    """All entries, oldest first, and sentences about lines that could not be read."""
    rows, problems = read_records(runs_folder(base) / _FILE, fitting(LOG_ENTRY))
    return [_entry(row) for row in rows], problems


def entries_about(base: Path, run: str) -> list[LogEntry]:
    """Entries about one run, oldest first."""
    rows = iterate_records(base / _FILE, fitting(LOG_ENTRY))
    return [_entry(row) for row in rows if run in row["runs"]]


def _entry(row: dict[str, Any]) -> LogEntry:
    """An entry from its line; later versions may write more fields."""
    return LogEntry(**{name: row[name] for name in LOG_ENTRY})
