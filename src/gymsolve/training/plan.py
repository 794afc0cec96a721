"""What a run would do, thought through before anything is started.

Imports no torch, and gymnasium only once the settings themselves are known to be right: a typing error is
answered at once.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gymsolve.config import TrainConfig
from gymsolve.recipes import Overrides, Resolved, has_recipe, parse_overrides, resolve, split_name

__all__ = ["Plan", "plan_run"]


@dataclass(frozen=True)
class Plan:
    """A run that has been thought through and not yet started: nothing of it is on disk."""

    resolved: Resolved
    reasons: list[str] = field(default_factory=list)
    """Why each value was chosen, when the recipe was derived from the environment's facts."""

    @property
    def config(self) -> TrainConfig:
        return self.resolved.config


def plan_run(name: str, overrides: Overrides = ()) -> Plan:
    """The settings for `ENV[:VARIANT]`: from its recipe, or derived from the environment itself."""
    if has_recipe(name):
        plan = Plan(resolve(name, overrides))
    else:
        plan = _derived(name, overrides if isinstance(overrides, Mapping) else parse_overrides(overrides))
    from gymsolve.envs.options import check_wrappers

    check_wrappers(plan.config.env)
    return plan


def _derived(name: str, given: Mapping[str, Any]) -> Plan:
    from gymsolve.envs.derive import derive_recipe

    prefix = "env.kwargs."
    kwargs = dict(given.get("env.kwargs") or {})
    kwargs |= {key.removeprefix(prefix): v for key, v in given.items() if key.startswith(prefix)}
    derived, reasons = derive_recipe(split_name(name)[0], kwargs)
    return Plan(resolve(name, given, derived=(derived,)), reasons)
