"""A run's records as one series per metric, for the rules, live and afterwards.

Series are plain lists. Each keeps the places where its largest value grew, so that "no better than a while
ago" costs a bisection instead of a scan. Training appends a record after every update, so microseconds count.
"""

import math
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

from gymsolve.metrics.time_accounting import Spending


class Series:
    """The values of one metric and the environment steps at which they were measured."""

    __slots__ = ("_falls", "_rises", "low", "peak", "steps", "values")

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.values: list[float] = []
        self.peak = -math.inf
        """The largest finite value so far."""
        self.low = math.inf
        self._rises: list[int] = []
        """Places where the peak grew."""
        self._falls: list[int] = []
        """Places where the low fell."""

    def append(self, step: int, value: float) -> None:
        if value > self.peak and value != math.inf:  # false for NaN
            self.peak = value
            self._rises.append(len(self.values))
        if value < self.low and value != -math.inf:
            self.low = value
            self._falls.append(len(self.values))
        self.steps.append(step)
        self.values.append(value)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def last(self) -> float:
        return self.values[-1]

    @property
    def span(self) -> float:
        """The distance between the smallest and the largest value so far."""
        return self.peak - self.low

    @property
    def peak_step(self) -> int | None:
        """The step that first reached the largest value; None before the first finite one."""
        return self.steps[self._rises[-1]] if self._rises else None

    def peak_at(self, index: int) -> float:
        """The largest finite value up to a point; -inf before the first."""
        place = bisect_right(self._rises, index)
        return self.values[self._rises[place - 1]] if place else -math.inf

    def low_at(self, index: int) -> float:
        """The smallest finite value up to a point; inf before the first."""
        place = bisect_right(self._falls, index)
        return self.values[self._falls[place - 1]] if place else math.inf

    def index_at(self, step: float) -> int | None:
        """The newest point at or before a step; None when there was none yet."""
        index = bisect_right(self.steps, step) - 1
        return index if index >= 0 else None

    def tail(self, count: int) -> list[float]:
        """The newest finite values, at most so many."""
        return [value for value in self.values[-count:] if math.isfinite(value)]


class History:
    """All series of a run; grows by one record at a time."""

    def __init__(self, records: Iterable[dict[str, Any]] = ()) -> None:
        self.series: dict[str, Series] = {}
        self.record: dict[str, float] = {}
        """The newest record, numbers only."""
        self.broken: list[str] = []
        """Names in the newest record whose value is NaN or infinite."""
        self.memo: dict[tuple[float | None, ...], bool] = {}
        """Answers of `rules/learning_trend.py` about the newest record."""
        self.records = 0
        self.env_steps = 0
        """Environment steps of the newest record."""
        self.spending = Spending()
        """Seconds so far, by what they were spent on."""
        self._clock: tuple[list[int], list[float]] = ([], [])
        for record in records:
            self.append(record)

    def append(self, record: dict[str, Any]) -> None:
        """Take one record; null counts as NaN, and other values that are no numbers are left out."""
        step = int(record.get("env_steps") or 0)
        numbers: dict[str, float] = {}
        broken: list[str] = []
        all_series = self.series
        for name, value in record.items():
            if value is None:
                value = math.nan
            elif not isinstance(value, (int, float)):
                continue
            if not math.isfinite(value):
                value = math.nan  # as the file keeps it: live and replayed histories must not differ
                broken.append(name)
            numbers[name] = value
            series = all_series.get(name)
            if series is None:
                series = all_series[name] = Series()
            series.append(step, value)
        self.record, self.broken, self.memo = numbers, broken, {}
        self.records, self.env_steps = self.records + 1, step
        self.spending.add(numbers)
        elapsed = numbers.get("time/elapsed")
        if elapsed is not None:
            self._clock[0].append(step)
            self._clock[1].append(elapsed)

    def get(self, name: str) -> Series | None:
        return self.series.get(name)

    def last(self, name: str) -> float | None:
        """The newest value of a metric; None before the first."""
        series = self.series.get(name)
        return None if series is None else series.values[-1]

    def seconds_at(self, step: float) -> float | None:
        """Seconds of training up to a step; None when nothing was timed by then."""
        steps, seconds = self._clock
        index = bisect_right(steps, step) - 1
        return seconds[index] if index >= 0 else None
