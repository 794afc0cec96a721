"""Limits that a person sets, and that every start by an agent keeps to.

`agent_usage.py` counts the use. Seconds that are left are shared by runs that may train at the same
time, unless a run asks for its own (`max_seconds`), so that runs side by side do not spend them twice.
"""

import hashlib
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gymsolve.answers import Answer, left_out
from gymsolve.errors import UsageError
from gymsolve.jobs.start import StartedRun
from gymsolve.runs import Run, find_run, runs_folder, split_ref
from gymsolve.runs.files import HeldError, locked, make_folder
from gymsolve.runs.process import identity
from gymsolve.runs.run import now
from gymsolve.runs.summary import holds_run
from gymsolve.service.agent_usage import Entry, Usage, append_start, read_account, read_usage, under_way
from gymsolve.text import count

_LOCK = ".agents.lock"
_LEAST_DISK = 1.0
"""GB that always stay free."""
_LEAST_SECONDS = 36.0
_PATIENCE = 40.0
"""Seconds for a start, and for waiting until others have started; a host gives up on a call after sixty."""
_OTHERS = 25.0
"""Seconds of these for waiting."""


@dataclass(frozen=True)
class Limits:
    """Limits of agents; None is no limit."""

    steps: int | None = None
    """Environment steps of all runs within 24 hours."""
    hours: float | None = None
    """The same in hours of training."""
    runs: int | None = 2
    """Runs at the same time, those of people included."""
    disk: float | None = None
    """GB that the runs folder may hold."""
    read_only: bool = False


@dataclass(frozen=True)
class Home:
    """The runs folder of a server, and its limits."""

    runs_dir: str | None
    limits: Limits
    by: str = "agent"
    """The author of its entries in the logbook."""


@dataclass(frozen=True)
class Spent(Answer):
    """The use of the limits within 24 hours."""

    steps: int
    """With all that running runs may still take."""
    hours: float
    """Hours of training that have passed."""
    reserved_hours: float
    """Hours that are kept for running runs."""
    running: list[str]
    """Ids of the runs that train now; `trials of RUN` while a remedy is tried."""
    limits: dict[str, Any]


@dataclass(frozen=True)
class Allowance(Answer):
    """A run that was started within the limits, and the use of the limits."""

    run: str
    already_started: bool
    """True if an earlier request started the run, and this one started nothing."""
    spent: Spent
    seconds: float | None = left_out()
    """Seconds that it may train, where hours are limited."""
    time_limit: str | None = left_out()
    """A sentence where these are fewer than it asked for, or where it asked for no number."""
    doubts: list[str] | None = left_out()  # noqa: RUF009 - which is `field`
    """Its settings that rarely work, where there are some."""


@dataclass(frozen=True)
class Request:
    """A request to train, and its size."""

    words: Sequence[str]
    """The command; two requests with one key must have the same."""
    steps: int
    begun: int | None = 0
    """Steps that the run has taken before; None for trials and seeds, which are other runs."""
    at_once: int = 1
    """Runs that train at a time, if there is room for so many."""
    jobs: int = 1
    """Runs that it trains in all."""
    seconds: float | None = None
    """Seconds that it asks for; None for its share of the hours that are left."""
    trained: float = 0.0
    """Seconds that the run has trained before."""

    def digest(self) -> str:
        return hashlib.sha256("\0".join(self.words).encode(errors="replace")).hexdigest()[:16]


@dataclass(frozen=True)
class Room:
    """The time that is left for a start."""

    seconds: float | None
    """Seconds that the run may train; None for no limit."""
    patience: float
    """Seconds within which it must have begun."""
    at_once: int = 1
    """Runs that may train at a time."""


def read_spent(limits: Limits, runs_dir: Path | str | None = None) -> Spent:
    """The use of the limits now."""
    used = read_usage(runs_dir)
    passed, kept = round(used.seconds / 3600, 2), round(used.kept / 3600, 2)
    return Spent(used.steps, passed, kept, used.running, asdict(limits))


def own_run(ref: str, home: Home) -> tuple[Run, str | None]:
    """The run of this folder that `RUN[@CHECKPOINT]` names, and the checkpoint."""
    require_own(ref, home)
    name, checkpoint = split_ref(ref)
    return find_run(name, home.runs_dir), checkpoint


def require_own(ref: str, home: Home) -> None:
    """Refuse a path to a run of another folder, since listing the runs there would write an index."""
    path, folder = Path(split_ref(ref)[0]), runs_folder(home.runs_dir)
    if holds_run(path) and (path.resolve().parent != folder.resolve() or path.is_symlink()):
        raise UsageError(
            f"{ref!r} is not in {folder}, and nothing else is touched.", hint="Name a run of it."
        )


def start_within(
    limits: Limits,
    begin: Callable[[Room], StartedRun],
    request: Request,
    *,
    key: str | None = None,
    runs_dir: Path | str | None = None,
) -> Allowance:
    """Start a run if the limits allow it.

    A `key` that was used before gives the run of that request; without a key, a request equal to one whose
    run is being trained gives that run.
    """
    require_writing(limits)
    folder, ends = make_folder(runs_folder(runs_dir)), time.monotonic() + _PATIENCE
    try:
        with locked(folder / _LOCK, timeout=_OTHERS):  # two equal requests must not both start
            earlier = _earlier(key, request, runs_dir)
            if earlier is not None:
                return Allowance(_same(earlier, request, key), True, read_spent(limits, runs_dir))
            started, seconds, sentence = _begin(limits, begin, request, ends, key, folder)
    except HeldError as error:
        text = "other runs are being started, and nothing was started for this call."
        raise UsageError(text, hint="Call again, with the same key.") from error
    spent = read_spent(limits, runs_dir)
    return Allowance(started.run, False, spent, seconds, sentence, started.doubts)


