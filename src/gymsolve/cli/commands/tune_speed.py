"""`gymsolve tune-speed`: measure where the time of a run would go, and which settings make it fastest."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from gymsolve.cli.options import Json, Set, overrides
from gymsolve.cli.printing.output import heading, print_json, print_table, say
from gymsolve.text import count, setting

if TYPE_CHECKING:
    from gymsolve.training.planning.tuning import Choice, Prediction

_SHOWN = 12


def tune_speed(
    env: Annotated[
        str, typer.Argument(metavar="ENV[:VARIANT]", help="A recipe or any Gymnasium id, as for `train`.")
    ],
    set_: Set = None,
    seconds: Annotated[
        float,
        typer.Option("--seconds", min=1, help="How long to measure, roughly, besides building environments."),
    ] = 10.0,
    write: Annotated[
        bool, typer.Option("--write", help="Save the choice as a variant in ./recipes.")
    ] = False,
    json: Json = False,
) -> None:
    """Measure stepping, acting and learning on this machine, and choose the fastest settings.

    Rollouts keep their number of steps, so that each update learns from as much as before.
    """
    from gymsolve.service.environments import answer_choice, write_choice
    from gymsolve.training.planning.plan import plan_run
    from gymsolve.training.planning.tuning_costs import tune
    from gymsolve.training.watchdog import Watchdog

    plan = plan_run(env, overrides(set_))
    with Watchdog(plan.config.env):
        choice = tune(plan.config, seconds, shortest=plan.least_steps)
    choice = replace(choice, reasons=(*plan.measured, *choice.reasons))
    written = write_choice(plan, choice) if write else None
    if json:
        print_json(answer_choice(plan.resolved.name, choice, written).to_json())
        return
    _print(env, plan.resolved.name, choice)
    if write and written is None:
        say("  Nothing was written.")
    if written is not None:
        say(f"\nWritten to {written.path}; train with: gymsolve train {written.recipe}")


def _print(asked: str, name: str, choice: "Choice") -> None:
    say(f"{name}: {count(choice.current.steps_per_second)} steps/s expected as it is")
    heading("Where the time goes, in µs per environment step")
    rows = [("as it is", *_split(choice.current))]
    if choice.changes:
        rows.append(("chosen", *_split(choice.best)))
    print_table(
        ("", "env", "acting", "update", "together"), rows, right=("env", "acting", "update", "together")
    )
    heading("Candidates")
    shown = choice.candidates[:_SHOWN]
    numbers = ("num_envs", "num_steps", "env", "acting", "update", "steps/s")
    print_table(
        ("", "num_envs", "num_steps", "backend", "computing with", "env", "acting", "update", "steps/s"),
        [_row(one, choice) for one in shown],
        right=numbers,
    )
    if len(choice.candidates) > len(shown):
        say(f"{len(choice.candidates) - len(shown)} slower ones are not shown; --json has them.")
    heading("Why")
    for reason in choice.reasons:
        say(f"  {reason}")
    heading("Choice")
    if not choice.changes:
        say("  Nothing to change: the settings are as fast as any, within the noise of measuring.")
        return
    flags = " ".join(f"--set {path}={setting(value)}" for path, value in choice.changes.items())
    say(f"  {choice.gain:.2f} times as fast: gymsolve train {asked} {flags}")


def _row(one: "Prediction", choice: "Choice") -> tuple[str, ...]:
    mark = "→" if one == choice.best else "·" if one == choice.current else ""
    split = _split(one)
    where = (str(one.layout.num_envs), str(one.layout.num_steps), one.backend, str(one.compute))
    return (mark, *where, *split[:3], count(one.steps_per_second))


def _split(one: "Prediction") -> tuple[str, str, str, str]:
    parts = (one.env_us, one.acting_us, one.update_us)
    told = [f"{value:.1f}" for value in (*parts, sum(parts))]
    return told[0], told[1], told[2], told[3]
