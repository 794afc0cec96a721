"""What a run is going to do, told before it does it."""

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gymsolve.cli.printing.output import say
from gymsolve.text import UNITS, count, plural, setting

if TYPE_CHECKING:
    from gymsolve.settings.config import TrainConfig
    from gymsolve.training.planning.plan import Plan

_MOST_WIDTH = 48
"""A setting with more characters does not widen the column for all."""
_NORMALISED = {
    "none": "",
    "running": ", observations normalised (running statistics)",
    "bounds": ", observations normalised (by their bounds)",
}


def print_plan(plan: "Plan", start_from: str | None, *, error_stream: bool = False) -> None:
    """The settings in words, then those that differ from the defaults."""
    say("\n".join(plan_lines(plan, start_from)), stream=sys.stderr if error_stream else sys.stdout)


def plan_lines(plan: "Plan", start_from: str | None = None) -> list[str]:
    """The summary as text."""
    config, resolved = plan.config, plan.resolved
    lines = [resolved.name + (f"  {config.description}" if config.description else "")]
    lines += [f"  {name:<12} {told}" for name, told in _summary(config, plan.threshold)]
    if start_from is not None:
        lines.append(f"  {'weights':<12} of {start_from}")
    if plan.reasons:
        lines.append("  There is no recipe; these settings were derived from the environment:")
        lines += [f"    {reason}" for reason in plan.reasons]
    if plan.measured:
        lines.append("  Settings that were auto have been measured:")
        lines += [f"    {reason}" for reason in plan.measured]
    rows = settings_rows(config, resolved.provenance)
    if rows:
        lines.append("  Settings that differ from the defaults:")
        lines += _aligned([(f"{path}={told}", source) for path, told, source in rows])
    return lines


def _aligned(rows: list[tuple[str, str]]) -> list[str]:
    """Settings beside their sources; one that is long has its source on the next line and moves no other."""
    width = max((len(told) for told, _ in rows if len(told) <= _MOST_WIDTH), default=0)
    lines = []
    for told, source in rows:
        if len(told) > _MOST_WIDTH:
            lines.append(f"    {told}")
            told = ""
        lines.append(f"    {told:<{width}}  {source}")
    return lines


def settings_rows(
    config: "TrainConfig", provenance: Mapping[str, str], *, everything: bool = False
) -> list[tuple[str, str, str]]:
    """Path, value and source of each setting; by default only of those that differ from the default."""
    from gymsolve.recipes import flatten, validate

    bare = flatten(validate({"env": {"id": config.env.id}, "algo": {"name": config.algo.name}}))
    return [
        (path, setting(value), provenance[path])
        for path, value in flatten(config).items()
        if everything or (path != "description" and value != bare.get(path) and provenance[path] != "default")
    ]


def _summary(config: "TrainConfig", threshold: float | None) -> list[tuple[str, str]]:
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
        *_ways(config),
        ("budget", f"{count(config.steps)} {unit}"),
        ("evaluation", f"{often} {count(config.eval_every)} {unit}, {played}; {goal}"),
        ("seed", str(config.seed)),
    ]


def _environment(config: "TrainConfig") -> str:
    from gymsolve.envs.make import debugger_attached

    env = config.env
    what = f"{plural(len(env.tasks), 'task')} ({', '.join(env.tasks)})" if env.tasks else env.id
    told = f"{what}, {env.num_envs} in parallel"
    if debugger_attached():
        copies = "one copy of each" if env.tasks else "one copy"
        told = f"{what}, {copies} in this process because a debugger is attached"
    extras = [setting(wrapper) for wrapper in env.model_dump(mode="json")["wrappers"]]
    if env.kwargs:
        extras.insert(0, setting(env.kwargs))
    if env.frame_stack > 1:
        extras.append(f"{env.frame_stack} frames stacked")
    return "; ".join([told, *extras])


def _algorithm(config: "TrainConfig") -> str:
    algo, dumped = config.algo, config.algo.model_dump(mode="json")
    batch = config.env.num_envs * algo.num_steps
    told = f"{algo.name.upper()}, rollouts of {config.env.num_envs} × {algo.num_steps} = {count(batch)} steps"
    if "num_epochs" in dumped:
        told += f", {setting(dumped['num_epochs'])} epochs, {algo.minibatches} minibatch"
        told += "es each" if algo.minibatches > 1 else " each"
    if algo.name == "dqn":
        told += f", {algo.gradient_steps * algo.num_steps:g} gradient steps on {algo.batch_size} of the last "
        told += f"{count(algo.buffer_size)} steps each"
    if algo.values_actions:
        told += f", ε {setting(dumped['epsilon'])}"
    return f"{told}, learning rate {setting(dumped['learning_rate'])}"


def _ways(config: "TrainConfig") -> list[tuple[str, str]]:
    """How it explores and through which stages it goes, where the settings ask for either."""
    explore, stages, told = config.explore, config.curriculum, []
    if explore.bonus != "none":
        coef = setting(explore.model_dump(mode="json")["coef"])
        told.append(f"a bonus of weight {coef} for what is new ({explore.bonus})")
    if explore.archive is not None:
        told.append("episodes begin at places of an archive (Go-Explore)")
    if explore.repeat:
        told.append(f"{explore.repeat:.0%} of actions repeat the last one")
    found = [("exploring", "; ".join(told))] if told else []
    if stages.names:
        between = " → " if stages.choice == "ladder" else ", "
        how = "" if stages.choice == "ladder" else ", drawn by prioritised level replay"
        found.append(("curriculum", between.join(stages.names) + how))
    return found


def _network(config: "TrainConfig") -> str:
    net = config.net
    told = f"{setting(net.hidden)} {net.activation}"
    if net.cnn != type(net).model_fields["cnn"].default:
        told += f", cnn {net.cnn} for images"  # the usual one goes without saying: there may be no images
    if net.memory is not None:
        told = f"{net.memory.cell.upper()} of {net.memory.size}, then {told}"
    return told + _NORMALISED[net.normalize_obs]
