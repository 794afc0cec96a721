"""`gymsolve runs rename`, `gymsolve runs tag` and `gymsolve runs delete`."""

import sys
from typing import Annotated

import typer
from typer import Argument, Option

from gymsolve.cli.options import Json, RunRef, RunsDir
from gymsolve.cli.printing.output import is_terminal, print_json, say
from gymsolve.errors import UsageError
from gymsolve.service import edit_runs
from gymsolve.service.edit_runs import DeletedRuns
from gymsolve.text import data_size, plural

_SHOWN = 10
Runs = Annotated[
    list[str],
    Argument(metavar="RUN|QUERY...", help="Runs; or filters, such as group:ID or status:crashed."),
]


def rename(
    run: RunRef,
    name: Annotated[str, Argument(metavar="NAME", help='The name beside the id; "" takes it away.')],
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Give a run a name by which it is found; its id stays."""
    answer = edit_runs.rename(run, name, runs_dir)
    if json:
        print_json(answer.to_json())
    else:
        say(f"{answer.run} is called '{answer.label}'." if answer.label else f"{answer.run} has no name.")


def tag(
    run: Annotated[
        str, Argument(metavar="RUN|QUERY", help="A run, or a filter such as group:ID or env:CartPole.")
    ],
    tags: Annotated[list[str] | None, Argument(metavar="[TAG]...", help="Tags to add.")] = None,
    remove: Annotated[
        list[str] | None, Option("--remove", metavar="TAG", help="A tag to remove. Repeatable.")
    ] = None,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Add tags to runs, or remove them; a search for tag:TAG finds them."""
    answers = edit_runs.tag([run], tags or (), remove or (), runs_dir)
    if json:
        print_json([answer.to_json() for answer in answers])
        return
    for answer in answers:
        say(f"{answer.run}: {', '.join(answer.tags) or 'no tags'}")


def delete(
    runs: Runs,
    yes: Annotated[bool, Option("--yes", "-y", help="Delete without a question.")] = False,
    dry_run: Annotated[bool, Option("--dry-run", help="Only say what would be deleted.")] = False,
    runs_dir: RunsDir = None,
    json: Json = False,
) -> None:
    """Delete runs for good; a run that trains is refused. Asks on a terminal; elsewhere it needs --yes."""
    asks = not (yes or dry_run)
    if asks and (json or not (is_terminal() and sys.stdin.isatty())):
        hint = "Look with --dry-run, then add --yes."
        raise UsageError("deleting cannot be undone, and nobody can be asked here.", hint=hint)
    answer = edit_runs.delete(runs, runs_dir, dry_run=True)
    if asks:
        _show(answer)
        if not typer.confirm("Delete them for good?", default=False, err=True):
            say("Nothing was deleted.")
            return
    if not dry_run:
        answer = edit_runs.delete(runs, runs_dir)
    if json:
        print_json(answer.to_json())
        return
    if dry_run:
        _show(answer)
    said = "Would delete" if dry_run else "Deleted"
    say(f"{said} {plural(len(answer.runs) + len(answer.trials), 'run')}, {data_size(answer.bytes)}.")


def _show(answer: DeletedRuns) -> None:
    for names, about in ((answer.runs, ""), (answer.trials, "  (trial of a remedy)")):
        for name in names[:_SHOWN]:
            say(f"{name}{about}")
        if len(names) > _SHOWN:
            say(f"and {len(names) - _SHOWN} more{about}")
    if answer.forks:
        say(f"Runs that began from these stay: {', '.join(answer.forks[:_SHOWN])}")
