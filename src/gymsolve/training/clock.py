"""Where the time between two records goes."""

import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

__all__ = ["Clock", "Part"]

Part = Literal["env", "act", "update", "eval", "checkpoint", "record", "diagnose"]
_PARTS: tuple[Part, ...] = ("env", "act", "update", "eval", "checkpoint", "record", "diagnose")
_PER_MB = 1024 * 1024 if sys.platform == "darwin" else 1024
"""In what the system counts memory: bytes, or kilobytes."""


class Clock:
    """Sums seconds by what they were spent on; belongs to one sitting, so a resumed run starts a new one."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self._now = now
        self.start()

    def start(self) -> None:
        """Begin to count, now."""
        self.spent: dict[Part, float] = dict.fromkeys(_PARTS, 0.0)
        self.updates = 0
        self._since = self._now()

    def add(self, part: Part, seconds: float) -> None:
        self.spent[part] += seconds

    @contextmanager
    def timing(self, part: Part) -> Iterator[None]:
        """Count what is done meanwhile; parts must not enclose each other."""
        began = self._now()
        try:
            yield
        finally:
            self.spent[part] += self._now() - began

    def take(self) -> dict[str, float]:
        """Metrics of the time since the last call; the next one counts from now."""
        total = max(self._now() - self._since, 1e-9)
        found = {f"time/{part}_share": min(1.0, seconds / total) for part, seconds in self.spent.items()}
        found["time/diagnose_seconds"] = self.spent["diagnose"]
        found["time/updates_per_second"] = self.updates / total
        found["time/memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / _PER_MB
        self.start()
        return found
