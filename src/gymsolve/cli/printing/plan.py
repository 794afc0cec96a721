"""The plan of a run, printed before it starts."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gymsolve.cli.printing.output import say
from gymsolve.recipes import flatten, validate
from gymsolve.recipes.files import has_recipe, is_bundled
from gymsolve.text import UNITS, count, plural, setting, took

if TYPE_CHECKING:
    from gymsolve.settings.config import TrainConfig
    from gymsolve.training.planning.plan import Plan

_MOST_WIDTH = 48
"""A longer setting does not widen the column."""
_NORMALISED = {
    "none": "",
    "running": ", observations normalised (running statistics)",
    "bounds": ", observations normalised (by their bounds)",
}


def print_plan(
    plan: "Plan", start_from: str | None, seeds: int | None = None, *, error_stream: bool = False
) -> None:
    """The settings in words, then those that differ from the defaults."""
    say("\n".join(plan_lines(plan, start_from, seeds)), stream=sys.stderr if error_stream else sys.stdout)


def plan_lines(plan: "Plan", start_from: str | None = None, seeds: int | None = None) -> list[str]:
    """The summary as text."""
    config, resolved = plan.config, plan.resolved
    lines = [resolved.name + (f"  {config.description}" if config.description else "")]
    if resolved.own_file is not None:
        instead = ", instead of the bundled one" if is_bundled(resolved.name) else ""
        lines.append(f"  {'recipe':<12} {resolved.own_file}{instead}")
    lines += [f"  {name:<12} {text}" for name, text in _summary(config, plan.threshold, seeds)]
    if start_from is not None:
        lines.append(f"  {'weights':<12} of {start_from}")
    if plan.reasons:
        why = "Its recipe is not used" if has_recipe(resolved.name) else "There is no recipe"
        lines.append(f"  {why}; these settings were derived from the environment:")
        lines += [f"    {reason}" for reason in plan.reasons]
    if plan.measured:
        lines.append("  Settings that were auto have been measured:")
        lines += [f"    {reason}" for reason in plan.measured]
    rows = settings_rows(config, resolved.provenance)
    if rows:
        lines.append("  Settings that differ from the defaults:")
        lines += _aligned([(f"{path}={value}", source) for path, value, source in rows])
    return lines


def _aligned(rows: list[tuple[str, str]]) -> list[str]:
    """Settings beside their sources; a long setting has its source on the next line."""
    width = max((len(change) for change, _ in rows if len(change) <= _MOST_WIDTH), default=0)
    lines = []
    for change, source in rows:
        if len(change) > _MOST_WIDTH:
            lines.append(f"    {change}")
            change = ""
        lines.append(f"    {change:<{width}}  {source}")
    return lines


def settings_rows(
    config: "TrainConfig", provenance: Mapping[str, str], *, everything: bool = False
) -> list[tuple[str, str, str]]:
    """Path, value and source of each setting; by default only of those that differ from the default."""
    bare = flatten(validate({"env": {"id": config.env.id}, "algo": {"name": config.algo.name}}))
    return [
        (path, setting(value), provenance[path])
        for path, value in flatten(config).items()
        if everything or (path != "description" and value != bare.get(path) and provenance[path] != "default")
    ]


def _summary(config: "TrainConfig", threshold: float | None, seeds: int | None) -> list[tuple[str, str]]:
    played = plural(config.eval.episodes, "episode")
    if config.eval.steps is not None:
        played = f"episodes of {count(config.eval.steps)} steps together"
    if config.env.tasks:
        played += " of each task"
    if threshold is None:
        goal = "no threshold is known, so nothing counts as solved"
    else:
        bar = f"{threshold:.0%} successes" if config.solved_by == "success_rate" else f"{threshold:g}"
        stages = config.curriculum.names
        bar += f" in {stages[-1]}" if stages else ""
        if config.env.tasks and not stages:
            bar = "each task's own threshold"
        goal = f"solved at {bar} over {config.eval.solved_episodes}"
    often = "every" if config.eval.every else "at most every"
    unit = UNITS[config.budget_in]
    return [
        ("environment", _environment(config)),
        ("algorithm", _algorithm(config)),
        ("network", _network(config)),
        *_extensions(config),
        ("budget", f"{count(config.steps)} {unit}"),
        *_time_limit(config, seeds),
        ("evaluation", f"{often} {count(config.eval_every)} {unit}, {played}; {goal}"),
        ("seed", str(config.seed)),
    ]


def _time_limit(config: "TrainConfig", seeds: int | None) -> list[tuple[str, str]]:
    if config.max_seconds is None:
        return []
    whose = "from the start of this command" if seeds is None else f"for each of the {seeds} seeds"
    after = "the last evaluation, the report and the videos"
    whole = f"{took(config.max_seconds)} {whose}; training ends in time for {after}"
    return [("time limit", whole)]


def _environment(config: "TrainConfig") -> str:
    from gymsolve.envs.make import debugger_attached

    env = config.env
    what = f"{plural(len(env.tasks), 'task')} ({', '.join(env.tasks)})" if env.tasks else env.id
    copies = f"{env.num_envs} in parallel"
    if debugger_attached():
        each = " of each" if env.tasks else ""
        copies = f"one copy{each} in this process because a debugger is attached"
    extras = [setting(wrapper) for wrapper in env.model_dump(mode="json")["wrappers"]]
    if env.kwargs:
        extras.insert(0, setting(env.kwargs))
    if env.frame_stack > 1:
        extras.append(f"{env.frame_stack} frames stacked")
    return "; ".join([f"{what}, {copies}", *extras])


def _algorithm(config: "TrainConfig") -> str:
    algo, dumped = config.algo, config.algo.model_dump(mode="json")
    batch = config.env.num_envs * algo.num_steps
    text = f"{algo.name.upper()}, rollouts of {config.env.num_envs} × {algo.num_steps} = {count(batch)} steps"
    if "num_epochs" in dumped:
        text += f", {setting(dumped['num_epochs'])} epochs, {algo.minibatches} minibatch"
        text += "es each" if algo.minibatches > 1 else " each"
    if "buffer_size" in dumped:
        steps, batch_size = dumped["gradient_steps"] * algo.num_steps, dumped["batch_size"]
        text += f", {steps:g} gradient steps on {batch_size} of the last "
        text += f"{count(dumped['buffer_size'])} steps each"
    if algo.values_actions:
        text += f", ε {setting(dumped['epsilon'])}"
    return f"{text}, learning rate {setting(dumped['learning_rate'])}"


def _extensions(config: "TrainConfig") -> list[tuple[str, str]]:
    """Exploration and curriculum, where the settings ask for them."""
    explore, stages = config.explore, config.curriculum
    parts, rows = [], []
    if explore.bonus != "none":
        coef = setting(explore.model_dump(mode="json")["coef"])
        parts.append(f"a bonus of weight {coef} for what is new ({explore.bonus})")
    if explore.archive is not None:
        parts.append("episodes begin at places of an archive (Go-Explore)")
    if explore.repeat:
        parts.append(f"{explore.repeat:.0%} of actions repeat the last one")
    if parts:
        rows.append(("exploring", "; ".join(parts)))
    if stages.names and stages.choice == "ladder":
        rows.append(("curriculum", " → ".join(stages.names)))
    elif stages.names:
        rows.append(("curriculum", f"{', '.join(stages.names)}, drawn by prioritised level replay"))
    return rows


def _network(config: "TrainConfig") -> str:
    net = config.net
    text = f"{setting(net.hidden)} {net.activation}"
    if net.cnn != type(net).model_fields["cnn"].default:
        text += f", cnn {net.cnn} for images"  # the default is not named: there may be no images
    if net.memory is not None:
        text = f"{net.memory.cell.upper()} of {net.memory.size}, then {text}"
    return text + _NORMALISED[net.normalize_obs]
