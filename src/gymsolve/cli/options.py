"""Options that several commands share, so that they mean the same everywhere."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from gymsolve.cli.printing.output import is_terminal
from gymsolve.errors import UsageError
from gymsolve.runs.refs import find_run, split_ref
from gymsolve.runs.trust import doubted_code
from gymsolve.settings.durations import parse_seconds

Json = Annotated[bool, Option("--json", help="Print one JSON value on standard output, nothing else.")]
Quiet = Annotated[bool, Option("--quiet", "-q", help="Print only the result.")]
RunsDir = Annotated[
    Path | None, Option("--runs-dir", metavar="DIR", help="Where runs are kept: $GYMSOLVE_RUNS, else ./runs.")
]
RunRef = Annotated[
    str, Argument(metavar="RUN", help="A run: its id or a unique part of it, a path, @last, @best:ENV.")
]
PolicyRef = Annotated[
    str,
    Argument(
        metavar="RUN[@CHECKPOINT]", help="A run, at its best checkpoint unless @last or @STEPS names another."
    ),
]
Stochastic = Annotated[bool, Option("--stochastic", help="Sample actions instead of taking the likeliest.")]
Limit = Annotated[int, Option("--limit", min=1, help="At most this many runs, the newest.")]
All = Annotated[bool, Option("--all", help="Also trials, which `gymsolve fix` and `sweep` made.")]
Set = Annotated[
    list[str] | None,
    Option("--set", metavar="PATH=VALUE", help="Change a setting, such as algo.gamma=0.98. Repeatable."),
]
Trust = Annotated[
    bool, Option("--trust", help="Import the code that a run from elsewhere names; remembered for that run.")
]


def seconds_of(text: str | None, least: float) -> float | None:
    """The seconds that `--max-seconds` means; None where it was not given."""
    if text is None:
        return None
    try:
        seconds = parse_seconds(text)
    except ValueError as error:
        raise UsageError(f"{error}.", where="--max-seconds") from error
    if seconds < least:
        raise UsageError(f"should be at least {least:g} seconds, not {text}.", where="--max-seconds")
    return seconds


def trusts(ref: str, runs_dir: Path | None, *, trust: bool, json: bool) -> bool:
    """True if the code that a run names may be imported; on a terminal, ask about a run from elsewhere."""
    if trust or json or not (is_terminal() and sys.stdin.isatty()):
        return trust
    run = find_run(split_ref(ref)[0], runs_dir)
    names = doubted_code(run)
    if not names:
        return False
    question = f"Run {run.id} was not made here and would import {', '.join(map(repr, names))}. Import it?"
    return typer.confirm(question, default=False, err=True)
