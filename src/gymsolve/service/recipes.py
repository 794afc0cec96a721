"""Listing, showing, checking and formatting recipes."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymsolve import recipes  # which imports the models of the settings when one of its names needs them
from gymsolve.answers import Answer
from gymsolve.errors import ConfigError
from gymsolve.recipes.files import load_recipes, search_recipes, survey_recipes

if TYPE_CHECKING:
    from gymsolve.settings.config import TrainConfig


@dataclass(frozen=True)
class ListedRecipe(Answer):
    """One of a list of recipes."""

    name: str
    env_id: str
    variant: str
    description: str
    path: str
    trained: bool | None
    """Was it trained to its threshold? Null where its file does not say."""


@dataclass(frozen=True)
class FoundRecipes(Answer):
    """Recipes that fit a query, and sentences on files that cannot be read."""

    recipes: list[ListedRecipe]
    faults: list[str]


@dataclass(frozen=True)
class ShownRecipe(Answer):
    """All settings of a recipe."""

    name: str
    config: dict[str, Any]
    provenance: dict[str, str]
    """The layer that decided each setting."""
    path: str | None
    """The file; null for settings that are derived from the environment."""
    known: dict[str, str]
    """Facts about the environment: the threshold's source, scores of others."""


@dataclass(frozen=True)
class CheckedRecipes(Answer):
    """Faults of recipe files."""

    files: int
    problems: list[str]
    notes: list[str]
    """Doubtful settings; looked for where there are no problems."""


@dataclass(frozen=True)
class FormattedRecipes(Answer):
    """Files that are not, or were not, in canonical order."""

    changed: list[str]
    written: bool
    """False if files were only checked."""


def list_recipes(query: str | None = None) -> FoundRecipes:
    """Recipes that fit the words of a query, or all of them."""
    readable, faults = survey_recipes()
    listed = [
        ListedRecipe(
            recipe.name, recipe.env_id, recipe.variant, recipe.description, str(recipe.path), recipe.trained
        )
        for recipe in (search_recipes(query, readable) if query else readable)
    ]
    return FoundRecipes(listed, [str(fault) for fault in faults])


def show_recipe(name: str, overrides: "recipes.Overrides" = ()) -> ShownRecipe:
    """The settings of `ENV[:VARIANT]`, and the layer that decided each."""
    resolved = recipes.resolve(name, overrides)
    recipe = recipes.find_recipe(name)
    return ShownRecipe(**resolved.to_json(), path=str(recipe.path), known=dict(recipe.known))


def check_recipes(files: Sequence[Path] = ()) -> CheckedRecipes:
    """Check files; without any, every recipe and family that can be found."""
    paths = files or _all_files(shipped=True)
    problems = [fault for path in paths for fault in _faults(path)]
    notes = [] if problems else [note for path in paths for note in _doubts(path)]
    return CheckedRecipes(len(paths), problems, notes)


def format_recipes(files: Sequence[Path] = (), *, write: bool = True) -> FormattedRecipes:
    """Put the keys of files in canonical order; without files, those of the user's own recipes."""
    paths = files or _all_files(shipped=False)
    return FormattedRecipes([str(path) for path in paths if _formatted(path, write)], write)


def _faults(path: Path) -> list[str]:
    return recipes.check_recipe_file(path) or list(dict.fromkeys(_wrapper_faults(path)))


def _wrapper_faults(path: Path) -> Iterator[str]:
    """Options that a wrapper does not take."""
    for variant, config in _variants(path):
        if not config.env.wrappers:
            continue
        from gymsolve.envs.options import check_wrappers  # with gymnasium

        try:
            check_wrappers(config.env)
        except ConfigError as error:
            yield f"{path}: [env] {error} (variant {variant})"


def _doubts(path: Path) -> list[str]:
    from gymsolve.doctor.lint import lint  # with pydantic, which listing does without

    configs = _variants(path)
    return [f"{path}: {doubt} (variant {variant})" for variant, config in configs for doubt in lint(config)]


def _variants(path: Path) -> Iterator[tuple[str, "TrainConfig"]]:
    """The settings of each variant of a recipe; none where the file is a family's."""
    from gymsolve.recipes.layers import merge_layers  # with pydantic, which listing does without

    for recipe in [] if path.name.startswith("_") else load_recipes(path):
        yield recipe.variant, recipes.validate(merge_layers(recipe.layers, {})[0], str(path))


def _formatted(path: Path, write: bool) -> bool:
    try:
        return recipes.format_recipe_file(path, write=write)
    except OSError as error:
        raise ConfigError(f"cannot be read or written: {error.strerror}.", where=str(path)) from error


def _all_files(*, shipped: bool) -> list[Path]:
    own = [
        Path("recipes"),
        *map(Path, filter(None, os.environ.get("GYMSOLVE_RECIPES", "").split(os.pathsep))),
    ]
    zoo = [Path(str(resources.files("gymsolve") / "zoo"))] if shipped else []
    return [path for folder in [*zoo, *own] for path in sorted(folder.glob("*.yaml"))]
