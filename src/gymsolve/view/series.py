"""Series of metrics read from `metrics.jsonl` as columns, long ones thinned.

Thinning keeps the same points every time; `total` says how many were recorded.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gymsolve.answers import Answer
from gymsolve.runs.records import lines_from, parse_record
from gymsolve.runs.schema import is_metrics
from gymsolve.view.thinning import extremes

_BUCKETS = 1000
"""Of a series, two points each; a screen has about as many columns."""


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


class Columns:
    """Series that grow by a record at a time, of a part of the run or of all of it."""

    def __init__(self, names: Sequence[str], part: Part | None = None) -> None:
        self.names, self.part = names, part
        self._values: dict[str, list[float]] = {name: [] for name in names}
        self._places: dict[str, list[tuple[int, float | None]]] = {name: [] for name in names}
        self._clock: float | None = None
        self._damaged = 0

    def read(self, path: Path, start: int) -> int:
        """Take the records of a file from a byte on; where the last one ends."""
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
