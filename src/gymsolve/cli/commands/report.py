"""`gymsolve report`: write what happened in a run, as a page and as text."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from gymsolve.cli.options import Json, RunRef, RunsDir
from gymsolve.cli.printing.output import print_json, print_pairs, say


def report(
    run: RunRef,
    open_: Annotated[bool, typer.Option("--open", help="Show the page in the browser.")] = False,
    scratch: Annotated[
        list[str] | None,
        typer.Option(
            help="A run that learned a stage of this run's curriculum alone; may be given several times."
        ),
    ] = None,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Write report.html and report.md into a run: verdict, curves, alerts, video, how to reproduce it."""
    from gymsolve.service.report import report_run

    told = report_run(run, runs_dir, scratch or ())
    if open_:
        _show(Path(told.html))
    if json:
        print_json(told.to_json())
        return
    say(told.verdict)
    print_pairs([("page", told.html), ("text", told.markdown)])
    for problem in told.problems:
        say(f"  {problem}")


def _show(page: Path) -> None:
    import webbrowser

    if not webbrowser.open(page.as_uri()):
        say(f"No browser was found on this machine; the page is {page}", stream=sys.stderr)
