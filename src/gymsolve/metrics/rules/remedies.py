"""Changes of settings that rules propose."""

from collections.abc import Callable
from typing import Any

from gymsolve.metrics.rules.rule import Change, Context, Evidence, Remedy
from gymsolve.schedules import Schedule

__all__ = ["all_of", "scale", "set_to"]

_WHOLE = ("algo.num_epochs",)
"""Schedules of whole numbers."""


def scale(path: str, by: float | Callable[[Evidence], float], *, at_least: float = 0.0) -> Remedy:
    """Multiply a setting, a schedule as a whole; 0 becomes `at_least`."""

    def remedy(context: Context, evidence: Evidence) -> list[Change]:
        factor = by(evidence) if callable(by) else by
        old = context.setting(path)
        if context.config is None:
            verb = "raise" if factor > 1 else "lower"
            return [Change(path, None, None, f"{verb} it by a factor of {_round(max(factor, 1 / factor))}")]
        if old is None:
            return []
        before, after = _plain(old), _scaled(old, factor, at_least, whole=path in _WHOLE)
        return [Change(path, before, after)] if before != after else []

    return remedy


def set_to(path: str, new: Any) -> Remedy:
    """Give a setting a value, unless it has it."""

    def remedy(context: Context, evidence: Evidence) -> list[Change]:
        old = _plain(context.setting(path))
        if context.config is None:
            return [Change(path, None, new, f"set it to {new}")]
        known = path.rpartition(".")[2] in _fields(context, path)
        return [Change(path, old, new)] if known and old != new else []

    return remedy


def all_of(*remedies: Remedy) -> Remedy:
    """Several changes, in the order in which to try them."""
    return lambda context, evidence: [one for remedy in remedies for one in remedy(context, evidence)]


def _round(factor: float) -> str:
    return f"{factor:,.0f}" if factor >= 10 else f"{factor:.2g}"


def _fields(context: Context, path: str) -> dict[str, Any]:
    section = path.rpartition(".")[0]
    node = context.setting(section) if section else context.config
    return {} if node is None else type(node).model_fields


def _plain(value: Any) -> Any:
    return value.model_dump() if isinstance(value, Schedule) else value


def _scaled(value: Any, factor: float, at_least: float, *, whole: bool = False) -> Any:
    plain = _plain(value)
    if isinstance(plain, dict):
        out = dict(plain)
        for key in ("start", "end", "floor"):
            if key in out:
                out[key] = _scaled(out[key], factor, 0.0, whole=whole)
        if "points" in out:
            out["points"] = [[at, _scaled(one, factor, 0.0, whole=whole)] for at, one in out["points"]]
        return out
    scaled = float(f"{max(plain * factor, at_least):.3g}")
    return max(1, round(scaled)) if whole or isinstance(plain, int) else scaled
