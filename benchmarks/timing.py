"""Timing a piece of code that takes less than a moment."""

import time
from collections.abc import Callable

__all__ = ["fastest"]


def fastest(work: Callable[[], object], *, seconds: float = 0.3, least: int = 5) -> float:
    """Seconds of the fastest of many calls: noise only ever adds.

    Calls too short for the clock are timed in groups.
    """
    work()
    began = time.perf_counter()
    work()
    group = max(1, int(2e-4 / max(time.perf_counter() - began, 1e-9)))
    best, tries, deadline = float("inf"), 0, time.perf_counter() + seconds
    while tries < least or time.perf_counter() < deadline:
        began = time.perf_counter()
        for _ in range(group):
            work()
        best = min(best, (time.perf_counter() - began) / group)
        tries += 1
    return best
