"""Listing, checking and formatting recipes."""

import os
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from gymsolve.errors import ConfigError
from gymsolve.recipes.files import Recipe, load_recipes, search_recipes, survey_recipes

__all__ = ["check_recipes", "format_recipes", "lint_recipes", "list_recipes"]


def list_recipes(query: str | None = None) -> tuple[list[dict[str, Any]], list[str]]:
    """Recipes that fit the words of a query, or all of them; and which files could not be read, and why."""
    recipes, faults = survey_recipes()
    found = search_recipes(query, recipes) if query else recipes
    return [_recipe_json(recipe) for recipe in found], [str(fault) for fault in faults]


def check_recipes(files: Sequence[Path] = ()) -> dict[str, list[str]]:
    """Faults by file, as sentences; without files, of every recipe and family that can be found."""
    return {str(path): _faults(path) for path in files or _all_files(shipped=True)}


def lint_recipes(files: Sequence[Path] = ()) -> list[str]:
    """What is doubtful, though allowed, in the settings of recipes that have no faults."""
    # Listing recipes need not wait for the rules and the models.
    from gymsolve.metrics.lint import lint
    from gymsolve.recipes.layers import merge_layers
    from gymsolve.recipes.validation import validate

    notes = []
    for path in files or _all_files(shipped=True):
        for recipe in [] if path.name.startswith("_") else load_recipes(path):
            config = validate(merge_layers(recipe.layers, {})[0], str(path))
            notes += [f"{path}: {finding} (variant {recipe.variant})" for finding in lint(config)]
    return notes


def format_recipes(files: Sequence[Path] = (), *, write: bool = True) -> dict[str, bool]:
    """Which files were (or without `write` would be) changed; without files, one's own recipes."""
    return {str(path): _formatted(path, write) for path in files or _all_files(shipped=False)}


def _recipe_json(recipe: Recipe) -> dict[str, Any]:
    return {
        "name": recipe.name,
        "env_id": recipe.env_id,
        "variant": recipe.variant,
        "description": recipe.description,
        "path": str(recipe.path),
    }


def _faults(path: Path) -> list[str]:
    from gymsolve.recipes import check_recipe_file  # with the models behind it; listing needs none of them

    faults = check_recipe_file(path)
    if faults or path.name.startswith("_"):
        return faults
    return list(dict.fromkeys(_wrapper_faults(path)))


def _wrapper_faults(path: Path) -> Iterator[str]:
    """Options that a wrapper does not take; only recipes with wrappers cost an import of gymnasium."""
    from gymsolve.recipes import validate
    from gymsolve.recipes.layers import merge_layers

    for recipe in load_recipes(path):
        settings, _ = merge_layers(recipe.layers, {})
        env = validate(settings, str(path)).env
        if not env.wrappers:
            continue
        from gymsolve.envs.options import check_wrappers

        try:
            check_wrappers(env)
        except ConfigError as error:
            yield f"{path}: [env] {error} (variant {recipe.variant})"


def _formatted(path: Path, write: bool) -> bool:
    from gymsolve.recipes import format_recipe_file

    try:
        return format_recipe_file(path, write=write)
    except OSError as error:
        raise ConfigError(f"cannot be read or written: {error.strerror}.", where=str(path)) from error


def _all_files(*, shipped: bool) -> list[Path]:
    own = [
        Path("recipes"),
        *map(Path, filter(None, os.environ.get("GYMSOLVE_RECIPES", "").split(os.pathsep))),
    ]
    zoo = [Path(str(resources.files("gymsolve") / "zoo"))] if shipped else []
    return [path for folder in [*zoo, *own] for path in sorted(folder.glob("*.yaml"))]
