"""`gymsolve log`: the logbook of a runs folder."""

import getpass
from typing import Annotated

from typer import Argument, Option

from gymsolve.cli.options import Json, RunsDir
from gymsolve.cli.printing.output import print_json, say
from gymsolve.cli.printing.run_details import print_entry
from gymsolve.service.logbook import add_entry, read_logbook


def list_entries(
    query: Annotated[
        list[str] | None,
        Argument(metavar="[QUERY]", help="Words of an entry, or verdict:refuted, run:PART-OF-ID."),
    ] = None,
    limit: Annotated[int, Option("--limit", min=1, help="At most this many entries, the newest.")] = 20,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """List entries, newest first; `gymsolve log` alone does it too."""
    logbook = read_logbook(" ".join(query or ()), limit, runs_dir)
    if json:
        print_json(logbook.to_json())
        return
    for entry in logbook.entries:
        print_entry(entry)
    if not logbook.entries:
        fitting = f" fits '{' '.join(query)}'" if query else " yet"
        say(f"No entry{fitting}. Write one with: gymsolve log add TEXT --run @last")
    elif logbook.total > len(logbook.entries):
        say(f"{logbook.total - len(logbook.entries)} older ones are not shown; --limit shows more.")
    for problem in logbook.problems:
        say(f"note: {problem}")


def add(
    note: Annotated[str, Argument(metavar="TEXT", help="What to remember.")] = "",
    hypothesis: Annotated[str, Option("--hypothesis", help="What was expected, and why.")] = "",
    change: Annotated[str, Option("--change", help="What was changed: algo.gamma=0.98.")] = "",
    result: Annotated[str, Option("--result", help="What came of it.")] = "",
    verdict: Annotated[str, Option("--verdict", help="confirmed, refuted or open.")] = "open",
    run: Annotated[
        list[str] | None, Option("--run", metavar="RUN", help="A run that it is about. Repeatable.")
    ] = None,
    by: Annotated[
        str | None, Option("--by", metavar="NAME", help="Who writes; your user name by default.")
    ] = None,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Append an entry: hypothesis, change, result, verdict, or a plain note."""
    entry = add_entry(
        by=by or _user(),
        note=note,
        hypothesis=hypothesis,
        change=change,
        result=result,
        verdict=verdict,
        runs=run or (),
        runs_dir=runs_dir,
    )
    if json:
        print_json(entry.to_json())
    else:
        print_entry(entry)


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # no name for this user, as in many containers
        return "somebody"
