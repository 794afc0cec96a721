"""Plans a sweep: the recipe to begin with, the space, the objective, rungs and seeds. Writes nothing."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.errors import UsageError, did_you_mean
from gymsolve.jobs.local import jobs_at_once
from gymsolve.jobs.request import RunRequest, spell_settings
from gymsolve.jobs.sweeps.ladder import Level, make_levels
from gymsolve.jobs.sweeps.optuna_space import require_optuna
from gymsolve.jobs.sweeps.stored import OBJECTIVES, SAMPLERS, Objective, Sweep, new_id
from gymsolve.recipes import apply_overrides, flatten, parse_overrides
from gymsolve.recipes.files import find_recipe, uses_recipe
from gymsolve.recipes.search.check import check_space, setting_at
from gymsolve.recipes.search.derived import derive_space
from gymsolve.recipes.search.space import Space, read_options, read_space
from gymsolve.runs.summary import runs_folder
from gymsolve.settings.config import TrainConfig
from gymsolve.training.planning.plan import Plan, Tell, fix_recordings, plan_run

_FEWEST_TRIALS = 2
_TEST_FROM = 1000
"""Seeds of the test begin so far above those of the search."""
_EVALUATIONS = 100
"""Evaluations in the budget where the time to solve counts."""
_UPDATES = 3
"""Updates between two judgements of a short trial."""
_FEWEST_STEPS = 2
"""Updates of the shortest trial."""


@dataclass(frozen=True)
class SweepRequest:
    """A sweep that somebody asks for."""

    env: str
    overrides: tuple[str, ...] = ()
    search: tuple[str, ...] = ()
    """`path=range` or files; nothing takes the recipe's own space, or one that is derived."""
    trials: int = 30
    steps: int | str | None = None
    sampler: str = "tpe"
    objective: str | None = None
    """None is `steps` where a threshold is known that ends a run, and `return` elsewhere."""
    seeds: int = 3
    test_seeds: int = 5
    rungs: int | None = None
    """Parts of the budget after which configurations are compared; None goes by the evaluations."""
    at_once: int | None = None
    seed: int = 0


def plan_sweep(request: SweepRequest, runs_dir: Path | str | None = None, tell: Tell | None = None) -> Sweep:
    """The sweep that a request makes; every mistake in it is found here."""
    require_optuna()
    _require_numbers(request)
    first = RunRequest("train", request.env, request.overrides, steps=request.steps)
    given = parse_overrides(request.overrides)
    for path, value in (("seed", "--seed"), ("steps", "--steps")):
        if path in given:
            raise UsageError(f"a sweep takes this as {value}.", where=f"--set {path}")
    plan = fix_recordings(plan_run(request.env, first.settings(), tell), runs_dir)
    threshold = plan.config.solved_at if plan.config.solved_by == "success_rate" else plan.threshold
    objective = _objective(request.objective, plan.config, threshold)
    common = _common(plan, given, request, objective)
    config, _ = apply_overrides(plan.config, common)
    space = _space(plan, config, request)
    check_space(space, config)
    seeds = tuple(range(request.seed, request.seed + request.seeds))
    levels = make_levels(config.env_budget, _judged_every(config), request.rungs, seeds)
    _require_room(config, levels)
    return Sweep(
        id=new_id(plan.resolved.name),
        name=plan.resolved.name,
        env=request.env,
        overrides=spell_settings(common),
        own={path: setting_at(plan.config, path) for path in _of_trials(plan.config, objective)},
        config=config,
        space=space,
        objective=objective,
        threshold=threshold,
        sampler=_known(request.sampler, SAMPLERS, "--sampler"),
        trials=request.trials,
        levels=levels,
        test_seeds=tuple(range(request.seed + _TEST_FROM, request.seed + _TEST_FROM + request.test_seeds)),
        at_once=request.at_once or jobs_at_once(config.threads, 10_000),
        seed=request.seed,
        base=runs_folder(runs_dir).absolute(),
    )


