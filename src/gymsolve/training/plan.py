"""What a run would do, thought through before anything is started; imports no torch."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gymsolve.config import TrainConfig
from gymsolve.envs.derive import derive_recipe
from gymsolve.envs.options import check_wrappers
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
        resolved = resolve(name, overrides)
        check_wrappers(resolved.config.env)
        return Plan(resolved)
    given = overrides if isinstance(overrides, Mapping) else parse_overrides(overrides)
    prefix = "env.kwargs."
    kwargs = dict(given.get("env.kwargs") or {})
    kwargs |= {key.removeprefix(prefix): v for key, v in given.items() if key.startswith(prefix)}
    derived, reasons = derive_recipe(split_name(name)[0], kwargs)
    resolved = resolve(name, given, derived=(derived,))
    check_wrappers(resolved.config.env)
    return Plan(resolved, reasons)
