"""What rules would make of settings. `remedy_limits.py` decides what is proposed of it."""

from collections.abc import Callable
from typing import Any

from gymsolve.doctor.rules.rule import Context, Evidence, ProposedChange, Remedy

_SAME = 0.05
"""A factor this near to 1 changes nothing that anybody would notice."""


def scale(path: str, by: float | Callable[[Evidence], float], *, from_zero: float | None = None) -> Remedy:
    """Multiply a setting, a schedule as a whole; 0, which no factor moves, becomes `from_zero`."""

    def remedy(context: Context, evidence: Evidence) -> list[ProposedChange]:
        factor = by(evidence) if callable(by) else by
        if abs(factor - 1.0) < _SAME:
            return []
        return [ProposedChange(path, "up" if factor > 1.0 else "down", factor, from_zero)]

    return remedy


def raise_to(path: str, new: float) -> Remedy:
    """Bring whatever is below a value up to it, also where a schedule is below only at times."""
    return lambda context, evidence: [ProposedChange(path, "up", value=new)]


def lower_to(path: str, new: float) -> Remedy:
    """Bring a limit down to a value; one that is off is above any."""
    return lambda context, evidence: [ProposedChange(path, "down", value=new)]


def set_to(path: str, new: Any) -> Remedy:
    """Give a setting a value."""
    return lambda context, evidence: [ProposedChange(path, "set", value=new)]


def all_of(*remedies: Remedy) -> Remedy:
    """Several changes, in the order in which to try them."""
    return lambda context, evidence: [one for remedy in remedies for one in remedy(context, evidence)]
