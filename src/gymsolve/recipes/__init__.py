"""Recipes: settings known to work, found by name, merged, checked, formatted and explained.

One loader for every tool. Nothing here imports torch, gymnasium or NumPy; what is valid is said by
`gymsolve.config`, this package says where values come from and what is wrong with them.
"""

from gymsolve.recipes.check import check_recipe_file
from gymsolve.recipes.files import Recipe, find_recipe, has_recipe, list_recipes, search_recipes, split_name
from gymsolve.recipes.resolve import Overrides, Resolved, apply_overrides, explain, parse_overrides, resolve
from gymsolve.recipes.schema import flatten
from gymsolve.recipes.style import format_recipe_file
from gymsolve.recipes.validate import validate

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
    "list_recipes",
    "parse_overrides",
    "resolve",
    "search_recipes",
    "split_name",
    "validate",
]
