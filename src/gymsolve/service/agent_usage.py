"""What agents have spent: `agents.jsonl` beside the runs has a line for every start and resume by an agent.

Steps and hours of the last 24 hours count, whichever server started what. A run counts with the steps and
seconds that it may still take; once it has ended, with those that it took. Trials of a remedy and the seeds
of a group are runs of their own: their steps count as planned, their hours as they pass, with what is kept
for them while they last.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from gymsolve.runs import RunSummary, list_runs, runs_folder
from gymsolve.runs.groups import GROUP
from gymsolve.runs.process import is_alive
from gymsolve.runs.records import append_record, read_records
from gymsolve.runs.schema import is_moment

_ACCOUNT = "agents.jsonl"
_WINDOW = timedelta(hours=24)


@dataclass(frozen=True)
class Entry:
    """A start, or a resume, by an agent."""

    time: str
    key: str | None
    run: str
    steps: int
    """That it may take."""
    begun: int | None
    """Steps that the run had behind it; None for trials and seeds, which are other runs."""
    seconds: float | None = None
    """That it may train; None for no limit."""
    trained: float = 0.0
    """Seconds of training that the run had behind it."""
    asked: str | None = None
    """A digest of what was asked for: a key stands for one request."""
    process: dict[str, Any] | None = None
    """Of trials and seeds: who makes them."""

    def is_trying(self, folder: Path) -> bool:
        """Are they still being made?"""
        return self.process is not None and is_alive(self.process, folder / self.run)


@dataclass(frozen=True)
class Usage:
    """The account as it stands."""

    steps: int
    seconds: float
    running: list[str]
    """Runs that train now; `trials of RUN` where a remedy is being tried, `group:NAME` between its seeds."""


def append_start(folder: Path, entry: Entry) -> None:
    append_record(folder / _ACCOUNT, asdict(entry))


def read_account(runs_dir: Path | str | None) -> list[Entry]:
    """All lines that can be read, oldest first."""
    known = [one.name for one in fields(Entry)]
    rows = read_records(runs_folder(runs_dir) / _ACCOUNT, _fits).rows
    return [Entry(**{name: row[name] for name in known if name in row}) for row in rows]


def newest_trials(run: str, runs_dir: Path | str | None) -> Entry | None:
    """The newest trials of a run's remedies that an agent asked for."""
    asked = [one for one in read_account(runs_dir) if one.begun is None and one.run == run]
    return asked[-1] if asked else None


def read_usage(runs_dir: Path | str | None) -> Usage:
    """What the last 24 hours took."""
    folder = runs_folder(runs_dir)
    runs = {one.id: one for one in list_runs(runs_dir)}
    since = (datetime.now(UTC) - _WINDOW).isoformat()
    entries = [one for one in read_account(runs_dir) if one.time >= since]
    trying = [one for one in entries if one.is_trying(folder)]
    seconds = sum(_seconds(one, entries[index + 1 :], runs) for index, one in enumerate(entries))
    seconds += _trial_seconds(entries, runs) + sum(
        max(0.0, (one.seconds or 0.0) - _age(one)) for one in trying
    )
    return Usage(sum(_steps(one, runs.get(one.run)) for one in entries), seconds, _running(runs, trying))


def _running(runs: Mapping[str, RunSummary], trying: list[Entry]) -> list[str]:
    makers = {one.run for one in trying}
    training = [one for one in runs.values() if one.status == "running"]
    apart = [one.id for one in training if not (one.is_trial and _maker(one) in makers)]
    idle = makers - {_maker(one) for one in training if not one.is_trial}
    return [*apart, *(name if name.startswith(GROUP) else f"trials of {name}" for name in sorted(idle))]


def _maker(run: RunSummary) -> str:
    """What the account calls whoever makes a trial or a seed; "" for other runs."""
    if run.is_trial:
        return str((run.parent or {}).get("run", ""))
    return f"{GROUP}{run.group}" if run.group else ""


def _steps(entry: Entry, run: RunSummary | None) -> int:
    if run is None or run.status == "running" or entry.begun is None:
        return entry.steps
    return max(0, min(entry.steps, run.env_steps - entry.begun))


def _seconds(entry: Entry, later: list[Entry], runs: Mapping[str, RunSummary]) -> float:
    """Of a run's sitting; the next one knows how long the run had trained by then."""
    run = runs.get(entry.run)
    if run is None or entry.begun is None:
        return 0.0
    following = next((one for one in later if one.run == entry.run and one.begun is not None), None)
    if following is not None:
        return max(0.0, following.trained - entry.trained)
    passed = _since(entry.time, run)
    return max(passed, entry.seconds or 0.0) if run.status == "running" else passed


def _trial_seconds(entries: list[Entry], runs: Mapping[str, RunSummary]) -> float:
    """Of all trials of a run since an agent first asked for some of it, and of the seeds of its groups."""
    asked: dict[str, str] = {}
    for one in entries:
        if one.begun is None:
            asked.setdefault(one.run, one.time)
    return sum(
        _since(one.created, one) for one in runs.values() if one.created >= asked.get(_maker(one), "~")
    )


def _since(moment: str, run: RunSummary) -> float:
    """Seconds of a run after a moment, until it ended or now."""
    end = datetime.now(UTC) if run.status == "running" else datetime.fromisoformat(run.updated)
    return max(0.0, (end - datetime.fromisoformat(moment)).total_seconds())


def _age(entry: Entry) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(entry.time)).total_seconds()


def _fits(row: Any) -> bool:
    return (
        is_moment(row.get("time"))
        and isinstance(row.get("run"), str)
        and type(row.get("steps")) is int
        and isinstance(row.get("begun"), int | None)
        and isinstance(row.get("key"), str | None)
        and isinstance(row.get("seconds"), int | float | None)
        and isinstance(row.get("trained", 0.0), int | float)
        and isinstance(row.get("asked"), str | None)
        and _names_process(row.get("process"))
    )


def _names_process(told: Any) -> bool:
    if not isinstance(told, dict):
        return told is None
    return type(told.get("pid")) is int and {"process_start", "host"} <= set(told)
