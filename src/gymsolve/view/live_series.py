"""Curves of a run for a page that follows it: values since a cursor, and parts in more detail.

A cursor is a byte of `metrics.jsonl`. Long series are thinned to the same points every time, while they are
read, so that a file of any length takes little memory. All who ask for all of a file share one thinned copy.
"""

import math
import os
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gymsolve.answers import Answer
from gymsolve.errors import UsageError
from gymsolve.metrics.catalog import GROUPS, by_priority, find_metric
from gymsolve.runs.files import open_plain, os_errors
from gymsolve.runs.records import lines_from, parse_record, sample_records
from gymsolve.runs.run import Run
from gymsolve.runs.schema import is_metrics
from gymsolve.view.thinning import Growing, extremes

Check = Callable[[], None]

MOST_NAMES = 40
_BUCKETS = 1000
"""Parts of a series, of which two points each are kept; a screen has about as many columns."""
_MOST_SERIES = 100
"""Series of one file that are kept thinned, at some 0.6 MB each; twice as many of all files together."""
_CHECKED = 2000
"""Records between two looks whether somebody still waits."""
_GLANCE = 0.05
_SAMPLED = 200
"""Records of a long file that are looked at for the names of its metrics."""


@dataclass(frozen=True)
class Track(Answer):
    """One metric over steps and over seconds of training, as columns; long ones are thinned."""

    steps: list[int]
    seconds: list[float | None]
    """None before the first record with a clock; evaluations take the time of the record before."""
    values: list[float | None]
    """None was NaN or infinite."""
    total: int
    """The number of recorded values."""


@dataclass(frozen=True)
class Part:
    """A part of a run, both ends included."""

    axis: Literal["steps", "seconds"]
    low: float
    high: float

    def has(self, step: int, clock: float | None) -> bool:
        """Does a record lie in it?"""
        place = step if self.axis == "steps" else clock
        return place is not None and self.low <= place <= self.high


class Columns:
    """Series that grow by a record at a time, of a part of the run or of all of it; thinned as they grow."""

    def __init__(self, names: Sequence[str], part: Part | None = None, start: int = 0) -> None:
        self.part = part
        self.end = start
        """The byte at which the last record that was taken ends."""
        self.newest = b""
        """The line of that record."""
        self._series: dict[str, Growing[tuple[int, float | None]]] = {
            name: Growing(_BUCKETS) for name in names
        }
        self._clock: float | None = None
        self._damaged = 0

    @property
    def names(self) -> Collection[str]:
        return self._series.keys()

    def read(self, path: Path, check: Check, until: float = math.inf) -> None:
        """Take the records of a file from `end` to the byte `until`; if `check` ends it, call it again."""
        for number, line in enumerate(lines_from(path, self.end)):
            if self.end >= until:
                return
            if number % _CHECKED == 0:
                check()
            self.end, self.newest = self.end + len(line), line
            record = parse_record(line)
            if record is None or not is_metrics(record):
                self._damaged += 1
            else:
                self._take(record)

    def _take(self, record: dict[str, Any]) -> None:
        step, clock = record["env_steps"], record.get("time/elapsed")
        self._clock = self._clock if clock is None else float(clock)
        if self.part is not None and not self.part.has(step, self._clock):
            return
        place = step, self._clock
        for name, series in self._series.items():
            if name in record:
                value = record[name]
                series.add(math.nan if value is None else float(value), place)

    def join(self, other: "Columns") -> None:
        """Take over the series of other columns, which were read as far as these."""
        self._series |= other._series

    def tracks(self, names: Sequence[str]) -> dict[str, Track]:
        return {name: _track(self._series[name]) for name in names if self._series[name].total}

    def problems(self) -> list[str]:
        return [f"{self._damaged} lines of metrics.jsonl cannot be read; ignored"] if self._damaged else []


def _track(series: Growing[tuple[int, float | None]]) -> Track:
    points = series.points()
    kept = [points[index] for index in extremes([value for value, _ in points], _BUCKETS)]
    return Track(
        [step for _, (step, _) in kept],
        [clock for _, (_, clock) in kept],
        [value if math.isfinite(value) else None for value, _ in kept],
        series.total,
    )


