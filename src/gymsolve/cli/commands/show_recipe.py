"""`gymsolve recipes show`."""

from typing import Annotated, Any

from typer import Argument, Option

from gymsolve.cli.options import Json, Set
from gymsolve.cli.printing.output import print_json, print_table, say
from gymsolve.cli.printing.plan import settings_rows
from gymsolve.recipes import parse_overrides, validate
from gymsolve.recipes.files import stays_derived
from gymsolve.service.recipes import ShownRecipe, show_recipe
from gymsolve.training.planning.plan import plan_run


def show(
    name: Annotated[
        str, Argument(metavar="ENV[:VARIANT]", help="A recipe, or ENV:derived for settings without one.")
    ],
    explain: Annotated[
        bool, Option("--explain", help="Show every setting and where its value comes from.")
    ] = False,
    set_: Set = None,
    json: Json = False,
) -> None:
    """Show the settings that a recipe decides; with --explain, all settings."""
    changes = parse_overrides(set_ or ())
    recipe = _derive(name, changes) if stays_derived(name) else show_recipe(name, changes)
    if json:
        print_json(recipe.to_json())
        return
    config = validate(recipe.config)
    place = recipe.path or "derived from the environment: no recipe is used"
    say(f"{recipe.name}  {config.description}\n{place}\n")
    print_table(("setting", "value", "from"), settings_rows(config, recipe.provenance, everything=explain))
    if recipe.known:
        say("\nWhat is known of it")
        for topic, text in recipe.known.items():
            say(f"  {topic}: {text}")


def _derive(name: str, changes: dict[str, Any]) -> ShownRecipe:
    """The settings that `gymsolve train` derives for this variant."""
    return ShownRecipe(**plan_run(name, changes).resolved.to_json(), path=None, known={})
