"""The use that agents made of their limits: `agents.jsonl` has a line for every start and resume by an agent.

Steps and hours of the last 24 hours count, whichever server started what. A run counts with the steps and
seconds that it may still take; once it has ended, with those that it took. Trials of a remedy and the seeds
of a group are runs of their own: their steps count as planned, their hours as they pass, with what is kept
for them while they last.
"""

from collections.abc import Mapping, Sequence
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
    """Environment steps that it may take."""
    begun: int | None
    """Steps that the run had taken before; None for trials and seeds, which are other runs."""
    seconds: float | None = None
    """Seconds that it may train; None for no limit."""
    trained: float = 0.0
    """Seconds that the run had trained before."""
    asked: str | None = None
    """A digest of the request, since a key stands for one request."""
    process: dict[str, Any] | None = None
    """The process that makes trials or seeds."""
    at_once: int = 1
    """How many of them it trains at a time."""
    jobs: int = 1
    """How many of them it trains in all."""

    def is_trying(self, folder: Path) -> bool:
        """Is their process alive?"""
        return self.process is not None and is_alive(self.process, folder / self.run)


@dataclass(frozen=True)
class Usage:
    """Steps and seconds that count, and runs that train now."""

    steps: int
    seconds: float
    """Seconds that have passed in training."""
    kept: float
    """Seconds that runs which train now may still take."""
    running: list[str]
    """Runs that train now; `trials of RUN` where a remedy is being tried, `group:NAME` between its seeds."""
    processes: int
    """Processes that train now, or that may at any moment: a group begins its next seed by itself."""

    @property
    def hours(self) -> float:
        """Hours that are spent or kept."""
        return (self.seconds + self.kept) / 3600


def append_start(folder: Path, entry: Entry) -> None:
    append_record(folder / _ACCOUNT, asdict(entry))


def read_account(runs_dir: Path | str | None) -> list[Entry]:
    """All lines that can be read, oldest first."""
    names = {field.name for field in fields(Entry)}
    rows = read_records(runs_folder(runs_dir) / _ACCOUNT, _fits).rows
    return [Entry(**{name: value for name, value in row.items() if name in names}) for row in rows]


def newest_trials(run: str, runs_dir: Path | str | None) -> Entry | None:
    """The newest trials of a run's remedies that an agent asked for."""
    asked = [entry for entry in read_account(runs_dir) if entry.begun is None and entry.run == run]
    return asked[-1] if asked else None


def read_usage(runs_dir: Path | str | None) -> Usage:
    """The use of the last 24 hours."""
    folder = runs_folder(runs_dir)
    runs = {run.id: run for run in list_runs(runs_dir)}
    since = (datetime.now(UTC) - _WINDOW).isoformat()
    entries = [entry for entry in read_account(runs_dir) if entry.time >= since]
    trying = [entry for entry in entries if entry.is_trying(folder)]
    sittings = [_sitting(entry, entries[index + 1 :], runs) for index, entry in enumerate(entries)]
    passed = sum(sitting[0] for sitting in sittings) + _trial_seconds(entries, runs)
    kept = sum(sitting[1] for sitting in sittings)
    kept += sum(max(0.0, (entry.seconds or 0.0) - _age(entry)) for entry in trying)
    steps = sum(_steps(entry, runs.get(entry.run)) for entry in entries)
    return Usage(steps, passed, kept, *_running(runs, trying))


def under_way(entries: Sequence[Entry], asked: str, runs_dir: Path | str | None) -> Entry | None:
    """The newest of equal requests whose run, trials or seeds are being trained."""
    folder, equal = runs_folder(runs_dir), [entry for entry in entries if entry.asked == asked]
    training = {run.id for run in list_runs(runs_dir) if run.status == "running"} if equal else set()
    going = [entry for entry in equal if entry.is_trying(folder) or entry.run in training]
    return going[-1] if going else None


def _running(runs: Mapping[str, RunSummary], trying: Sequence[Entry]) -> tuple[list[str], int]:
    """Names of what trains, and the number of processes that train or may begin to."""
    makers: dict[str, list[Entry]] = {}
    for entry in trying:
        makers.setdefault(entry.run, []).append(entry)
    training = [run for run in runs.values() if run.status == "running"]
    names = [run.id for run in training if not (run.is_trial and _maker(run) in makers)]
    processes = sum(_maker(run) not in makers for run in training)
    for name, entries in makers.items():
        own = [run for run in runs.values() if _maker(run) == name]
        now = sum(run.status == "running" for run in own)
        processes += max(now, sum(_places(entry, own) for entry in entries))
        shown = [run for run in own if run.status == "running" and not run.is_trial]
        if not shown:
            names += [name if name.startswith(GROUP) else f"trials of {name}"] * len(entries)
    return names, processes


def _places(entry: Entry, own: Sequence[RunSummary]) -> int:
    """How many trials or seeds a process may train at this moment; the last ones need fewer places."""
    ended = sum(run.status != "running" and run.created >= entry.time for run in own)
    return max(1, min(entry.at_once, entry.jobs - ended))


def _maker(run: RunSummary) -> str:
    """The name in the account of the starter of a trial or a seed; "" for other runs."""
    if run.is_trial:
        return str((run.parent or {}).get("run", ""))
    return f"{GROUP}{run.group}" if run.group else ""


def _steps(entry: Entry, run: RunSummary | None) -> int:
    if run is None or run.status == "running" or entry.begun is None:
        return entry.steps
    return max(0, min(entry.steps, run.env_steps - entry.begun))


def _sitting(entry: Entry, later: list[Entry], runs: Mapping[str, RunSummary]) -> tuple[float, float]:
    """Seconds that one sitting of a run took, and that it may still take.

    The next sitting knows how long the run had trained by then.
    """
    run = runs.get(entry.run)
    if run is None or entry.begun is None:
        return 0.0, 0.0
    following = next((other for other in later if other.run == entry.run and other.begun is not None), None)
    if following is not None:
        return max(0.0, following.trained - entry.trained), 0.0
    passed = _since(entry.time, run)
    kept = max(0.0, (entry.seconds or 0.0) - passed) if run.status == "running" else 0.0
    return passed, kept


def _trial_seconds(entries: list[Entry], runs: Mapping[str, RunSummary]) -> float:
    """Seconds of the trials of a run since an agent first asked for some, and of the seeds of groups."""
    asked: dict[str, str] = {}
    for entry in entries:
        if entry.begun is None:
            asked.setdefault(entry.run, entry.time)
    return sum(
        _since(run.created, run) for run in runs.values() if run.created >= asked.get(_maker(run), "~")
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
        and all(type(row.get(name, 1)) is int for name in ("at_once", "jobs"))
    )


def _names_process(process: Any) -> bool:
    if not isinstance(process, dict):
        return process is None
    return type(process.get("pid")) is int and {"process_start", "host"} <= set(process)
