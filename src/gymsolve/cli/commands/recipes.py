"""`gymsolve recipes list`, `check` and `format`."""

import sys
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from gymsolve.cli.options import Json
from gymsolve.cli.printing.output import print_json, print_table, say
from gymsolve.service import recipes
from gymsolve.text import plural

Files = Annotated[list[Path] | None, Argument(metavar="[FILES]")]
_TRAINED = {True: "yes", False: "not yet", None: ""}


def list_recipes(
    query: Annotated[
        list[str] | None,
        Argument(metavar="[QUERY]", help="Words of the name or description; near misses are found too."),
    ] = None,
    json: Json = False,
) -> None:
    """List recipes with their descriptions; `gymsolve recipes` alone does it too."""
    words = " ".join(query or ())
    matches = recipes.list_recipes(words)
    for fault in matches.faults:
        say(f"left out: {fault}", stream=sys.stderr)
    if json:
        print_json([recipe.to_json() for recipe in matches.recipes])
    elif not matches.recipes:
        say(f"No recipe fits '{words}'. `gymsolve train` also takes any Gymnasium id.")
    else:
        rows = [(recipe.name, _TRAINED[recipe.trained], recipe.description) for recipe in matches.recipes]
        print_table(("recipe", "trained", "description"), rows)


def check(files: Files = None, json: Json = False) -> int:
    """Check recipe files; without FILES, all shipped and local ones."""
    checked = recipes.check_recipes(files or ())
    problems = checked.problems
    if json:
        print_json(checked.to_json())
    else:
        for line in [*problems, *(f"note: {note}" for note in checked.notes)]:
            say(line)
        count = plural(len(problems), "problem") if problems else "no problems"
        say(f"{plural(checked.files, 'file')}, {count}.")
    return 1 if problems else 0


def format_files(
    files: Files = None,
    check_only: Annotated[
        bool, Option("--check", help="Change nothing; exit with 1 if a file would change.")
    ] = False,
    json: Json = False,
) -> int:
    """Put the keys of recipe files in canonical order; without FILES, of the local ones."""
    formatted = recipes.format_recipes(files or (), write=not check_only)
    if json:
        print_json(formatted.to_json())
    else:
        for path in formatted.changed:
            say(f"{'changed' if formatted.written else 'would be changed'}: {path}")
        if not formatted.changed:
            say("Nothing to change.")
    return 1 if formatted.changed and check_only else 0
