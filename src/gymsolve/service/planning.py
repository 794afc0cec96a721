"""Plans a training without starting it: settings with their origin, doubts, an estimate of time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gymsolve.answers import Answer
from gymsolve.doctor.lint import lint
from gymsolve.jobs.calls import call_command
from gymsolve.jobs.request import require_env, setting_words
from gymsolve.recipes import find_recipe, has_recipe, resolve
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
    env: str, overrides: Mapping[str, Any], *, measure: bool = False, runs_dir: RunsDir = None
) -> PlannedRun:
    """Plan `ENV[:VARIANT]`; an environment without a recipe is examined, others if `measure` asks for it."""
    require_env(env)
    measure = measure or not has_recipe(env)
    checked = call_command(["check", env, *setting_words(overrides)]) if measure else None
    if checked is not None and not has_recipe(env):
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
        threshold=_threshold(config, checked, runs_dir),
        solved_by=config.solved_by,
        settings={path: settings[path] for path in decided if path in settings and path != "description"},
        decided_by=decided,
        known=dict(recipe.known),
        doubts=[str(doubt) for doubt in lint(config)],
        seconds=seconds,
        estimated_by=basis,
        measured=None if checked is None else _measured(checked),
    )


def _threshold(config: "TrainConfig", checked: dict[str, Any] | None, runs_dir: RunsDir) -> float | None:
    """The threshold of the settings, of the environment just examined, or of an earlier run."""
    if config.solved_at is not None or config.solved_by != "return":
        return config.solved_at
    if checked is not None:
        threshold: float | None = checked["spec"]["reward_threshold"]
        return threshold
    for run in _earlier(config.env.id, runs_dir):
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
        solved_by="return",
        settings={},
        decided_by={},
        known={},
        doubts=[],
        seconds=seconds,
        estimated_by="stepping alone; learning comes on top" if seconds else "",
        measured=_measured(checked) | {"derived": checked["derived"]},
    )


def _measured(checked: dict[str, Any]) -> dict[str, Any]:
    figures = ("policy", "episodes", "mean_return", "mean_length")
    spaces, action = checked["spec"]["obs"], checked["spec"]["action"]
    names = ("steps_per_second", "problems", "cautions", "notes", "offers")
    return {
        "observation": {name: [space["kind"], space["shape"]] for name, space in spaces.items()},
        "action": [action["kind"], action["shape"], action["nvec"]],
        "blind_policies": [{name: policy[name] for name in figures} for policy in checked["census"]],
        **{name: checked[name] for name in names},
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
