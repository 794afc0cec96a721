"""Curves of a run for a page that follows it: values since a cursor, and parts in more detail.

A cursor is a byte of `metrics.jsonl`. Long series are thinned to the same points every time.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gymsolve.answers import Answer
from gymsolve.errors import UsageError
from gymsolve.metrics.catalog import GROUPS, by_priority, find_metric
from gymsolve.runs.records import lines_from, parse_record, sample_records
from gymsolve.runs.run import Run
from gymsolve.runs.schema import is_metrics
from gymsolve.view.thinning import extremes

MOST_NAMES = 40
_BUCKETS = 1000
"""Parts of a series, of which two points each are kept; a screen has about as many columns."""
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
    """Series that grow by a record at a time, of a part of the run or of all of it."""

    def __init__(self, names: Sequence[str], part: Part | None = None) -> None:
        self.names, self.part = names, part
        self._values: dict[str, list[float]] = {name: [] for name in names}
        self._places: dict[str, list[tuple[int, float | None]]] = {name: [] for name in names}
        self._clock: float | None = None
        self._damaged = 0

    def read(self, path: Path, start: int) -> int:
        """Take the records of a file from a byte on; returns the byte at which the last one ends."""
        for line in lines_from(path, start):
            start += len(line)
            record = parse_record(line)
            if record is None or not is_metrics(record):
                self._damaged += 1
            else:
                self._take(record)
        return start

    def _take(self, record: dict[str, Any]) -> None:
        step, clock = record["env_steps"], record.get("time/elapsed")
        self._clock = self._clock if clock is None else float(clock)
        if self.part is not None and not self.part.has(step, self._clock):
            return
        for name in self.names:
            if name in record:
                value = record[name]
                self._values[name].append(math.nan if value is None else float(value))
                self._places[name].append((step, self._clock))

    def tracks(self) -> dict[str, Track]:
        return {name: self._track(name) for name in self.names if self._values[name]}

    def _track(self, name: str) -> Track:
        places, values = self._places[name], self._values[name]
        kept = extremes(values, _BUCKETS)
        return Track(
            [places[index][0] for index in kept],
            [places[index][1] for index in kept],
            [values[index] if math.isfinite(values[index]) else None for index in kept],
            len(values),
        )

    def problems(self) -> list[str]:
        return [f"{self._damaged} lines of metrics.jsonl cannot be read; ignored"] if self._damaged else []


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


def follow_metrics(run: Run, names: Sequence[str], since: str = "") -> Followed:
    """Values of some metrics that were recorded after a cursor; all of them without one."""
    columns = Columns(_few(names))
    path = run.path / "metrics.jsonl"
    inode, size = _identity(path)
    start = _place(since, inode, size)
    begin = start or 0
    if size <= begin:
        return Followed(f"{inode}.{begin}", start is None, {}, [])
    end = columns.read(path, begin)
    return Followed(f"{inode}.{end}", start is None, columns.tracks(), columns.problems())


def look_closer(run: Run, names: Sequence[str], part: Part) -> Closer:
    """Values of a part of the run; every record of it unless they are too many for a screen."""
    columns = Columns(_few(names), part)
    path = run.path / "metrics.jsonl"
    if _identity(path)[1]:
        columns.read(path, 0)
    return Closer(columns.tracks())


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


def _place(cursor: str, inode: int, size: int) -> int | None:
    """The byte that a cursor names; None if there is none, or if it is of a file that was replaced."""
    if not cursor:
        return None
    which, dot, place = cursor.partition(".")
    if not (dot and which.isdecimal() and place.isdecimal() and len(cursor) < 50):
        hint = "Give the `cursor` of the last one."
        raise UsageError(f"{cursor!r} is no cursor.", where="since", hint=hint)
    return int(place) if int(which) == inode and int(place) <= size else None
