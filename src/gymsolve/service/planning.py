"""What a training would be, before it starts: settings with their origin, doubts, an estimate of time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gymsolve.recipes import find_recipe, has_recipe, resolve
from gymsolve.recipes.schema import flatten
from gymsolve.runs import find_run, list_runs
from gymsolve.service.answers import Answer
from gymsolve.service.calls import call_command
from gymsolve.service.runs import RunsDir
from gymsolve.service.start import setting_words

__all__ = ["PlannedRun", "plan_training"]

_MOST_RUNS = 3


@dataclass(frozen=True)
class PlannedRun(Answer):
    """A run that nobody has started."""

    name: str
    description: str
    steps: int
    """The budget."""
    solved_at: float | None
    """Mean return that counts as solved; None where the environment's registration decides."""
    settings: dict[str, Any]
    """Those that somebody decided; all others have their defaults."""
    decided_by: dict[str, str]
    known: dict[str, str]
    """What is known of the environment: the threshold's source, scores of others."""
    doubts: list[str]
    """Settings that rarely work."""
    seconds: float | None
    """How long the budget takes, by what the estimate goes; None where nothing is known yet."""
    estimated_by: str
    measured: dict[str, Any] | None
    """What an examination of the environment found, if one was asked for or needed."""


def plan_training(
    env: str, overrides: Mapping[str, Any], *, measure: bool = False, runs_dir: RunsDir = None
) -> PlannedRun:
    """Plan `ENV[:VARIANT]`; an environment without a recipe is examined, others if `measure` asks for it."""
    from gymsolve.metrics.lint import lint

    known = has_recipe(env)
    checked = call_command(["check", env, *setting_words(overrides)]) if measure or not known else None
    if not known:
        assert checked is not None
        return _derived(checked)
    resolved, recipe = resolve(env, dict(overrides)), find_recipe(env)
    config = resolved.config
    decided = {path: source for path, source in resolved.provenance.items() if source != "default"}
    settings = flatten(config)
    seconds, basis = _estimate(config.env.id, config.steps, checked, runs_dir)
    return PlannedRun(
        name=resolved.name,
        description=config.description,
        steps=config.steps,
        solved_at=config.solved_at,
        settings={path: settings[path] for path in decided if path in settings and path != "description"},
        decided_by=decided,
        known=dict(recipe.known),
        doubts=[str(one) for one in lint(config)],
        seconds=seconds,
        estimated_by=basis,
        measured=None if checked is None else _measured(checked),
    )


def _derived(checked: dict[str, Any]) -> PlannedRun:
    seconds = checked["seconds_of_stepping"]
    return PlannedRun(
        name=checked["name"],
        description="settings derived from the environment's facts",
        steps=checked["steps"],
        solved_at=checked["solved_at"],
        settings={},
        decided_by={},
        known={},
        doubts=[],
        seconds=seconds,
        estimated_by="stepping alone; learning comes on top" if seconds else "",
        measured=_measured(checked) | {"derived": checked["derived"]},
    )


def _measured(checked: dict[str, Any]) -> dict[str, Any]:
    census = [
        {name: one[name] for name in ("policy", "episodes", "mean_return", "mean_length")}
        for one in checked["census"]
    ]
    names = ("steps_per_second", "problems", "cautions", "notes", "offers")
    action = checked["spec"]["action"]
    spaces = {name: [one["kind"], one["shape"]] for name, one in checked["spec"]["obs"].items()}
    return {"observation": spaces, "action": [action["kind"], action["shape"], action["nvec"]]} | {
        "blind_policies": census,
        **{name: checked[name] for name in names},
    }


def _estimate(
    env_id: str, steps: int, checked: dict[str, Any] | None, runs_dir: RunsDir
) -> tuple[float | None, str]:
    """Seconds for so many steps, by earlier runs of the environment or by what stepping takes."""
    earlier = [one for one in list_runs(runs_dir) if one.env_id == env_id and one.env_steps > 0]
    for summary in earlier[:_MOST_RUNS]:
        rows = find_run(summary.id, runs_dir).read_metrics().rows
        speeds = [row["time/fps"] for row in rows if row.get("time/fps")]
        if speeds:
            return steps / speeds[-1], f"the speed of run {summary.id}"
    if checked is not None and checked["seconds_of_stepping"]:
        return checked["seconds_of_stepping"], "stepping alone; learning comes on top"
    return None, ""