class _Copy:
    """The thinned curves of one file, and how far it was read."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.inode = 0
        self.columns = Columns(())

    def bring_up_to_date(self, path: Path, names: Sequence[str], check: Check) -> None:
        inode, _ = _identity(path)
        if inode != self.inode or not _continues(path, self.columns):
            self.inode, self.columns = inode, Columns(())
        missing = [name for name in names if name not in self.columns.names]
        if missing:
            more = Columns(missing)
            more.read(path, check, until=self.columns.end)
            self.columns.join(more)
        self.columns.read(path, check)


class SharedCurves:
    """Thinned curves of the files that were asked for last: a request reads only what is new.

    One at a time reads a file; others who ask for it wait and get what was read.
    """

    def __init__(self) -> None:
        self._copies: dict[Path, _Copy] = {}
        self._lock = threading.Lock()

    def follow(self, path: Path, names: Sequence[str], check: Check) -> "Followed":
        """All values of some metrics."""
        copy = self._copy(path)
        while not copy.lock.acquire(timeout=_GLANCE):
            check()
        try:
            if _identity(path)[1]:
                copy.bring_up_to_date(path, names, check)
            else:
                copy.inode, copy.columns = 0, Columns(names)
            columns = copy.columns
            return Followed(f"{copy.inode}.{columns.end}", True, columns.tracks(names), columns.problems())
        finally:
            copy.lock.release()

    def _copy(self, path: Path) -> _Copy:
        """The copy of a file; those that nobody has asked for lately are dropped where they are many."""
        with self._lock:
            copy = self._copies.pop(path, None)
            if copy is None or len(copy.columns.names) >= _MOST_SERIES:
                copy = _Copy()
            self._copies[path] = copy  # the newest is the last
            while sum(len(other.columns.names) + 1 for other in self._copies.values()) > 2 * _MOST_SERIES:
                del self._copies[next(iter(self._copies))]
            return copy


@dataclass(frozen=True)
class Followed(Answer):
    """Values since a cursor."""

    cursor: str
    """To be given back for the values after these."""
    fresh: bool
    """All values from the beginning: the first request, or a resume has replaced the file."""
    series: dict[str, Track]
    problems: list[str]


@dataclass(frozen=True)
class Closer(Answer):
    """A part of a run in more detail."""

    series: dict[str, Track]


@dataclass(frozen=True)
class NamedMetric(Answer):
    """A metric that a run records, and what the catalogue says of it."""

    name: str
    title: str
    unit: str
    group: str
    priority: int


def follow_metrics(
    run: Run,
    names: Sequence[str],
    since: str = "",
    shared: SharedCurves | None = None,
    check: Check = lambda: None,
) -> Followed:
    """Values of some metrics that were recorded after a cursor; all of them without one, from `shared`.

    `check` is called now and then, and raises where nobody waits for the answer any more.
    """
    names, path = _few(names), run.path / "metrics.jsonl"
    inode, size = _identity(path)
    start = _place(since, inode, size)
    if start is None:
        return (shared or SharedCurves()).follow(path, names, check)
    columns = Columns(names, start=start)
    if size > start:
        columns.read(path, check)
    return Followed(f"{inode}.{columns.end}", False, columns.tracks(names), columns.problems())


def look_closer(run: Run, names: Sequence[str], part: Part, check: Check = lambda: None) -> Closer:
    """Values of a part of the run; every record of it unless they are too many for a screen."""
    columns = Columns(_few(names), part)
    path = run.path / "metrics.jsonl"
    if _identity(path)[1]:
        columns.read(path, check)
    return Closer(columns.tracks(list(columns.names)))


def _few(names: Sequence[str]) -> list[str]:
    if len(names) > MOST_NAMES:
        raise UsageError(f"{len(names)} metrics are too many at once; {MOST_NAMES} are allowed.")
    return list(dict.fromkeys(names))


def name_metrics(run: Run) -> list[NamedMetric]:
    """The metrics that a run records, in the order in which people should see them."""
    rows = sample_records(run.path / "metrics.jsonl", _SAMPLED, is_metrics)
    names = by_priority({name for row in rows for name in row if "/" in name})
    groups = {metric.name: group.title for group in GROUPS for metric in group.metrics}
    return [_named(name, groups) for name in names]


def _named(name: str, groups: dict[str, str]) -> NamedMetric:
    metric = find_metric(name)
    if metric is None:
        return NamedMetric(name, "", "", "Others", 3)
    return NamedMetric(name, metric.meaning, metric.unit, groups[metric.name], metric.priority)


def _identity(path: Path) -> tuple[int, int]:
    """The inode and the length of a file; the reader refuses links."""
    try:
        status = path.lstat()
    except FileNotFoundError:  # nothing was recorded yet
        return 0, 0
    return status.st_ino, status.st_size


def _continues(path: Path, columns: Columns) -> bool:
    """The file goes on from where these columns end: an inode may be that of another file by now."""
    if not columns.end:
        return True
    start = columns.end - len(columns.newest)
    with os_errors(path), os.fdopen(open_plain(path), "rb") as file:
        file.seek(start)
        return file.read(len(columns.newest)) == columns.newest


def _place(cursor: str, inode: int, size: int) -> int | None:
    """The byte that a cursor names; None if there is none, or if it is of a file that was replaced."""
    if not cursor:
        return None
    which, dot, place = cursor.partition(".")
    if not (dot and which.isdecimal() and place.isdecimal() and len(cursor) < 50):
        hint = "Give the `cursor` of the last one."
        raise UsageError(f"{cursor!r} is no cursor.", where="since", hint=hint)
    return int(place) if int(which) == inode and int(place) <= size else None
