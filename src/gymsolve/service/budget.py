"""What agents may spend: limits that a person sets and that every start by an agent keeps to.

`agents.jsonl` beside the runs is the account: a line for every start and resume by an agent. Limits on steps
and hours count the last 24 hours, whichever server started what. A run counts with the steps that it may
still take; once it has ended, with those that it took. Trials of a remedy and the seeds of a group are runs
of their own: their steps count as planned, their hours as they pass.
"""

import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from gymsolve.errors import UsageError
from gymsolve.runs import RunSummary, list_runs, runs_folder
from gymsolve.runs.files import locked, make_folder
from gymsolve.runs.groups import GROUP
from gymsolve.runs.records import append_record, read_records
from gymsolve.runs.run import now
from gymsolve.runs.schema import is_moment
from gymsolve.service.answers import Answer
from gymsolve.service.start import StartedRun
from gymsolve.text import count, plural

__all__ = ["Allowance", "Home", "Limits", "Spent", "read_spent", "require_writing", "start_within"]

_ACCOUNT, _LOCK = "agents.jsonl", ".agents.lock"
_WINDOW = timedelta(hours=24)
_LEAST_DISK = 1.0
"""GB that stay free whatever a person allows."""


@dataclass(frozen=True)
class Limits:
    """What a person allows agents; None is no limit."""

    steps: int | None = None
    """Environment steps of all runs within 24 hours."""
    hours: float | None = None
    """The same in hours of training."""
    runs: int | None = 2
    """Runs at the same time, whoever started them."""
    disk: float | None = None
    """GB that the runs folder may hold."""
    read_only: bool = False


@dataclass(frozen=True)
class Home:
    """Where a server works, and what it may."""

    runs_dir: str | None
    limits: Limits
    by: str = "agent"
    """Who signs entries of the logbook."""


@dataclass(frozen=True)
class Spent(Answer):
    """What agents have used of their limits within 24 hours."""

    steps: int
    hours: float
    running: list[str]
    """Ids of the runs that train now."""
    limits: dict[str, Any]


@dataclass(frozen=True)
class Allowance(Answer):
    """A run that an agent has, and what is left to it."""

    run: str
    already_running: bool
    """True if the key had been used: this is the run of that time, and nothing was started."""
    spent: Spent


def read_spent(limits: Limits, runs_dir: Path | str | None = None) -> Spent:
    """The account as it stands."""
    runs = {one.id: one for one in list_runs(runs_dir)}
    since = (datetime.now(UTC) - _WINDOW).isoformat()
    rows = [row for row in _account(runs_dir) if row["time"] >= since]
    steps = sum(_steps(row, runs.get(row["run"])) for row in rows)
    hours = (sum(_seconds(row, runs.get(row["run"])) for row in rows) + _other_seconds(rows, runs)) / 3600
    running = [one.id for one in runs.values() if one.status == "running"]
    return Spent(steps, round(hours, 2), running, asdict(limits))


def _steps(row: dict[str, Any], run: RunSummary | None) -> int:
    if run is None or run.status == "running" or row["begun"] is None:
        return int(row["steps"])
    return max(0, min(int(row["steps"]), run.env_steps - int(row["begun"])))


def _seconds(row: dict[str, Any], run: RunSummary | None) -> float:
    return 0.0 if run is None or row["begun"] is None else _since(row["time"], run)


def _other_seconds(rows: list[dict[str, Any]], runs: dict[str, RunSummary]) -> float:
    """Of all trials of a run since an agent first asked for some of it, and of the seeds of its groups."""
    asked: dict[str, str] = {}
    for row in rows:
        if row["begun"] is None:
            asked.setdefault(row["run"], row["time"])
    return sum(
        _since(one.created, one) for one in runs.values() if one.created >= asked.get(_asked_as(one), "~")
    )


def _asked_as(run: RunSummary) -> str:
    """What the account calls a trial or a seed; "" for other runs."""
    if run.is_trial:
        return str((run.parent or {}).get("run", ""))
    return f"{GROUP}{run.group}" if run.group else ""


