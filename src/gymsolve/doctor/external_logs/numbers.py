"""Numbers of logs that may be anything: what counts as a step, and what as a number at all."""

import math

_MOST_STEPS = 10**15
_LARGEST = 1e100
"""What is larger has overflowed for every purpose: squares of it would."""


def as_steps(value: object) -> int | None:
    """A count of environment steps; None when it cannot be one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return int(value) if 0 <= value <= _MOST_STEPS else None


def tame(value: float) -> float:
    """The number as a float that can be calculated with; infinite if it is absurdly large."""
    if value != value:
        return math.nan
    if abs(value) > _LARGEST:
        return math.inf if value > 0 else -math.inf
    return float(value)
