"""Checks numbers of logs that may hold anything."""

import math

_MOST_STEPS = 10**15
_LARGEST = 1e100
"""A larger number counts as infinite: its square would overflow."""


def as_steps(value: object) -> int | None:
    """A count of environment steps; None when it cannot be one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return int(value) if 0 <= value <= _MOST_STEPS else None


def tame(value: float) -> float:
    """The number as a float; infinite where it is absurdly large."""
    if value != value:
        return math.nan
    if abs(value) > _LARGEST:
        return math.inf if value > 0 else -math.inf
    return float(value)