def _earlier(key: str | None, request: Request, runs_dir: Path | str | None) -> Entry | None:
    """The entry of the request that this one repeats."""
    account = read_account(runs_dir)
    if key:
        return next((entry for entry in account if entry.key == key), None)
    return under_way(account, request.digest(), runs_dir)


def _begin(
    limits: Limits,
    begin: Callable[[Room], StartedRun],
    request: Request,
    ends: float,
    key: str | None,
    folder: Path,
) -> tuple[StartedRun, float | None, str | None]:
    """The run that was started, the seconds that it may train, and a sentence where it wanted more."""
    used = read_usage(folder)
    seconds = _require_room(limits, request, used, folder)
    places = request.at_once if limits.runs is None else min(request.at_once, limits.runs - used.processes)
    asked_at = now()
    started = begin(Room(seconds, round(ends - time.monotonic()), places))
    maker = None if request.begun is not None else identity(started.pid)
    sizes = request.steps, request.begun, seconds, request.trained
    shape = request.digest(), maker, places, request.jobs
    append_start(folder, Entry(asked_at, key, started.run, *sizes, *shape))
    return started, seconds, _time_limit(limits, request, used, seconds)


def _time_limit(limits: Limits, request: Request, used: Usage, seconds: float | None) -> str | None:
    wanted = request.seconds
    if seconds is None or limits.hours is None or (wanted is not None and wanted <= seconds):
        return None
    left = f"{round(limits.hours - used.hours, 2):g} of {limits.hours:g} hours"
    may = f"{'It' if request.jobs == 1 else 'All of them together'} may train for {count(seconds)}"
    if wanted is not None:
        return f"{may} of the {count(wanted)} seconds that it asked for: {left} are left within 24 hours."
    share = f"{may} seconds, its share of the {left} that are left within 24 hours"
    return f"{share}, and ends then even if its budget is not spent."


def _same(earlier: Entry, request: Request, key: str | None) -> str:
    if key and earlier.asked not in (None, request.digest()):
        raise UsageError(
            f"the key {earlier.key!r} was used for another request, which gave {earlier.run}.",
            where="key",
            hint="Take a new key for a new request.",
        )
    return earlier.run


def require_writing(limits: Limits) -> None:
    """Refuse a change where the server may only read."""
    if limits.read_only:
        hint = "The person who started it can leave out --read-only."
        raise UsageError("this server only reads.", hint=hint)


def require_disk(limits: Limits, folder: Path) -> None:
    """Refuse to write where the disk, or the share of it that a person allows, is full."""
    free = shutil.disk_usage(folder).free / 1e9
    used = _size(folder) / 1e9 if limits.disk is not None else 0.0
    if free < _LEAST_DISK or (limits.disk is not None and used > limits.disk):
        held = f"{used:.2g} of {limits.disk:g} GB of runs, " if limits.disk is not None else ""
        raise UsageError(f"the disk is too full: {held}{free:.1f} GB free.", hint="Ask its owner.")


def _require_room(limits: Limits, request: Request, used: Usage, folder: Path) -> float | None:
    """Seconds that a run may train; raises the limit that it would break."""
    steps = request.steps
    if limits.runs is not None and used.processes >= limits.runs:
        names = ", ".join(used.running)
        raise UsageError(
            f"as many runs as are allowed ({limits.runs}) train already: {names}.",
            hint="Wait until one of them has ended, or stop one.",
        )
    if limits.steps is not None and used.steps + steps > limits.steps:
        left = count(max(0, limits.steps - used.steps))
        raise UsageError(
            f"{count(steps)} steps are too many: {left} of {count(limits.steps)} are left within 24 hours.",
            hint="Give fewer steps.",
        )
    require_disk(limits, folder)
    if limits.hours is None:
        return None
    left_over = (limits.hours - used.hours) * 3600
    if left_over <= _LEAST_SECONDS:
        hint = "Wait until one has ended, or ask the person who set them."
        raise UsageError(_no_hours(limits.hours, used), hint=hint)
    if request.seconds is not None:
        return min(request.seconds, left_over)
    return left_over * min(1.0, request.at_once / max(1, (limits.runs or 1) - used.processes))


def _no_hours(hours: float, used: Usage) -> str:
    spent, kept = (f"{round(seconds / 3600, 2):g}" for seconds in (used.seconds, used.kept))
    reserved = f" and {kept} are kept for {', '.join(used.running)}" if used.kept and used.running else ""
    whole = f"of the {hours:g} hours of training within 24 hours"
    return f"{whole}, {spent} are spent{reserved}: too little is left."


def _size(folder: Path) -> int:
    """Bytes of all files; a file that is deleted meanwhile counts as empty."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.lstat().st_size
        except FileNotFoundError:
            continue
    return total
