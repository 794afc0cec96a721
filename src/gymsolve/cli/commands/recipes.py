"""`gymsolve recipes`: list them, look at one, check and format files."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from gymsolve.cli.options import Json, Set, overrides
from gymsolve.cli.printing.output import print_json, print_table
from gymsolve.text import plural

__all__ = ["check", "format_files", "list_them", "show"]

Files = Annotated[list[Path] | None, typer.Argument(metavar="[FILES]")]


def list_them(
    query: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[QUERY]", help="Words of the name or description; near misses are found too."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """List recipes with their descriptions; `gymsolve recipes` alone does it too."""
    from gymsolve.service import recipes as service

    words = " ".join(query or ())
    found, faults = service.list_recipes(words)
    for fault in faults:
        print(f"left out: {fault}", file=sys.stderr)
    if json:
        print_json(found)
    elif not found:
        print(f"No recipe fits '{words}'. `gymsolve train` also takes any Gymnasium id.")
    else:
        print_table(("recipe", "description"), [(one["name"], one["description"]) for one in found])


def show(
    name: Annotated[str, typer.Argument(metavar="ENV[:VARIANT]", help="A recipe.")],
    explain: Annotated[
        bool, typer.Option("--explain", help="Every setting and where its value comes from.")
    ] = False,
    set_: Set = None,
    json: Json = False,
) -> None:
    """The settings of a recipe: those it decides, or with --explain all of them."""
    from gymsolve.cli.printing.plan import settings_rows
    from gymsolve.recipes import find_recipe, resolve

    resolved = resolve(name, overrides(set_))
    path = str(find_recipe(name).path)
    if json:
        print_json({**resolved.to_json(), "path": path})
        return
    print(f"{resolved.name}  {resolved.config.description}\n{path}\n")
    print_table(("setting", "value", "from"), settings_rows(resolved, everything=explain))


def check(files: Files = None, json: Json = False) -> int:
    """Say what is wrong with recipe files; without files, with all shipped and local ones."""
    from gymsolve.service import recipes as service

    faults = service.check_recipes(files or ())
    wrong = [fault for found in faults.values() for fault in found]
    notes = service.lint_recipes(files or ()) if not wrong else []
    if json:
        print_json({"files": len(faults), "problems": wrong, "notes": notes})
    else:
        for line in [*wrong, *(f"note: {note}" for note in notes)]:
            print(line)
        print(f"{plural(len(faults), 'file')}, {plural(len(wrong), 'problem') if wrong else 'no problems'}.")
    return 1 if wrong else 0


def format_files(
    files: Files = None,
    check_only: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit 1 if something would.")
    ] = False,
    json: Json = False,
) -> int:
    """Put the keys of recipe files in canonical order; without files, of the local ones."""
    from gymsolve.service import recipes as service

    changed = [
        path for path, change in service.format_recipes(files or (), write=not check_only).items() if change
    ]
    if json:
        print_json({"changed": changed, "written": not check_only})
    else:
        for path in changed:
            print(f"{'would be changed' if check_only else 'changed'}: {path}")
        if not changed:
            print("Nothing to change.")
    return 1 if changed and check_only else 0
