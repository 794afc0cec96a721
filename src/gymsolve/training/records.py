"""Turns the metrics of single updates into records: averages, and a clock for where the time goes."""

import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

from gymsolve.parts import Part
from gymsolve.settings.config import TrainConfig
from gymsolve.spec import Array


def next_multiple(env_steps: int, every: int) -> int:
    """The next multiple of `every`: cadences do not drift with the size of rollouts."""
    return (env_steps // every + 1) * every


_DENSITY, _FARTHEST, _MOST = 32, 16, 2000
"""A record for every update at first, then whenever the run is 1/32 longer: people read curves by proportion,
and handling a record takes most of a millisecond, in which a small network learns a lot. But records are at
most 16 updates apart, since somebody may be watching, or 1/2000 of the budget where that is longer: the file
of a run over 50M steps must stay light."""


def next_record(env_steps: int, config: TrainConfig) -> int:
    """The step from which the next record is due, after one at `env_steps`."""
    longest = max(_FARTHEST * config.algo.num_steps * config.env.num_envs, config.env_budget // _MOST)
    return env_steps + max(1, min(env_steps // _DENSITY, longest))


class Averager(Part):
    """Averages `train/…` metrics over the updates since the last record; keeps the latest of others."""

    def __init__(self) -> None:
        self.sums: dict[str, float] = {}
        self.counts: dict[str, int] = {}
        self.latest: dict[str, float] = {}

    def add(self, metrics: dict[str, float]) -> None:
        sums, counts, latest = self.sums, self.counts, self.latest
        for name, value in metrics.items():
            if name[:6] != "train/":
                latest[name] = value
            elif value == value:  # not NaN
                sums[name] = sums.get(name, 0.0) + value
                counts[name] = counts.get(name, 0) + 1

    def take(self) -> dict[str, float]:
        """The record so far; the next one starts empty."""
        record = {name: total / self.counts[name] for name, total in self.sums.items()} | self.latest
        self.sums, self.counts, self.latest = {}, {}, {}
        return record

    def state(self) -> dict[str, Any]:
        return {"sums": self.sums, "counts": self.counts, "latest": self.latest}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        self.sums = {name: float(value) for name, value in state["sums"].items()}
        self.counts = {name: int(state["counts"][name]) for name in self.sums}
        if min(self.counts.values(), default=1) < 1:
            raise ValueError("a mean of nothing")
        self.latest = {name: float(value) for name, value in state["latest"].items()}
        return []


Phase = Literal["env", "act", "update", "eval", "checkpoint", "record", "diagnose"]
Aside = Literal["start", "track", "video"]
"""Parts of the time before the first record and after the last one."""
_PHASES: tuple[Phase, ...] = ("env", "act", "update", "eval", "checkpoint", "record", "diagnose")
_PER_MB = 1024 * 1024 if sys.platform == "darwin" else 1024
"""Units of the system's memory count per MB: it counts bytes on macOS, kilobytes elsewhere."""


class Clock:
    """Sums seconds by phase. It belongs to one sitting: a resumed run starts a new clock."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self.aside: dict[str, float] = {}
        """Seconds that no record tells."""
        self._start()

    def count_from(self, moment: float) -> None:
        """The sitting began before its clock was made."""
        self._since = moment

    def begin(self) -> None:
        """Count for the first record from now; what was before and has no other name is starting."""
        named = self._tail()
        named["start"] = named.get("start", 0.0) + named.pop("other")
        self.aside = named
        self._start()

    def add(self, part: Phase | Aside, seconds: float) -> None:
        if part in self.spent:
            self.spent[part] += seconds
        else:
            self.aside[part] = self.aside.get(part, 0.0) + seconds
            self._named += seconds

    @contextmanager
    def timing(self, part: Phase | Aside) -> Iterator[None]:
        """Count the time inside this block; blocks must not enclose each other."""
        began = self._now()
        try:
            yield
        finally:
            seconds = self._now() - began
            self.add(part, seconds)
            self._longest[part] = max(seconds, self._longest.get(part, 0.0))

    def take(self) -> dict[str, float]:
        """Metrics of the time since the last call; the next one counts from now."""
        total = max(self._now() - self._since, 1e-9)
        record = {f"time/{part}_share": min(1.0, seconds / total) for part, seconds in self.spent.items()}
        record["time/diagnose_seconds"] = self.spent["diagnose"]
        if "checkpoint" in self._longest:
            record["time/checkpoint_seconds"] = self._longest["checkpoint"]
        record["time/updates_per_second"] = self.updates / total
        record["time/memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _PER_MB
        self._start()
        return record

    def unrecorded(self) -> dict[str, float]:
        """Seconds by part that no record tells: before the first one, and since the last one."""
        return {part: round(seconds, 3) for part, seconds in self._tail().items() if seconds >= 0.0005}

    def _tail(self) -> dict[str, float]:
        """Without evaluations, which are records themselves."""
        unrecorded = dict(self.aside)
        rest = self._now() - self._since - sum(self.spent.values()) - self._named
        for part, seconds in self.spent.items():
            if part != "eval":
                unrecorded[part] = unrecorded.get(part, 0.0) + seconds
        return unrecorded | {"other": unrecorded.get("other", 0.0) + max(0.0, rest)}

    def _start(self) -> None:
        self.spent: dict[str, float] = dict.fromkeys(_PHASES, 0.0)
        self.updates = 0
        self._longest: dict[str, float] = {}
        """Seconds of the longest block that was timed, by part."""
        self._named = 0.0
        """Of the seconds aside, those since the last record."""
        self._since = self._now()
