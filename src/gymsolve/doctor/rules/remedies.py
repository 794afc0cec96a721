"""Changes of settings that rules ask for. `remedy_limits.py` decides which of them are proposed."""

from collections.abc import Callable
from typing import Any

from gymsolve.doctor.rules.rule import Context, Evidence, ProposedChange, Remedy

_SAME = 0.05
"""A factor this near to 1 is not worth a change."""


def scale(path: str, by: float | Callable[[Evidence], float], *, from_zero: float | None = None) -> Remedy:
    """Multiply a setting, a schedule as a whole; 0, which no factor moves, becomes `from_zero`."""

    def remedy(context: Context, evidence: Evidence) -> list[ProposedChange]:
        factor = by(evidence) if callable(by) else by
        if abs(factor - 1.0) < _SAME:
            return []
        return [ProposedChange(path, "up" if factor > 1.0 else "down", factor, from_zero)]

    return remedy


def raise_to(path: str, new: float) -> Remedy:
    """Raise a setting, or those values of a schedule that are below, to a value."""
    return lambda context, evidence: [ProposedChange(path, "up", value=new)]


def lower_to(path: str, new: float) -> Remedy:
    """Lower a limit to a value; a limit that is off counts as higher."""
    return lambda context, evidence: [ProposedChange(path, "down", value=new)]


def set_to(path: str, new: Any) -> Remedy:
    """Give a setting a value."""
    return lambda context, evidence: [ProposedChange(path, "set", value=new)]


def all_of(*remedies: Remedy) -> Remedy:
    """Several changes, in the order in which to try them."""
    return lambda context, evidence: [change for remedy in remedies for change in remedy(context, evidence)]
