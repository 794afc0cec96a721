"""Plans a training without starting it: settings with their origin, doubts, an estimate of time."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gymsolve.answers import Answer
from gymsolve.doctor.lint import lint
from gymsolve.errors import RunDamagedError, UsageError
from gymsolve.jobs.calls import call_command
from gymsolve.jobs.request import require_env, setting_words
from gymsolve.own_code import code_in
from gymsolve.recipes import find_recipe, resolve, split_name
from gymsolve.recipes.files import uses_recipe
from gymsolve.recipes.schema import flatten
from gymsolve.runs import Run, find_run, list_runs, needed_reward
from gymsolve.view.runs import RunsDir

if TYPE_CHECKING:
    from gymsolve.settings.config import TrainConfig

_MOST_RUNS = 3


@dataclass(frozen=True)
class PlannedRun(Answer):
    """A run before it is started."""

    name: str
    description: str
    steps: int
    """The budget."""
    threshold: float | None
    """Mean return, or share of successes, that counts as solved; None where nobody knows it yet."""
    solved_by: str
    """`return` or `success_rate`."""
    settings: dict[str, Any]
    """Settings that are not defaults."""
    decided_by: dict[str, str]
    known: dict[str, str]
    """Facts about the environment: the threshold's source, scores of others."""
    doubts: list[str]
    """Settings that rarely work."""
    seconds: float | None
    """Time for the budget by `estimated_by`; None where nothing is known yet."""
    estimated_by: str
    measured: dict[str, Any] | None
    """Results of an examination of the environment, if one was asked for or needed."""


def plan_training(
    env: str,
    overrides: Mapping[str, Any],
    *,
    measure: bool = False,
    runs_dir: RunsDir = None,
    own_code: bool = True,
) -> PlannedRun:
    """Plan `ENV[:VARIANT]`; an environment without a recipe is examined, others if `measure` asks for it.

    Examining imports the code that the name or the settings lead to; without `own_code` that is refused.
    """
    require_env(env)
    measure = measure or not uses_recipe(env)
    if measure and not own_code:
        _refuse_code(env, overrides)
    checked = call_command(["check", env, *setting_words(overrides)]) if measure else None
    if checked is not None and not uses_recipe(env):
        return _derived(checked)
    resolved, recipe = resolve(env, dict(overrides)), find_recipe(env)
    config = resolved.config
    decided = decisions(resolved.provenance)
    seconds, basis = _estimate(config.env.id, config.steps, checked, runs_dir)
    return PlannedRun(
        name=resolved.name,
        description=config.description,
        steps=config.steps,
        threshold=_threshold(config, checked, runs_dir),
        solved_by=config.solved_by,
        settings=decided_settings(config, decided),
        decided_by=decided,
        known=dict(recipe.known),
        doubts=[str(doubt) for doubt in lint(config)] if checked is None else checked["doubts"],
        seconds=seconds,
        estimated_by=basis,
        measured=None if checked is None else _measured(checked),
    )


def decisions(provenance: Mapping[str, str]) -> dict[str, str]:
    """The sources of the settings that are not defaults."""
    return {path: source for path, source in provenance.items() if source != "default"}


def decided_settings(config: "TrainConfig", decided: Mapping[str, str]) -> dict[str, Any]:
    """The values of the settings that somebody decided."""
    settings = flatten(config)
    return {path: settings[path] for path in decided if path in settings and path != "description"}


def _refuse_code(env: str, overrides: Mapping[str, Any]) -> None:
    base = split_name(env)[0]
    id_ = resolve(env, {}).config.env.model_dump(mode="json") if uses_recipe(env) else {"id": base}
    named = [*code_in(id_), *code_in({"kwargs": dict(overrides)})]
    if named:
        raise UsageError(
            f"this server only reads, and examining {env!r} would import {named[0]!r}.",
            hint="The person who started it can leave out --read-only.",
        )


def _threshold(config: "TrainConfig", checked: dict[str, Any] | None, runs_dir: RunsDir) -> float | None:
    """The threshold of the settings, of the environment just examined, or of an earlier run."""
    if config.solved_at is not None or config.solved_by != "return":
        return config.solved_at
    if checked is not None:
        threshold: float | None = checked["spec"]["reward_threshold"]
        return threshold
    for run in _earlier(config.env.id, runs_dir):
        with suppress(RunDamagedError):  # another run may know it
            stored = run.config_json()["config"]
            if (stored.get("solved_at"), stored.get("solved_by", "return")) == (None, "return"):
                return needed_reward(run)
    return None


def _earlier(env_id: str, runs_dir: RunsDir) -> list[Run]:
    """The newest runs of an environment that took a step."""
    runs = [run for run in list_runs(runs_dir) if run.env_id == env_id and run.env_steps > 0]
    return [find_run(run.id, runs_dir) for run in runs[:_MOST_RUNS] if run.status != "damaged"]


def _derived(checked: dict[str, Any]) -> PlannedRun:
    seconds = checked["seconds_of_stepping"]
    return PlannedRun(
        name=checked["name"],
        description="settings derived from the environment's facts",
        steps=checked["steps"],
        threshold=checked["solved_at"] or checked["spec"]["reward_threshold"],
        solved_by=checked["settings"].get("solved_by", "return"),
        settings=checked["settings"],
        decided_by=checked["decided_by"],
        known={},
        doubts=checked["doubts"],
        seconds=seconds,
        estimated_by="stepping alone; learning comes on top" if seconds else "",
        measured=_measured(checked) | {"derived": checked["derived"]},
    )


def _measured(checked: dict[str, Any]) -> dict[str, Any]:
    figures = ("policy", "episodes", "mean_return", "mean_length")
    spaces, action = checked["spec"]["obs"], checked["spec"]["action"]
    names = ("steps_per_second", "problems", "notes", "offers")
    return {
        "observation": {name: [space["kind"], space["shape"]] for name, space in spaces.items()},
        "action": [action["kind"], action["shape"], action["nvec"]],
        "blind_policies": [{name: policy[name] for name in figures} for policy in checked["census"]],
        **{name: checked[name] for name in names},
        "cautions": [caution for caution in checked["cautions"] if caution not in checked["doubts"]],
    }


def _estimate(
    env_id: str, steps: int, checked: dict[str, Any] | None, runs_dir: RunsDir
) -> tuple[float | None, str]:
    """Seconds for so many steps, by earlier runs of the environment or by the time of stepping."""
    for run in _earlier(env_id, runs_dir):
        speeds = [row["time/fps"] for row in run.read_metrics().rows if row.get("time/fps")]
        if speeds:
            return steps / speeds[-1], f"the speed of run {run.id}"
    if checked is not None and checked["seconds_of_stepping"]:
        return checked["seconds_of_stepping"], "stepping alone; learning comes on top"
    return None, ""
