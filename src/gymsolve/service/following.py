"""Curves of a run for somebody who watches it: what was recorded since the last look, and nothing else.

A reader keeps a cursor, a byte of `metrics.jsonl`. Files of thousands of records are long and hold some
hundred numbers per record, of which a page draws a few: of those the values are cut out of the lines without
parsing the rest. Long series are thinned to the smallest and the largest value of equal parts, the same ones
every time; `total` tells how many there were.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.errors import UsageError
from gymsolve.metrics.catalog import GROUPS, by_priority, find_metric
from gymsolve.runs.records import lines_from, parse_record, sample_records
from gymsolve.runs.run import Run
from gymsolve.runs.schema import is_metrics
from gymsolve.service.answers import Answer

__all__ = ["Followed", "NamedMetric", "Track", "follow_metrics", "name_metrics", "outstanding"]

MOST_NAMES = 40
_BUCKETS = 1000
"""Of a series, two points each; a screen has about as many columns."""
_PARSED = 4 << 20
"""Bytes up to which every record is parsed and checked; beyond, values are cut out of lines."""
_SAMPLED = 200
"""Records of a long file that are looked at for the names of its metrics."""
_NEAR = 200
"""Bytes by which a name may have moved since the line before: numbers have more digits or fewer."""
_STEPS, _CLOCK = "env_steps", "time/elapsed"


@dataclass(frozen=True)
class Track(Answer):
    """One metric over steps and over seconds of training, as columns."""

    steps: list[int]
    seconds: list[float | None]
    """None before the first record with a clock: evaluations take the time of the record before."""
    values: list[float | None]
    """None was NaN or infinite."""
    total: int
    """How many were recorded; more than there are here if it was thinned."""


@dataclass(frozen=True)
class Followed(Answer):
    """What is new since a cursor."""

    cursor: str
    """Give it back for what comes after this."""
    fresh: bool
    """This is all of it: the first look, or the file was replaced (a resume goes back to a checkpoint)."""
    series: dict[str, Track]
    problems: list[str]


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
    if len(names) > MOST_NAMES:
        raise UsageError(f"{len(names)} metrics are too many at once; {MOST_NAMES} are allowed.")
    path = run.path / "metrics.jsonl"
    inode, size = _identity(path)
    start = _place(since, inode, size)
    begin = start or 0
    if size <= begin:
        return Followed(f"{inode}.{begin}", start is None, {}, [])
    wanted = list(dict.fromkeys(names))
    columns = _Columns(wanted)
    read = _parse_all if size - begin <= _PARSED else _cut_out
    end = read(path, begin, columns)
    return Followed(f"{inode}.{end}", start is None, columns.tracks(), columns.problems())


def name_metrics(run: Run) -> list[NamedMetric]:
    """The metrics that a run records, in the order in which people should see them."""
    rows = sample_records(run.path / "metrics.jsonl", _SAMPLED, is_metrics)
    found = by_priority({name for row in rows for name in row if "/" in name})
    groups = {metric.name: group.title for group in GROUPS for metric in group.metrics}
    return [_named(name, groups) for name in found]


def _named(name: str, groups: dict[str, str]) -> NamedMetric:
    metric = find_metric(name)
    if metric is None:
        return NamedMetric(name, "", "", "Others", 3)
    return NamedMetric(name, metric.meaning, metric.unit, groups[metric.name], metric.priority)


def _identity(path: Path) -> tuple[int, int]:
    """Which file it is, and its length; links are refused by whoever opens it."""
    try:
        found = path.lstat()
    except FileNotFoundError:  # nothing was recorded yet
        return 0, 0
    return found.st_ino, found.st_size


def _place(cursor: str, inode: int, size: int) -> int | None:
    """The byte that a cursor names; None if there is none, or if it is of a file that was replaced."""
    if not cursor:
        return None
    which, dot, place = cursor.partition(".")
    if not (dot and which.isdecimal() and place.isdecimal() and len(cursor) < 50):
        raise UsageError(
            f"{cursor!r} is no cursor.", where="since", hint="Give the `cursor` of the last one."
        )
    return int(place) if int(which) == inode and int(place) <= size else None


class _Columns:
    """Series that grow by a line at a time."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = names
        self.steps: dict[str, list[int]] = {name: [] for name in names}
        self.seconds: dict[str, list[float | None]] = {name: [] for name in names}
        self.values: dict[str, list[float]] = {name: [] for name in names}
        self.clock: float | None = None
        self.damaged = 0

    def add(self, step: int, name: str, value: float) -> None:
        self.steps[name].append(step)
        self.seconds[name].append(self.clock)
        self.values[name].append(value)

    def tracks(self) -> dict[str, Track]:
        return {name: self._track(name) for name in self.names if self.values[name]}

    def _track(self, name: str) -> Track:
        steps, seconds, values = self.steps[name], self.seconds[name], self.values[name]
        kept = outstanding(values, _BUCKETS)
        told = [value if math.isfinite(value) else None for value in map(values.__getitem__, kept)]
        return Track([steps[i] for i in kept], [seconds[i] for i in kept], told, len(values))

    def problems(self) -> list[str]:
        return [f"{self.damaged} lines of metrics.jsonl cannot be read; ignored"] if self.damaged else []


