"""`gymsolve runs`: list them, look at one, compare several."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gymsolve.cli.options import All, Json, Limit, RunRef, RunsDir
from gymsolve.cli.printing.output import heading, print_json, print_table, print_whole_table, say
from gymsolve.cli.printing.run_details import print_run
from gymsolve.text import age, count, number, plural, setting, took

if TYPE_CHECKING:
    from gymsolve.view.comparing import Comparison
    from gymsolve.view.runs import ListedRun


def list_them(
    query: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[QUERY]",
            help="Words of the id or name, or status:solved, env:CartPole, algo:ppo, variant:fast, group:ID.",
        ),
    ] = None,
    limit: Limit = 20,
    all_: All = False,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """List runs, newest first; `gymsolve runs` alone does it too."""
    from gymsolve.runs import runs_folder
    from gymsolve.view import runs as service

    words = " ".join(query or ())
    found = service.list_runs(words, limit + 1, runs_dir, trials=all_)
    shown = found[:limit]
    if json:
        print_json([run.to_json() for run in shown])
        return
    if not found:
        fitting = f" fits '{words}'" if words else " yet"
        say(f"No run in {runs_folder(runs_dir)}{fitting}. Start one with: gymsolve train CartPole-v1")
        _tell_trials(0 if all_ else service.count_trials(words, runs_dir))
        return
    headers = ("run", "environment", "variant", "status", "steps", "best", "age")
    print_whole_table(
        headers,
        [_row(run) for run in shown],
        right=("steps", "best", "age"),
        expendable=("environment", "variant", "age", "steps"),  # the first two are in the id
    )
    if len(found) > limit:
        say(f"Only the newest {'is' if limit == 1 else f'{limit} are'} shown; --limit shows more.")
    _tell_trials(0 if all_ else service.count_trials(words, runs_dir))


def _tell_trials(hidden: int) -> None:
    if hidden:
        are, them = ("is", "it") if hidden == 1 else ("are", "them")
        say(f"{plural(hidden, 'trial')} of gymsolve fix {are} not shown; --all shows {them}.")


def show(
    run: RunRef,
    metrics: Annotated[
        bool, typer.Option("--metrics", help="Show all newest metrics, not only those that matter most.")
    ] = False,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Show one run: settings, checkpoints, evaluations, newest metrics, events, damage."""
    from gymsolve.view import runs as service

    told = service.get_run(run, runs_dir)
    if json:
        print_json(told.to_json())
    else:
        print_run(told, everything=metrics)


class Axis(StrEnum):
    """What curves are drawn over."""

    ENV_STEPS = "env_steps"
    VEC_STEPS = "vec_steps"
    TIME = "time"


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN|QUERY...",
            help="Two runs or more; or words as of `gymsolve runs`, such as env:CartPole status:solved.",
        ),
    ],
    x: Annotated[
        Axis | None,
        typer.Option("--x", help="The horizontal axis of curves; what the runs are measured in by default."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Also write a page with charts.")
    ] = None,
    limit: Limit = 20,
    all_: All = False,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Compare runs: results, curves, and the settings in which they differ."""
    from gymsolve.view.comparing import compare_runs

    told = compare_runs(
        runs, runs_dir, axis=None if x is None else x.value, html=html, limit=limit, trials=all_
    )
    if json:
        print_json(told.to_json())
    else:
        _print_comparison(told)


def _print_comparison(told: "Comparison") -> None:
    letters = [run.letter for run in told.runs]
    for run in told.runs:
        say(f"{run.letter}  {run.id}")
    if told.remark:
        say(f"\n{told.remark}")
    rows = [
        ("status", *(run.status for run in told.runs)),
        ("steps", *(count(run.env_steps) for run in told.runs)),
        ("time", *(took(run.seconds) for run in told.runs)),
        *told.results,
    ]
    heading("Results")
    print_table(("", *letters), rows)
    if told.seeds:
        heading("Over seeds")
        say("\n".join(f"  {one.remark}" for one in told.seeds))
    for title, chart in told.charts.items():
        heading(title)
        say(chart)
    heading("Settings that differ")
    differing = [(path, *map(setting, values)) for path, values in told.differences.items()]
    if differing:
        print_table(("", *letters), differing)
    else:
        say("  none")
    if told.incidental:
        say(f"  Without effect on results, they also differ in {', '.join(told.incidental)}.")
    if told.problems:
        heading("Could not be read")
        say("\n".join(f"  {problem}" for problem in told.problems))
    if told.html:
        say(f"\npage  {told.html}")


def _row(run: "ListedRun") -> tuple[str, ...]:
    steps = count(run.env_steps)
    return (
        run.id,
        run.env_id,
        run.variant,
        run.status,
        steps,
        number(run.best_reward),
        age(run.created),
    )
