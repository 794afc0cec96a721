"""Timing a piece of code that takes less than a moment."""

import statistics
import time
from collections.abc import Callable

__all__ = ["fastest", "typical"]


def fastest(work: Callable[[], object], *, seconds: float = 0.3, least: int = 5) -> float:
    """Seconds of the fastest of many calls: noise only ever adds."""
    return min(_times(work, seconds, least))


def typical(work: Callable[[], object], *, seconds: float = 0.3, least: int = 5) -> float:
    """Seconds of the median of many calls: to be compared with what takes its time as the machine is."""
    return statistics.median(_times(work, seconds, least))


def _times(work: Callable[[], object], seconds: float, least: int) -> list[float]:
    """Calls too short for the clock are timed in groups."""
    work()
    began = time.perf_counter()
    work()
    group = max(1, int(2e-4 / max(time.perf_counter() - began, 1e-9)))
    found: list[float] = []
    deadline = time.perf_counter() + seconds
    while len(found) < least or time.perf_counter() < deadline:
        began = time.perf_counter()
        for _ in range(group):
            work()
        found.append((time.perf_counter() - began) / group)
    return found
