"""`gymsolve tune-speed`: measure where the time of a run would go, and which settings make it fastest."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from gymsolve.cli.options import Json, Set
from gymsolve.cli.printing.output import heading, print_json, print_lines, print_table, say
from gymsolve.recipes import parse_overrides
from gymsolve.text import count, setting
from gymsolve.training.planning.plan import plan_run

if TYPE_CHECKING:
    from gymsolve.training.planning.tuning import Choice, Prediction

_MOST_ROWS = 12


def tune_speed(
    env: Annotated[
        str, Argument(metavar="ENV[:VARIANT]", help="A recipe or any Gymnasium id, as for `train`.")
    ],
    set_: Set = None,
    seconds: Annotated[
        float,
        Option("--seconds", min=1, help="Rough time to measure, without the time to build environments."),
    ] = 10.0,
    write: Annotated[bool, Option("--write", help="Save the choice as a variant in ./recipes.")] = False,
    json: Json = False,
) -> None:
    """Measure stepping, acting and learning on this machine, and choose the fastest settings.

    Rollouts keep their number of steps, so that each update learns from as much as before.
    """
    plan = plan_run(env, parse_overrides(set_ or ()))
    from gymsolve.service.environments import answer_choice, write_choice
    from gymsolve.training.planning.tuning_costs import tune
    from gymsolve.training.watchdog import Watchdog

    with Watchdog(plan.config.env):
        choice = tune(plan.config, seconds, shortest=plan.least_steps)
    choice = replace(choice, reasons=(*plan.measured, *choice.reasons))
    written = write_choice(plan, choice) if write else None
    if json:
        print_json(answer_choice(plan.resolved.name, choice, written).to_json())
        return
    _print_choice(env, plan.resolved.name, choice)
    if write and written is None:
        say("  Nothing was written.")
    if written is not None:
        say(f"\nWritten to {written.path}; train with: gymsolve train {written.recipe}")


def _print_choice(asked: str, name: str, choice: "Choice") -> None:
    """Print the costs of each candidate, the fastest settings and the reasons."""
    say(f"{name}: {count(choice.current.steps_per_second)} steps/s expected as it is")
    heading("Where the time goes, in µs per environment step")
    parts = ("env", "acting", "update")
    rows = [("as it is", *_costs(choice.current))]
    if choice.changes:
        rows.append(("chosen", *_costs(choice.best)))
    print_table(("", *parts, "together"), rows, right=(*parts, "together"))
    heading("Candidates")
    headers = ("", "num_envs", "num_steps", "backend", "computing with", *parts, "steps/s")
    candidates = [_row(candidate, choice) for candidate in choice.candidates[:_MOST_ROWS]]
    print_table(headers, candidates, right=("num_envs", "num_steps", *parts, "steps/s"))
    if len(choice.candidates) > len(candidates):
        say(f"{len(choice.candidates) - len(candidates)} slower ones are not shown; --json has them.")
    print_lines("Why", choice.reasons)
    heading("Choice")
    if not choice.changes:
        say("  Nothing to change: the settings are as fast as any, within the noise of measuring.")
        return
    flags = " ".join(f"--set {path}={setting(value)}" for path, value in choice.changes.items())
    say(f"  {choice.gain:.2f} times as fast: gymsolve train {asked} {flags}")


def _row(candidate: "Prediction", choice: "Choice") -> tuple[str, ...]:
    mark = "→" if candidate == choice.best else "·" if candidate == choice.current else ""
    sizes = str(candidate.layout.num_envs), str(candidate.layout.num_steps)
    where = candidate.backend, str(candidate.compute)
    return (mark, *sizes, *where, *_costs(candidate)[:3], count(candidate.steps_per_second))


def _costs(candidate: "Prediction") -> tuple[str, ...]:
    parts = candidate.env_us, candidate.acting_us, candidate.update_us
    return tuple(f"{value:.1f}" for value in (*parts, sum(parts)))
