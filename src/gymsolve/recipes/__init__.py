"""Recipes: settings known to work, found by name, merged, checked, formatted and explained.

Every tool uses this loader. Nothing here imports torch, gymnasium or NumPy. `gymsolve.settings.config` says
what is valid; this package says where values come from and what is wrong with them. Names are resolved when
they are first used: listing recipes does not import pydantic.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gymsolve.recipes.check import check_recipe_file
    from gymsolve.recipes.files import (
        Recipe,
        find_recipe,
        has_recipe,
        list_recipes,
        search_recipes,
        split_name,
    )
    from gymsolve.recipes.own_algorithm import import_algorithm
    from gymsolve.recipes.resolving import (
        Overrides,
        Resolved,
        apply_overrides,
        explain,
        parse_overrides,
        resolve,
    )
    from gymsolve.recipes.schema import flatten
    from gymsolve.recipes.style import format_recipe_file
    from gymsolve.recipes.validation import validate

__all__ = [
    "Overrides",
    "Recipe",
    "Resolved",
    "apply_overrides",
    "check_recipe_file",
    "explain",
    "find_recipe",
    "flatten",
    "format_recipe_file",
    "has_recipe",
    "import_algorithm",
    "list_recipes",
    "parse_overrides",
    "resolve",
    "search_recipes",
    "split_name",
    "validate",
]

_HOMES = {
    "check": ("check_recipe_file",),
    "files": ("Recipe", "find_recipe", "has_recipe", "list_recipes", "search_recipes", "split_name"),
    "resolving": ("Overrides", "Resolved", "apply_overrides", "explain", "parse_overrides", "resolve"),
    "schema": ("flatten",),
    "style": ("format_recipe_file",),
    "own_algorithm": ("import_algorithm",),
    "validation": ("validate",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'gymsolve.recipes' has no attribute {name!r}")
    return getattr(importlib.import_module(f"gymsolve.recipes.{_HOME_OF[name]}"), name)