def _require_numbers(request: SweepRequest) -> None:
    least = {"trials": _FEWEST_TRIALS, "seeds": 1, "test_seeds": 1, "rungs": 1, "at_once": 1}
    for name, fewest in least.items():
        value = getattr(request, name)
        if value is not None and value < fewest:
            option = f"--{name.replace('_', '-')}"
            raise UsageError(f"should be at least {fewest}, not {value}.", where=option)
    if not 0 <= request.seed < 2**31 or request.seeds > _TEST_FROM:
        raise UsageError(
            f"seeds of the search are up to {_TEST_FROM}, from one that is not negative.", where="--seed"
        )
    if request.rungs is not None and request.rungs > 6:
        raise UsageError("more than 6 rungs leave nothing to compare.", where="--rungs")


def _common(plan: Plan, given: dict[str, Any], request: SweepRequest, objective: Objective) -> dict[str, Any]:
    """The settings that all trials share: those that the user gives, and values measured or derived once."""
    sources, stored = plan.resolved.provenance, flatten(plan.config)
    pinned = ("auto:",) if uses_recipe(request.env) else ("auto:", "derived")
    common = {path: stored[path] for path in stored if sources[path].startswith(pinned)}
    common = {path: value for path, value in common.items() if path not in ("env.id", "description")} | given
    if plan.config.imitate is not None:
        common = {path: value for path, value in common.items() if path.partition(".")[0] != "imitate"}
        common["imitate"] = plan.config.imitate.model_dump(mode="json")
    return common | {"steps": plan.config.steps} | _of_trials(plan.config, objective)


def _of_trials(config: TrainConfig, objective: Objective) -> dict[str, Any]:
    """Settings that trials have and a winner does not keep.

    One core trains each, and nothing is drawn: videos come from `gymsolve record`. The steps to solve are as
    fine as evaluations are frequent, so these come more often where no cadence is set; their share of the
    time stays what it is.
    """
    own: dict[str, Any] = {"video.enabled": False, "video.every": 0, "threads": config.threads or 1}
    own["eval.asynchronous"] = False
    if config.eval.start_fraction is not None:
        own["eval.start_fraction"] = None  # rungs need evaluations
    if objective != "return" and not config.eval.every:
        finest = max(config.env.num_envs * config.algo.num_steps, config.env_budget // _EVALUATIONS)
        finest = -(-finest * config.steps // config.env_budget)
        own["eval.every"] = min(config.eval_every, finest)
        own["eval.share"] = config.eval.greatest_share
    return own


def _space(plan: Plan, config: TrainConfig, request: SweepRequest) -> Space:
    """The space that was asked for, else the recipe's, else one that is derived."""
    if request.search and request.search != ("derived",):
        return read_options(request.search)
    own = find_recipe(request.env) if uses_recipe(request.env) else None
    if own is not None and own.search is not None and not request.search:
        return read_space(own.search, f"{own.path}: search")
    return derive_space(config, plan.describe().max_episode_steps)


def _objective(wanted: str | None, config: TrainConfig, threshold: float | None) -> Objective:
    solvable = threshold is not None and config.eval.stop_when_solved
    if wanted is None:
        return "steps" if solvable else "return"
    objective = _known(wanted, OBJECTIVES, "--for")
    if objective != "return" and not solvable:
        why = "no threshold is known" if threshold is None else "eval.stop_when_solved is off"
        raise UsageError(f"{why}, so nothing is ever solved.", where="--for", hint="Use --for return.")
    return objective  # type: ignore[no-any-return]


def _judged_every(config: TrainConfig) -> int:
    """Steps between two judgements that say something: evaluations, with updates between them."""
    batch = config.env.num_envs * config.algo.num_steps
    return max(config.to_env_steps(max(config.eval_every, config.eval.warmup // 2)), batch * _UPDATES)


def _require_room(config: TrainConfig, levels: Sequence[Level]) -> None:
    """Refuse rungs or a budget that end before anything is learned."""
    batch, shortest = config.env.num_envs * config.algo.num_steps, levels[0].until or config.env_budget
    if shortest < _FEWEST_STEPS * batch:
        raise UsageError(
            f"the shortest trial has {shortest} steps, and a single rollout has {batch}.",
            where="--steps",
            hint="Raise --steps, or use --rungs 1.",
        )


def _known(word: str, words: Sequence[str], option: str) -> Any:
    if word in words:
        return word
    hint = did_you_mean(word, words) or f"One of {', '.join(words)}."
    raise UsageError(f"there is no {word!r}.", where=option, hint=hint)
