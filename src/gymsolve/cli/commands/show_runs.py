"""`gymsolve runs show` and `gymsolve runs compare`."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from gymsolve.cli.options import All, Json, Limit, RunRef, RunsDir
from gymsolve.cli.printing.output import heading, print_json, print_lines, print_table, say
from gymsolve.cli.printing.run_details import print_run
from gymsolve.text import count, setting, took
from gymsolve.view.comparing import Comparison, compare_runs
from gymsolve.view.report.comparison import Axis
from gymsolve.view.runs import get_run


def show(
    run: RunRef,
    metrics: Annotated[
        bool, Option("--metrics", help="Show all newest metrics, not only those that matter most.")
    ] = False,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Show one run: settings, checkpoints, evaluations, newest metrics, events, damage."""
    details = get_run(run, runs_dir)
    if json:
        print_json(details.to_json())
    else:
        print_run(details, everything=metrics)


def compare(
    runs: Annotated[
        list[str],
        Argument(
            metavar="RUN|QUERY...",
            help="Two runs or more; or words of a search, such as env:CartPole status:solved.",
        ),
    ],
    x: Annotated[
        Axis | None,
        Option("--x", help="The horizontal axis of curves; the unit of the runs' budget by default."),
    ] = None,
    html: Annotated[
        Path | None, Option("--html", metavar="FILE", help="Also write a page with charts.")
    ] = None,
    limit: Limit = 20,
    all_: All = False,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Compare runs: results, curves, and the settings in which they differ."""
    comparison = compare_runs(runs, runs_dir, axis=x, html=html, limit=limit, trials=all_)
    if json:
        print_json(comparison.to_json())
    else:
        _print_comparison(comparison)


def _print_comparison(comparison: Comparison) -> None:
    runs = comparison.runs
    headers = ("", *(run.letter for run in runs))
    for run in runs:
        say(f"{run.letter}  {run.id}")
    if comparison.remark:
        say(f"\n{comparison.remark}")
    heading("Results")
    rows = [
        ("status", *(run.status for run in runs)),
        ("steps", *(count(run.env_steps) for run in runs)),
        ("time", *(took(run.seconds) for run in runs)),
        *comparison.results,
    ]
    print_table(headers, rows)
    print_lines("Conclusions", comparison.conclusions)
    print_lines("Over seeds", [spread.remark for spread in comparison.seeds])
    for title, chart in comparison.charts.items():
        heading(title)
        say(chart)
    heading("Settings that differ")
    if comparison.differences:
        print_table(
            headers, [(path, *map(setting, values)) for path, values in comparison.differences.items()]
        )
    else:
        say("  none")
    if comparison.incidental:
        say(f"  Without effect on results, they also differ in {', '.join(comparison.incidental)}.")
    print_lines("Could not be read", comparison.problems)
    if comparison.html:
        say(f"\npage  {comparison.html}")