def _parse_all(path: Path, start: int, columns: _Columns) -> int:
    """Parse and check every record from a byte on; where the last one ends."""
    for line in lines_from(path, start):
        start += len(line)
        record = parse_record(line)
        if record is None or not is_metrics(record):
            columns.damaged += 1
            continue
        clock = record.get(_CLOCK)
        columns.clock = columns.clock if clock is None else float(clock)
        for name in columns.names:
            if name in record:
                value: Any = record[name]
                columns.add(record[_STEPS], name, math.nan if value is None else float(value))
    return start


def _cut_out(path: Path, start: int, columns: _Columns) -> int:
    """The same by looking for the names alone: a long file is read in a fraction of a second."""
    step_of, clock_of = _Key(_STEPS), _Key(_CLOCK)
    of_training = [_Key(name) for name in columns.names if _by(name) != "evaluation"]
    of_evaluations = [_Key(name) for name in columns.names if _by(name) in ("evaluation", "both", "")]
    for line in lines_from(path, start):
        start += len(line)
        step = step_of.value(line)
        if step is None or not step >= 0 or not line.endswith(b"}\n"):
            columns.damaged += 1
            continue
        clock = clock_of.value(line)  # evaluations have none
        columns.clock = columns.clock if clock is None else clock
        for key in of_evaluations if clock is None else of_training:
            value = key.value(line)
            if value is not None:
                columns.add(int(step), key.name, value)
    return start


def _by(name: str) -> str:
    """Which records hold a metric; empty where nobody declared it."""
    metric = find_metric(name)
    return "" if metric is None else metric.by


class _Key:
    """A name in lines of JSON, looked for where it was in the line before."""

    __slots__ = ("begin", "name", "text")

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = f'"{name}": '.encode()
        self.begin = 0

    def value(self, line: bytes) -> float | None:
        """Its number, NaN for null; None where the name is not in the line, or has something else."""
        text, near = self.text, self.begin
        begin = line.find(text, max(0, near - _NEAR), near + _NEAR)
        if begin < 0:
            begin = line.find(text)
            if begin < 0:
                return None
        self.begin = begin
        begin += len(text)
        end = line.find(b",", begin)
        try:
            return float(line[begin : end if end >= 0 else -2])
        except ValueError:
            return math.nan if line.startswith(b"null", begin) else None


def outstanding(values: Sequence[float], buckets: int) -> list[int]:
    """Places of the smallest and the largest value of so many equal parts, and both ends.

    All places where there are few. A part without any finite value is kept as a gap.
    """
    total = len(values)
    if total <= 2 * buckets:
        return list(range(total))
    kept = [0]
    for index in range(buckets):
        begin, end = index * total // buckets, (index + 1) * total // buckets
        part = values[begin:end]
        if not math.isfinite(sum(part)):
            part = [value if math.isfinite(value) else math.nan for value in part]
            solid = [value for value in part if value == value]
        else:
            solid = list(part)
        if not solid:
            kept.append(begin)
            continue
        kept += sorted({begin + part.index(min(solid)), begin + part.index(max(solid))})
    return list(dict.fromkeys([*kept, total - 1]))
