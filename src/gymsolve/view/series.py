"""Series of metrics read from `metrics.jsonl`: values cut out of its lines, long series thinned.

Files of thousands of records are long and hold some hundred numbers per record, of which a page draws a few:
of those the values are cut out of the lines without parsing the rest. Long series are thinned to the smallest
and the largest value of equal parts, the same ones every time; `total` tells how many there were.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gymsolve.answers import Answer
from gymsolve.metrics.catalog import find_metric
from gymsolve.runs.cutting import Key
from gymsolve.runs.records import lines_from, parse_record
from gymsolve.runs.schema import is_metrics

_BUCKETS = 1000
"""Of a series, two points each; a screen has about as many columns."""
_PARSED = 4 << 20
"""Bytes up to which every record is parsed and checked; beyond, values are cut out of lines."""
_STEPS, _CLOCK = "env_steps", "time/elapsed"
_FIRST = f'{{"{_STEPS}": '.encode()
"""How the lines of gymsolve begin; a digit follows."""
_DIGIT, _ZERO, _NINE = len(_FIRST), ord("0"), ord("9")


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
        self.names, self.part = names, part
        self.values: dict[str, list[float]] = {name: [] for name in names}
        self.places: dict[str, list[Any]] = {name: [] for name in names}
        """Where each value belongs; `locate` makes a step and a clock of it."""
        self.locate: Callable[[Any], tuple[int, float | None] | None] = _as_it_is
        self.clock: float | None = None
        self.damaged = 0

    def wants(self, step: int) -> bool:
        """Does a record count that comes now?"""
        return self.part is None or self.part.has(step, self.clock)

    def tracks(self) -> dict[str, Track]:
        return {name: self._track(name) for name in self.names if self.values[name]}

    def _track(self, name: str) -> Track:
        places, values = self.places[name], self.values[name]
        track = Track([], [], [], len(values))
        for index in outstanding(values, _BUCKETS):
            found, value = self.locate(places[index]), values[index]
            if found is not None:
                track.steps.append(found[0])
                track.seconds.append(found[1])
                track.values.append(value if math.isfinite(value) else None)
        return track

    def problems(self) -> list[str]:
        return [f"{self.damaged} lines of metrics.jsonl cannot be read; ignored"] if self.damaged else []


def _as_it_is(place: tuple[int, float | None]) -> tuple[int, float | None]:
    return place


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
                columns.values[name].append(math.nan if value is None else float(value))
                columns.places[name].append((record[_STEPS], columns.clock))
    return start


def _is_ours(path: Path, start: int) -> bool:
    """Are lines spaced as gymsolve writes them? Other programs may write JSON too."""
    return Key(_STEPS).value(next(lines_from(path, start), b"")) is not None


def _cut_out(path: Path, start: int, columns: Columns) -> int:
    """The same by looking for the names alone: a long file is read in a fraction of a second.

    Step and clock stay text, the beginning of a line, until a point is drawn.
    """
    clock_of, part = Key(_CLOCK), columns.part
    keys = [(Key(name), columns.values[name].append, columns.places[name].append) for name in columns.names]
    of_training = [one for one in keys if not _is_judged(one[0].name)]
    told, columns.locate = b"", (locate := _Located())
    for line in lines_from(path, start):
        start += len(line)
        usual = line.startswith(_FIRST) and _ZERO <= line[_DIGIT] <= _NINE
        if not line.endswith(b"}\n") or not (usual or locate((line, b""))):
            columns.damaged += 1
            continue
        end = clock_of.end(line)
        if end:
            head = told = line[:end]
        else:  # an evaluation; they are few, and have the clock of the record before
            head = line
        place = head, told
        if part is not None and not ((found := locate(place)) and part.has(*found)):
            continue
        for key, add_value, add_place in of_training if end else keys:
            value = key.value(line)
            if value is not None:
                add_value(value)
                add_place(place)
    return start


class _Located:
    """The step that the beginning of a line tells, and the clock that another one does."""

    def __init__(self) -> None:
        self._step, self._clock = Key(_STEPS), Key(_CLOCK)

    def __call__(self, place: tuple[bytes, bytes]) -> tuple[int, float | None] | None:
        """None where there is no step."""
        step, clock = self._step.value(place[0]), self._clock.value(place[1])
        return (int(step), clock) if step is not None and 0 <= step < math.inf else None


def _is_judged(name: str) -> bool:
    """Do only evaluations tell it?"""
    metric = find_metric(name)
    return metric is not None and metric.by == "evaluation"


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
