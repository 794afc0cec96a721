"""Adds up the seconds of a run by what they were spent on, for alerts, reports and the command line.

Records hold shares of the time since the previous record, which are weighted by that time. Evaluations hold
their seconds, so that the last one counts, which no training record follows. Seconds outside of all records
(starting, trackers, videos, the last checkpoint) are in the `spent` events.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

NAMES = {
    "start": "starting",
    "env": "stepping environments",
    "act": "choosing actions",
    "update": "learning",
    "eval": "evaluating",
    "diagnose": "measuring",
    "record": "records and alerts",
    "checkpoint": "checkpoints",
    "track": "opening and closing trackers",
    "video": "videos at the end",
    "other": "everything else",
}
"""Names of the parts, in the order in which they are shown."""
_RECORDED = ("env", "act", "update", "eval", "diagnose", "record", "checkpoint")
_SHARES = tuple((part, f"time/{part}_share") for part in _RECORDED)
_OF_THE_RUN = ("videos/best.mp4", "videos/final.mp4")
"""Videos that training waited for; others are made by another process."""


class Spending:
    """Seconds by part, added up record by record."""

    __slots__ = ("_elapsed", "_seen", "_updates", "evaluations", "routine", "seconds", "trained")

    def __init__(self) -> None:
        self.seconds: dict[str, float] = dict.fromkeys((*_RECORDED, "other"), 0.0)
        self.trained = 0.0
        """Seconds of collecting, learning and evaluating, over all sittings."""
        self.evaluations = 0
        """The number of evaluations without a confirmation; `routine` has their seconds."""
        self.routine = 0.0
        self._updates = self._elapsed = 0.0
        self._seen = 0.0
        """Seconds of evaluations since the last training record, which the next share contains too."""

    @property
    def whole(self) -> float:
        return sum(self.seconds.values())

    def share(self, *parts: str) -> float:
        """The share of some parts in all time so far."""
        whole = self.whole
        return sum(self.seconds[part] for part in parts) / whole if whole > 0.0 else 0.0

    def add(self, record: Mapping[str, float]) -> None:
        """Take a record of numbers."""
        waited = record.get("eval/seconds")
        if waited is not None and math.isfinite(waited):
            self._judge(waited, confirmed="eval/confirm_mean_reward" in record)
        if "time/env_share" in record or "time/eval_share" in record:
            self._train(record)
        elapsed = record.get("time/elapsed")
        if elapsed is not None and math.isfinite(elapsed):
            self.trained = elapsed

    def _judge(self, seconds: float, *, confirmed: bool) -> None:
        self.seconds["eval"] += seconds
        self.trained += seconds
        self._seen += seconds
        if not confirmed:
            self.evaluations += 1
            self.routine += seconds

    def _train(self, record: Mapping[str, float]) -> None:
        span, rest = self._span(record), 1.0
        for part, name in _SHARES:
            share = record.get(name, 0.0)
            if share > 0.0:  # false for NaN
                rest -= share
                spent = share * span
                self.seconds[part] += max(0.0, spent - self._seen) if part == "eval" else spent
        self.seconds["other"] += max(0.0, rest) * span
        self._seen = 0.0

    def _span(self, record: Mapping[str, float]) -> float:
        """Seconds since the previous record: updates divided by updates per second."""
        updates, rate = record.get("updates", 0.0), record.get("time/updates_per_second", 0.0)
        elapsed = record.get("time/elapsed", math.nan)
        done, passed = updates - self._updates, elapsed - self._elapsed
        self._updates, self._elapsed = updates, elapsed if math.isfinite(elapsed) else self._elapsed
        if rate > 0.0 and done > 0.0:
            return done / rate
        return passed if passed > 0.0 else 0.0


def spent_in_all(spending: Spending, events: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Seconds of all sittings by part, with those outside of records; parts without any are left out."""
    total = dict.fromkeys(NAMES, 0.0) | spending.seconds
    rows = list(events)
    spent = [event for event in rows if event.get("kind") == "spent"]
    for event in spent:
        for part, seconds in (event.get("seconds") or {}).items():
            if isinstance(seconds, int | float) and math.isfinite(seconds):
                total[part if part in NAMES else "other"] += max(0.0, seconds)
    if not spent:  # an older run, or one that was killed: its videos hold how long they took
        films = [event for event in rows if event.get("kind") == "video" and event.get("file") in _OF_THE_RUN]
        total["video"] += sum(event.get("recording_seconds") or 0.0 for event in films)
    return {part: seconds for part, seconds in total.items() if seconds > 0.0}
