"""Checks a search space against the settings that it varies, and applies drawn values to them."""

from collections.abc import Mapping
from typing import Any

from gymsolve.errors import ConfigError, GymsolveError
from gymsolve.recipes.layers import merge_layers
from gymsolve.recipes.schema import flatten, model_at
from gymsolve.recipes.search.space import Dimension, Space
from gymsolve.recipes.validation import Problem, find_problems
from gymsolve.settings.changes import INCIDENTAL
from gymsolve.settings.config import TrainConfig
from gymsolve.settings.schedules import Schedule

_FIXED = {
    "seed": "a sweep trains every configuration on the same seeds",
    "env.id": "returns of different environments do not compare",
    "env.tasks": "returns of different tasks do not compare",
    "steps": "every configuration has the same budget; give it with --steps",
    "budget_in": "every configuration has the same budget",
    "max_seconds": "every configuration has the same budget",
    "solved_at": "every configuration is judged by the same threshold",
    "solved_by": "every configuration is judged by the same threshold",
    "eval": "every configuration is judged in the same way",
}
"""Settings that no sweep may vary, and the reasons."""


def check_space(space: Space, base: TrainConfig) -> None:
    """Refuse a space of which some value, or every combination, is impossible; the error names the place."""
    seen: set[str] = set()
    for dimension in space:
        if dimension.path in seen:
            raise ConfigError("is given twice.", where=dimension.where)
        seen.add(dimension.path)
        _require_varied(dimension)
    for dimension in space:
        context = _context(dimension, space, base)
        faults = [_fault(dimension, base, {**context, dimension.path: v}) for v in dimension.domain.extremes]
        own = next((fault for fault in faults if fault is not None and _is_own(fault, dimension)), None)
        if own is not None:
            raise ConfigError(own.message, where=dimension.where, hint=own.hint)
        if all(faults) and faults[0] is not None and not _may_be_mended(dimension, space, faults):
            message = f"no value of {dimension.domain} fits the other settings: {faults[0].message}"
            raise ConfigError(message, where=dimension.where, hint=faults[0].hint)


def apply_values(base: TrainConfig, values: Mapping[str, Any]) -> TrainConfig | list[Problem]:
    """The settings with drawn values on top, or what is wrong with them."""
    data, _ = merge_layers([("run", base.model_dump(mode="json"))], dict(values))
    return find_problems(data)


def setting_at(config: TrainConfig, path: str) -> Any:
    """The value of a setting by its path, which may lead into a schedule or an option; None without one."""
    flat: Any = flatten(config)
    if path in flat:
        return flat[path]
    parent, _, part = path.rpartition(".")
    if parent in flat and model_at(tuple(parent.split(".")), config.algo.name) is Schedule:
        return None if flat[parent] is None else vars(Schedule.model_validate(flat[parent])).get(part)
    node: Any = config.model_dump(mode="json")
    for key in path.split("."):
        if not isinstance(node, Mapping) or key not in node:
            return None
        node = node[key]
    return node


def _require_varied(dimension: Dimension) -> None:
    for path, reason in _FIXED.items():
        if dimension.path == path or dimension.path.startswith(f"{path}."):
            raise ConfigError(f"cannot be searched: {reason}.", where=dimension.where)
    if dimension.path in ("description", "track") or dimension.path.startswith(("video.", "checkpoint.")):
        raise ConfigError("cannot be searched: it changes no result.", where=dimension.where)
    if dimension.path.startswith(INCIDENTAL) and not dimension.path.startswith(("env.workers", "env.lean")):
        raise ConfigError("cannot be searched: it changes speed alone.", where=dimension.where,
                          hint="Measure it with: gymsolve tune-speed ENV")  # fmt: skip


def _context(dimension: Dimension, space: Space, base: TrainConfig) -> dict[str, Any]:
    """Values under which the dimension counts; an error where it never does."""
    by_path = {other.path: other for other in space}
    context: dict[str, Any] = {}
    for path, allowed in dimension.when:
        other = by_path.get(path)
        if other is None:
            known = setting_at(base, path)
            if known is None and path not in flatten(base):
                raise ConfigError(f"its condition names no setting: {path}.", where=dimension.where)
            possible = [value for value in allowed if value == known]
            says = f"{path} is {known}, and not searched"
        else:
            possible = [value for value in allowed if other.domain.drawn_for(value) is not None]
            says = f"{path} is searched in {other.domain}"
            context |= _context(other, space, base)
        if not possible:
            raise ConfigError(f"its condition never holds: {says}.", where=dimension.where)
        if other is not None:
            context[path] = possible[0]
    return context


def _fault(dimension: Dimension, base: TrainConfig, values: Mapping[str, Any]) -> Problem | None:
    """The first fault of the settings with these values; None where they are possible."""
    try:
        outcome = apply_values(base, values)
    except GymsolveError as error:
        return Problem(dimension.path, error.message, error.hint)
    if isinstance(outcome, TrainConfig):
        return None
    return next((problem for problem in outcome if _is_own(problem, dimension)), outcome[0])


def _is_own(problem: Problem, dimension: Dimension) -> bool:
    """The fault is about this very setting, and not about how it fits others."""
    path, own = problem.path, dimension.path
    return bool(path) and (path == own or path.startswith(f"{own}.") or own.startswith(f"{path}."))


def _may_be_mended(dimension: Dimension, space: Space, faults: list[Problem | None]) -> bool:
    """Another searched setting is named by the contradiction, so other values of it may mend it."""
    names = [other.path for other in space if other.path != dimension.path]
    return any(name in (fault.message if fault else "") for name in names for fault in faults)