def _since(moment: str, run: RunSummary) -> float:
    """Seconds of a run after a moment, until it ended or now."""
    end = datetime.now(UTC) if run.status == "running" else datetime.fromisoformat(run.updated)
    return max(0.0, (end - datetime.fromisoformat(moment)).total_seconds())


def start_within(
    limits: Limits,
    begin: Callable[[float | None], StartedRun],
    *,
    steps: int,
    begun: int | None = 0,
    at_once: int = 1,
    key: str | None = None,
    runs_dir: Path | str | None = None,
) -> Allowance:
    """Start a run of `steps` if the limits allow it; a `key` that was used before gives the run of that time.

    `begin` is told how many seconds the run may train, None for no limit. A run that goes on has `begun`: the
    steps that it has behind it; None for trials and groups, which are other runs and count as planned.
    `at_once` of them train at a time.
    """
    require_writing(limits)
    folder = make_folder(runs_folder(runs_dir))
    with locked(folder / _LOCK, timeout=60.0):  # two clients with one key must not both start
        known = next((row for row in _account(runs_dir) if key and row["key"] == key), None)
        if known is not None:
            return Allowance(known["run"], True, read_spent(limits, runs_dir))
        spent = read_spent(limits, runs_dir)
        seconds = _require_room(limits, spent, steps, at_once, folder)
        asked = now()
        started = begin(seconds)
        account = {"time": asked, "key": key, "run": started.run, "steps": steps, "begun": begun}
        append_record(folder / _ACCOUNT, account)
    return Allowance(started.run, False, read_spent(limits, runs_dir))


def require_writing(limits: Limits) -> None:
    """Refuse whatever changes something, where a person allowed to look only."""
    if limits.read_only:
        raise UsageError("this server only reads.", hint="Whoever started it can leave out --read-only.")


def _require_room(limits: Limits, spent: Spent, steps: int, at_once: int, folder: Path) -> float | None:
    """Seconds that a run may train; raises the limit that it would break."""
    if limits.runs is not None and len(spent.running) >= limits.runs:
        names = ", ".join(spent.running)
        raise UsageError(
            f"as many runs as are allowed ({limits.runs}) train already: {names}.",
            hint="Wait until one of them has ended, or stop one.",
        )
    if limits.runs is not None and len(spent.running) + at_once > limits.runs:
        there = f", and some train: {', '.join(spent.running)}" if spent.running else ""
        raise UsageError(
            f"{at_once} seeds would train at once; {plural(limits.runs, 'run')} may{there}.",
            hint="Start one seed after the other.",
        )
    if limits.steps is not None and spent.steps + steps > limits.steps:
        left = count(max(0, limits.steps - spent.steps))
        raise UsageError(
            f"{count(steps)} steps are too many: {left} of {count(limits.steps)} are left within 24 hours.",
            hint="Give fewer steps.",
        )
    free = shutil.disk_usage(folder).free / 1e9
    used = _size(folder) / 1e9 if limits.disk is not None else 0.0
    if free < _LEAST_DISK or (limits.disk is not None and used > limits.disk):
        raise UsageError(
            f"the disk is too full: {used:.1f} GB of runs, {free:.1f} GB free.", hint="Ask whoever owns it."
        )
    if limits.hours is None:
        return None
    hours = limits.hours - spent.hours
    if hours <= 0.01:
        told = f"the {limits.hours:g} hours of training within 24 hours are spent."
        raise UsageError(told, hint="Wait, or ask whoever set them.")
    return hours * 3600


def _account(runs_dir: Path | str | None) -> list[dict[str, Any]]:
    return read_records(runs_folder(runs_dir) / _ACCOUNT, _fits).rows


def _fits(row: Any) -> bool:
    return (
        is_moment(row.get("time"))
        and isinstance(row.get("run"), str)
        and type(row.get("steps")) is int
        and isinstance(row.get("begun"), int | None)
        and isinstance(row.get("key"), str | None)
    )


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
