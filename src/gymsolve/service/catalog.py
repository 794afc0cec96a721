"""What there is to choose from, one line each: recipes, settings, metrics, alerts, episodes of people."""

from collections.abc import Iterable, Iterator
from typing import Any

from gymsolve.text import number
from gymsolve.view.runs import RunsDir


def recipe_lines(query: str) -> list[str]:
    from gymsolve.service.recipes import list_recipes

    found = list_recipes(query or None)
    faults = [f"(cannot be read: {fault})" for fault in found.faults]
    return [*(f"{one.name}: {one.description}" for one in found.recipes), *faults]


def setting_lines(query: str) -> list[str]:
    """Paths that `--set` takes, of all algorithms, with their defaults and meanings."""
    from gymsolve.recipes.schema import ALGORITHM_MODELS

    lines = dict.fromkeys(line for algorithm in ALGORITHM_MODELS for line in _settings(algorithm))
    return _fitting(lines, query)


def _settings(algorithm: str) -> Iterator[str]:
    from gymsolve.recipes.schema import describe_field, leaf_paths, model_at

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
        default = (
            "" if field.is_required() else f" ({_default(field.get_default(call_default_factory=True))})"
        )
        yield f"{path}{default}: {describe_field(model, name)}"


def _section(path: tuple[str, ...], algorithm: str) -> str:
    from gymsolve.recipes.schema import describe_field, model_at

    parent, model = model_at(path[:-1], algorithm), model_at(path, algorithm)
    about = describe_field(parent, path[-1]) if parent is not None else ""
    own = "" if model is None else " ".join((model.__doc__ or "").split())
    return f"{'.'.join(path)} (a section): {about} {own}"


def _default(value: Any) -> str:
    from pydantic import BaseModel

    plain = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    return "null" if plain is None else str(plain)


def metric_lines(query: str) -> list[str]:
    from gymsolve.metrics.catalog import GROUPS

    known = [metric for group in GROUPS for metric in group.metrics]
    return _fitting((f"{one.name}: {one.meaning}" for one in known), query)


def alert_lines(query: str) -> list[str]:
    from gymsolve.doctor.rules import RULES

    return _fitting((f"{one.id}: {one.title}; {one.cause}" for one in RULES), query)


def demo_lines(query: str, runs_dir: RunsDir) -> list[str]:
    from gymsolve.service.demos import list_all

    told = (
        f"{one['name']}: {one['env_id']}, return {number(one['return'])} in {one['length']} steps"
        for one in reversed(list_all(runs_dir=runs_dir))
    )
    return _fitting(told, query)


def _fitting(lines: Iterable[str], query: str) -> list[str]:
    """Lines with every word in them, those whose name has one first."""
    words = query.lower().split()
    found = [line for line in lines if all(word in line.lower() for word in words)]
    return sorted(found, key=lambda line: not any(word in line.partition(":")[0].lower() for word in words))
