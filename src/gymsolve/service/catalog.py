"""Recipes, settings, metrics, alerts and episodes of people as lines of text that fit a query."""

from collections.abc import Iterable, Iterator
from typing import Any

from pydantic import BaseModel

from gymsolve.doctor.rules import RULES
from gymsolve.metrics.catalog import GROUPS
from gymsolve.recipes.schema import ALGORITHM_MODELS, describe_field, leaf_paths, model_at
from gymsolve.service.demos import list_all
from gymsolve.service.recipes import list_recipes
from gymsolve.text import number
from gymsolve.view.runs import RunsDir


def recipe_lines(query: str) -> list[str]:
    recipes = list_recipes(query or None)
    faults = [f"(cannot be read: {fault})" for fault in recipes.faults]
    return [*(f"{recipe.name}: {recipe.description}" for recipe in recipes.recipes), *faults]


def setting_lines(query: str) -> list[str]:
    """Paths that `--set` takes, of all algorithms, with their defaults and meanings."""
    lines = dict.fromkeys(line for algorithm in ALGORITHM_MODELS for line in _settings(algorithm))
    return _fitting(lines, query)


def _settings(algorithm: str) -> Iterator[str]:
    sections: set[tuple[str, ...]] = set()
    for path in leaf_paths(algorithm):
        *parents, name = path.split(".")
        model = model_at(tuple(parents), algorithm)
        for depth in range(1, len(parents) + 1):
            if (section := tuple(parents[:depth])) not in sections:
                sections.add(section)
                yield _section(section, algorithm)
        if model is None or name not in model.model_fields:
            continue
        field = model.model_fields[name]
        default = _default(field.get_default(call_default_factory=True))
        yield f"{path}{'' if field.is_required() else f' ({default})'}: {describe_field(model, name)}"


def _section(path: tuple[str, ...], algorithm: str) -> str:
    parent, model = model_at(path[:-1], algorithm), model_at(path, algorithm)
    about = describe_field(parent, path[-1]) if parent is not None else ""
    own = "" if model is None else " ".join((model.__doc__ or "").split())
    return f"{'.'.join(path)} (a section): {about} {own}"


def _default(value: Any) -> str:
    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return "null" if plain is None else str(plain)


def metric_lines(query: str) -> list[str]:
    lines = (f"{metric.name}: {metric.meaning}" for group in GROUPS for metric in group.metrics)
    return _fitting(lines, query)


def alert_lines(query: str) -> list[str]:
    return _fitting((f"{rule.id}: {rule.title}; {rule.cause}" for rule in RULES), query)


def demo_lines(query: str, runs_dir: RunsDir) -> list[str]:
    lines = (
        f"{demo['name']}: {demo['env_id']}, return {number(demo['return'])} in {demo['length']} steps"
        for demo in reversed(list_all(runs_dir=runs_dir))
    )
    return _fitting(lines, query)


def _fitting(lines: Iterable[str], query: str) -> list[str]:
    """Lines with every word in them, those whose name has one first."""
    words = query.lower().split()
    fitting = [line for line in lines if all(word in line.lower() for word in words)]
    return sorted(fitting, key=lambda line: not any(word in line.partition(":")[0].lower() for word in words))
