"""`gymsolve recipes`: list them, look at one, check and format files."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gymsolve.cli.options import Json, Set, overrides
from gymsolve.cli.printing.output import print_json, print_table, say
from gymsolve.text import plural

if TYPE_CHECKING:
    from gymsolve.service.recipes import ShownRecipe

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
    found = service.list_recipes(words)
    for fault in found.faults:
        say(f"left out: {fault}", stream=sys.stderr)
    if json:
        print_json([one.to_json() for one in found.recipes])
    elif not found.recipes:
        say(f"No recipe fits '{words}'. `gymsolve train` also takes any Gymnasium id.")
    else:
        words_of = {True: "yes", False: "not yet", None: ""}
        rows = [(recipe.name, words_of[recipe.trained], recipe.description) for recipe in found.recipes]
        print_table(("recipe", "trained", "description"), rows)


def show(
    name: Annotated[str, typer.Argument(metavar="ENV[:VARIANT]", help="A recipe.")],
    explain: Annotated[
        bool, typer.Option("--explain", help="Show every setting and where its value comes from.")
    ] = False,
    set_: Set = None,
    json: Json = False,
) -> None:
    """Show the settings that a recipe decides; with --explain, all settings."""
    from gymsolve.cli.printing.plan import settings_rows
    from gymsolve.recipes import validate
    from gymsolve.service import recipes as service

    shown = _derived(name, overrides(set_)) or service.show_recipe(name, overrides(set_))
    if json:
        print_json(shown.to_json())
        return
    config = validate(shown.config)
    place = shown.path or "derived from the environment: no recipe has this variant"
    say(f"{shown.name}  {config.description}\n{place}\n")
    print_table(("setting", "value", "from"), settings_rows(config, shown.provenance, everything=explain))
    if shown.known:
        say("\nWhat is known of it")
        for name, told in shown.known.items():
            say(f"  {name}: {told}")


def _derived(name: str, changes: dict[str, Any]) -> "ShownRecipe | None":
    """What `gymsolve train` would derive where a recipe of one's own lacks this variant; else None."""
    from gymsolve.recipes.files import stays_derived

    if not stays_derived(name):
        return None
    from gymsolve.service.recipes import ShownRecipe
    from gymsolve.training.planning.plan import plan_run

    return ShownRecipe(**plan_run(name, changes).resolved.to_json(), path=None, known={})


def check(files: Files = None, json: Json = False) -> int:
    """Check recipe files; without FILES, all shipped and local ones."""
    from gymsolve.service import recipes as service

    found = service.check_recipes(files or ())
    wrong = found.problems
    if json:
        print_json(found.to_json())
    else:
        for line in [*wrong, *(f"note: {note}" for note in found.notes)]:
            say(line)
        say(f"{plural(found.files, 'file')}, {plural(len(wrong), 'problem') if wrong else 'no problems'}.")
    return 1 if wrong else 0


def format_files(
    files: Files = None,
    check_only: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 1 if a file would change.")
    ] = False,
    json: Json = False,
) -> int:
    """Put the keys of recipe files in canonical order; without FILES, of the local ones."""
    from gymsolve.service import recipes as service

    found = service.format_recipes(files or (), write=not check_only)
    if json:
        print_json(found.to_json())
    else:
        for path in found.changed:
            say(f"{'changed' if found.written else 'would be changed'}: {path}")
        if not found.changed:
            say("Nothing to change.")
    return 1 if found.changed and check_only else 0
