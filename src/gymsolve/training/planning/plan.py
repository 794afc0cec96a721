"""Plans a run: resolves its settings and measures those that are `auto`, before anything starts.

It imports gymnasium only once the settings are valid, so that a typing error is answered at once; and torch
only to measure.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gymsolve.config import TrainConfig
from gymsolve.recipes import (
    Overrides,
    Resolved,
    apply_overrides,
    has_recipe,
    parse_overrides,
    resolve,
    split_name,
)
from gymsolve.training.planning.memory import require_sane

__all__ = ["Plan", "plan_run"]

_MEASURE_SECONDS = 2.0


@dataclass(frozen=True)
class Plan:
    """A run that is planned and not yet started: nothing of it is on disk."""

    resolved: Resolved
    reasons: list[str] = field(default_factory=list)
    """Why each value was chosen, when the recipe was derived from the environment's facts."""
    measured: list[str] = field(default_factory=list)
    """Why the values that were `auto` are what they are."""
    least_steps: int = 1
    """Below this many steps per environment a rollout would miss rewards, as far as that was measured."""

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
    require_sane(plan.config)
    return _measured(plan) if plan.resolved.automatic else plan


def _measured(plan: Plan) -> Plan:
    """The plan with numbers that were measured where it said `auto`, each with its source and reason."""
    if "algo.num_steps" in plan.resolved.automatic:
        plan = _long_enough(plan)
    if not plan.resolved.automatic:
        return plan
    from gymsolve.training.planning.tuning_costs import tune

    automatic = plan.resolved.automatic
    envs, compute = "env.num_envs" in automatic, "threads" in automatic
    vary = {"envs": envs, "compute": compute, "wide": False}
    choice = tune(plan.config, _MEASURE_SECONDS, shortest=plan.least_steps, **vary)
    best = choice.best
    values: dict[str, Any] = {"threads": best.compute.threads} if compute else {}
    if envs:
        values |= {"env.num_envs": best.layout.num_envs, "algo.num_steps": best.layout.num_steps}
    config, changed = apply_overrides(plan.config, values)
    source = f"auto: measured, {best.steps_per_second:,.0f} steps/s expected"
    sources = dict.fromkeys((*automatic, *changed), source)
    resolved = replace(
        plan.resolved, config=config, provenance=plan.resolved.provenance | sources, automatic=()
    )
    return replace(plan, resolved=resolved, measured=[*plan.measured, *choice.reasons])


def _long_enough(plan: Plan) -> Plan:
    """The plan with rollouts that see rewards."""
    from gymsolve.envs.make import make_envs
    from gymsolve.envs.random_policy import PAY_COPIES, measure_pay
    from gymsolve.training.planning.rollout_length import choose_num_steps

    path = "algo.num_steps"
    calm = plan.config.env.model_copy(update={"backend": "sync"})
    envs = make_envs(calm, "train", num_envs=PAY_COPIES)
    try:
        chosen = choose_num_steps(plan.config, measure_pay(envs))
    finally:
        envs.close()
    config, _ = apply_overrides(plan.config, {path: chosen.num_steps})
    resolved = replace(
        plan.resolved,
        config=config,
        provenance=plan.resolved.provenance | {path: "auto: measured, steps between rewards"},
        automatic=tuple(other for other in plan.resolved.automatic if other != path),
    )
    return replace(plan, resolved=resolved, measured=[chosen.reason], least_steps=chosen.least)


def _derived(name: str, given: Mapping[str, Any]) -> Plan:
    from gymsolve.envs.derive import derive_recipe

    prefix = "env.kwargs."
    kwargs = dict(given.get("env.kwargs") or {})
    kwargs |= {key.removeprefix(prefix): v for key, v in given.items() if key.startswith(prefix)}
    derived, reasons = derive_recipe(split_name(name)[0], kwargs)
    return Plan(resolve(name, given, derived=(derived,)), reasons)
