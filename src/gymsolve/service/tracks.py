"""Series of metrics read from `metrics.jsonl`: values cut out of its lines, long series thinned.

Files of thousands of records are long and hold some hundred numbers per record, of which a page draws a few:
of those the values are cut out of the lines without parsing the rest. Long series are thinned to the smallest
and the largest value of equal parts, the same ones every time; `total` tells how many there were.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gymsolve.metrics.catalog import find_metric
from gymsolve.runs.files import to_json
from gymsolve.runs.records import lines_from, parse_record
from gymsolve.runs.schema import is_metrics
from gymsolve.service.answers import Answer

__all__ = ["Columns", "Part", "Track", "outstanding", "read_columns"]

_BUCKETS = 1000
"""Of a series, two points each; a screen has about as many columns."""
_PARSED = 4 << 20
"""Bytes up to which every record is parsed and checked; beyond, values are cut out of lines."""
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
class Part:
    """A part of a run, both ends included."""

    axis: Literal["steps", "seconds"]
    low: float
    high: float

    def has(self, step: int, clock: float | None) -> bool:
        """Is a record in it?"""
        place = step if self.axis == "steps" else clock
        return place is not None and self.low <= place <= self.high


def read_columns(path: Path, start: int, size: int, columns: "Columns") -> int:
    """Read the records from a byte on; where the last one ends."""
    short = size - start <= _PARSED or not _is_ours(path, start)
    return (_parse_all if short else _cut_out)(path, start, columns)


class Columns:
    """Series that grow by a line at a time."""

    def __init__(self, names: Sequence[str], part: Part | None = None) -> None:
        """Of a part of the run, or of all of it."""
        self.names, self._part = names, part
        self.steps: dict[str, list[int]] = {name: [] for name in names}
        self.seconds: dict[str, list[float | None]] = {name: [] for name in names}
        self.values: dict[str, list[float]] = {name: [] for name in names}
        self.clock: float | None = None
        self.damaged = 0

    def wants(self, step: int) -> bool:
        """Does a record count that comes now?"""
        return self._part is None or self._part.has(step, self.clock)

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


def _parse_all(path: Path, start: int, columns: Columns) -> int:
    """Parse and check every record from a byte on; where the last one ends."""
    for line in lines_from(path, start):
        start += len(line)
        record = parse_record(line)
        if record is None or not is_metrics(record):
            columns.damaged += 1
            continue
        clock = record.get(_CLOCK)
        columns.clock = columns.clock if clock is None else float(clock)
        for name in columns.names if columns.wants(record[_STEPS]) else ():
            if name in record:
                value: Any = record[name]
                columns.add(record[_STEPS], name, math.nan if value is None else float(value))
    return start


def _is_ours(path: Path, start: int) -> bool:
    """Are lines spaced as gymsolve writes them? Other programs may write JSON too."""
    return _Key(_STEPS).value(next(lines_from(path, start), b"")) is not None


def _cut_out(path: Path, start: int, columns: Columns) -> int:
    """The same by looking for the names alone: a long file is read in a fraction of a second."""
    step_of, clock_of = _Key(_STEPS), _Key(_CLOCK)
    keys = [_Key(name) for name in columns.names]
    of_training = [key for key in keys if not _is_judged(key.name)]
    for line in lines_from(path, start):
        start += len(line)
        step = step_of.value(line)
        if step is None or not step >= 0 or not line.endswith(b"}\n"):
            columns.damaged += 1
            continue
        clock = clock_of.value(line)  # evaluations have none, and are few
        columns.clock = columns.clock if clock is None else clock
        if not columns.wants(int(step)):
            continue
        for key in keys if clock is None else of_training:
            value = key.value(line)
            if value is not None:
                columns.add(int(step), key.name, value)
    return start


def _is_judged(name: str) -> bool:
    """Do only evaluations tell it?"""
    metric = find_metric(name)
    return metric is not None and metric.by == "evaluation"


class _Key:
    """A name in lines of JSON, looked for where it was in the line before."""

    __slots__ = ("begin", "name", "text")

    def __init__(self, name: str) -> None:
        self.name = name
        self.text = f"{to_json(name)}: ".encode(errors="replace")
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
