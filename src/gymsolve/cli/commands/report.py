"""`gymsolve report`: write what happened in a run, as a page and as text."""

import sys
import webbrowser
from pathlib import Path
from typing import Annotated

from typer import Option

from gymsolve.cli.options import Json, RunRef, RunsDir
from gymsolve.cli.printing.output import print_json, print_pairs, say
from gymsolve.service.report import report_run


def report(
    run: RunRef,
    open_: Annotated[bool, Option("--open", help="Show the page in the browser.")] = False,
    scratch: Annotated[
        list[str] | None,
        Option(help="A run that learned a stage of this run's curriculum alone; may be given several times."),
    ] = None,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Write report.html and report.md into a run: verdict, curves, alerts, video, how to reproduce it."""
    written = report_run(run, runs_dir, scratch or ())
    if open_ and not webbrowser.open(Path(written.html).as_uri()):
        say(f"No browser was found on this machine; the page is {written.html}", stream=sys.stderr)
    if json:
        print_json(written.to_json())
        return
    say(written.verdict)
    print_pairs([("page", written.html), ("text", written.markdown)])
    for problem in written.problems:
        say(f"  {problem}")
