"""Plans a run: resolves its settings and measures those that are `auto`, before anything starts.

It imports gymnasium only once the settings are valid, so that a typing error is answered at once; and torch
only to measure.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gymsolve.errors import ConfigError
from gymsolve.recipes import Overrides, Resolved, apply_overrides, parse_overrides, resolve, split_name
from gymsolve.recipes.files import DERIVED, is_bundled, list_variants, no_variant, uses_recipe
from gymsolve.registry import ALGORITHMS, load_own
from gymsolve.runs.refs import fix_ref
from gymsolve.settings.config import TrainConfig
from gymsolve.spec import EnvSpec
from gymsolve.training.planning.memory_need import require_sane

Tell = Callable[[int, int], None]

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
    home: Path = field(default_factory=Path.cwd)
    """Where relative paths begin: environments may change the working directory."""

    @property
    def config(self) -> TrainConfig:
        return self.resolved.config

    @property
    def threshold(self) -> float | None:
        """The return that counts as solved: the setting, else the one of the environment's registration."""
        if self.config.solved_at is not None and not self.config.env.tasks:
            return self.config.solved_at
        from gymsolve.envs.build import find_spec

        if self.config.env.tasks:
            from gymsolve.metrics.thresholds import find_threshold

            return find_threshold(self.config, self.describe())
        registered: float | None = find_spec(self.config.env.id).reward_threshold
        return registered

    def describe(self) -> EnvSpec:
        """The environment's facts; builds it once."""
        from gymsolve.envs.describe import describe_env

        return describe_env(self.config.env)


def plan_run(name: str, overrides: Overrides = (), tell: Tell | None = None) -> Plan:
    """The settings for `ENV[:VARIANT]`: from its recipe, or derived from the environment itself.

    `ENV:derived` derives them even if there is a recipe.

    `tell` hears how many steps of a look at the environment are done, of how many.
    """
    home = Path.cwd()
    if uses_recipe(name):
        _require_variant(name)
        plan = Plan(resolve(name, overrides, own_code=True))
    else:
        given = overrides if isinstance(overrides, Mapping) else parse_overrides(overrides)
        plan = _derived(name, given, tell)
    plan = replace(plan, home=home)
    from gymsolve.envs.options import check_wrappers

    check_wrappers(plan.config.env)
    if plan.config.net.encoder is not None:
        load_own(plan.config.net.encoder.name, "net.encoder")
    require_sane(plan.config)
    if not plan.resolved.automatic:
        return plan
    _require_one_task(plan)
    from gymsolve.envs.contract_faults import keep_folder

    with keep_folder():
        return _measured(plan, tell)


def _require_variant(name: str) -> None:
    base, variant = split_name(name)
    known = [recipe.variant for recipe in list_variants(base)]
    if not is_bundled(base):
        known += [algorithm for algorithm in ALGORITHMS if algorithm not in known]
    if variant is not None and variant.lower() not in map(str.lower, known):
        raise no_variant(base, variant, known)


def _require_one_task(plan: Plan) -> None:
    """Refuse `auto` with several tasks: it measures a single environment."""
    if plan.config.env.tasks:
        place = plan.resolved.automatic[0]
        limit = "cannot be measured for several tasks (env.tasks)."
        raise ConfigError(limit, where=place, hint="Give a number.")


def with_seed(plan: Plan, seed: int) -> Plan:
    """The same plan for another seed."""
    config = plan.config.model_copy(update={"seed": seed})
    sources = plan.resolved.provenance | {"seed": "--seed"}
    return replace(plan, resolved=replace(plan.resolved, config=config, provenance=sources))


def fix_recordings(plan: Plan, runs_dir: Path | str | None) -> Plan:
    """The same plan with the paths of the runs and files to imitate: a resume must find the same ones."""
    imitate = plan.config.imitate
    if imitate is None:
        return plan
    episodes = tuple(
        str(plan.home / name) if name.endswith(".npz") else fix_ref(name, runs_dir)
        for name in imitate.episodes
    )
    update = {"imitate": imitate.model_copy(update={"episodes": episodes})}
    return replace(plan, resolved=replace(plan.resolved, config=plan.config.model_copy(update=update)))


def _measured(plan: Plan, tell: Tell | None) -> Plan:
    """The plan with numbers that were measured where it said `auto`, each with its source and reason."""
    if "algo.num_steps" in plan.resolved.automatic:
        plan = _long_enough(plan, tell)
    if not plan.resolved.automatic:
        return plan
    from gymsolve.training.planning.tuning_costs import tune
    from gymsolve.training.watchdog import Watchdog

    automatic = plan.resolved.automatic
    envs, compute = "env.num_envs" in automatic, "threads" in automatic
    vary = {"envs": envs, "compute": compute, "wide": False}
    with Watchdog(plan.config.env):
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


def _long_enough(plan: Plan, tell: Tell | None) -> Plan:
    """The plan with rollouts that see rewards."""
    from gymsolve.envs.make import make_envs
    from gymsolve.envs.random_policy import PAY_COPIES, measure_pay
    from gymsolve.training.planning.rollout_length import choose_num_steps
    from gymsolve.training.watchdog import Watchdog

    path = "algo.num_steps"
    calm = plan.config.env.model_copy(update={"backend": "sync"})
    with Watchdog(plan.config.env):
        envs = make_envs(calm, "train", num_envs=PAY_COPIES)
        try:
            chosen = choose_num_steps(plan.config, measure_pay(envs, tell))
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


def _derived(name: str, given: Mapping[str, Any], tell: Tell | None) -> Plan:
    """Derive from the environment as the user wants it: wrappers, arguments and budget included."""
    base, variant = split_name(name)
    if variant is not None and variant.lower() not in (*ALGORITHMS, DERIVED):
        raise no_variant(base, variant, [*ALGORITHMS, DERIVED])
    # A recipe knows the id by names that Gymnasium does not: in lower case, or after its file.
    base = next((recipe.env_id for recipe in list_variants(base)), base)
    name = base if variant is None else f"{base}:{variant.lower()}"
    # Wrong settings are refused before anything runs; no rollout that is derived below is larger than this.
    large = {"env": {"num_envs": 16}, "algo": {"name": "ppo", "num_steps": 256}}
    bare = resolve(name, given, derived=large, own_code=True)
    from gymsolve.envs.derive import derive_recipe
    from gymsolve.training.watchdog import Watchdog

    chosen = {
        path for path, source in bare.provenance.items() if source not in ("default", "derived", "auto")
    }
    env = bare.config.env.model_dump(mode="json")
    of_env = {key: env[key] for key in env if any(f"{path}.".startswith(f"env.{key}.") for path in chosen)}
    budget = bare.config.steps if "steps" in chosen else None
    stretches = bare.config.algo.name == "ppo" and "algo.num_steps" not in chosen
    with Watchdog(bare.config.env):
        derived, reasons = derive_recipe(base, of_env, budget, tell, stretches=stretches)
    return Plan(resolve(name, given, derived=derived, own_code=True), reasons)
