"""Everything wrong with one recipe file, each fault with its line and the domain it belongs to."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml.nodes import MappingNode

from gymsolve.errors import ConfigError, did_you_mean
from gymsolve.recipes.files import Layer, Recipe, load_recipes, read_family
from gymsolve.recipes.layers import merge_layers
from gymsolve.recipes.schema import ALGORITHM_MODELS
from gymsolve.recipes.search.check import check_space
from gymsolve.recipes.search.space import read_space
from gymsolve.recipes.style import compose
from gymsolve.recipes.validation import Problem, find_problems
from gymsolve.recipes.yaml_reading import parse_yaml, read_text
from gymsolve.registry import WRAPPERS
from gymsolve.settings.algorithm_choice import algorithm_model
from gymsolve.settings.config import TrainConfig

_DOMAINS = ("env", "algo", "net", "eval", "checkpoint", "video")


def check_recipe_file(path: Path) -> list[str]:
    """Faults as sentences, `file:line: [domain] path: what is wrong`; none when the file is fine."""
    text = read_text(path)
    try:
        data = parse_yaml(text, str(path))
        places = _Places(path, compose(text))
        if path.name.startswith("_"):
            return _unique(_family_faults(data, places))
        return _unique([*_recipe_faults(path, places), *_algos_faults(data, path, places)])
    except ConfigError as error:
        return [str(error)]


class _Places:
    """Finds the line of a setting in the file."""

    def __init__(self, path: Path, root: MappingNode) -> None:
        self._path = path
        self._root = root

    def tell(self, problem: Problem, *prefixes: tuple[str, ...], note: str = "") -> str:
        """The sentence for a problem; the place is the deepest key found under any of the prefixes."""
        keys = tuple(problem.path.split(".")) if problem.path else ()
        places = [self._deepest((*prefix, *_below(prefix, keys))) for prefix in prefixes]
        depth, line = max(places, default=(0, None), key=lambda pair: pair[0])
        place = f"{self._path}:{line}" if depth and line else str(self._path)
        domain = keys[0] if keys and keys[0] in _DOMAINS else "run"
        return f"{place}: [{domain}] {problem}{note}"

    def _deepest(self, keys: tuple[str, ...]) -> tuple[int, int | None]:
        node: Any = self._root
        line: int | None = None
        for depth, wanted in enumerate(keys):
            entries = node.value if isinstance(node, MappingNode) else []
            match = [(key, value) for key, value in entries if key.value == wanted]
            if not match:
                return depth, line
            line, node = match[0][0].start_mark.line + 1, match[0][1]
        return len(keys), line


def _below(prefix: tuple[str, ...], keys: tuple[str, ...]) -> tuple[str, ...]:
    # `algos.ppo` takes the place of `algo`.
    return keys[1:] if prefix[:1] == ("algos",) else keys


def _recipe_faults(path: Path, places: _Places) -> Iterator[str]:
    for recipe in load_recipes(path):
        if recipe.search is not None:
            yield from _search_faults(recipe, path)
        for problem, source, algorithm in _problems(recipe.layers):
            variant = ("variants", recipe.variant)
            if source == "recipe":
                yield places.tell(problem, (), ("algos", str(algorithm)))
            elif source.startswith("family"):
                yield places.tell(problem, note=f" (from {source})")
            else:
                yield places.tell(problem, variant, note=f" (variant {recipe.variant})")


def _search_faults(recipe: Recipe, path: Path) -> Iterator[str]:
    """The fault of a search space; it is looked for where the settings are right."""
    config = find_problems(merge_layers(recipe.layers, {})[0])
    if not isinstance(config, TrainConfig):
        return
    try:
        check_space(read_space(recipe.search, f"{path}: [search]"), config)
    except ConfigError as error:
        yield f"{error} (variant {recipe.variant})"


def _algos_faults(data: Mapping[str, Any], path: Path, places: _Places) -> Iterator[str]:
    """Blocks under `algos`, whether or not a variant uses them."""
    blocks = data.get("algos", {})
    if not isinstance(blocks, Mapping):
        yield places.tell(Problem("algos", "should be a mapping from algorithms to their settings."), ())
        return
    shared: list[Layer] = [("recipe", {"algos": blocks})]
    if data.get("family") is not None:
        shared.insert(0, (f"family {data['family']}", read_family(str(data["family"]), path)))
    for name in blocks:
        if algorithm_model(str(name)) is None:
            near = did_you_mean(str(name), ALGORITHM_MODELS)
            hint = near or f"Known: {', '.join(sorted(ALGORITHM_MODELS))}."
            yield places.tell(Problem(f"algos.{name}", "unknown algorithm.", hint), ())
            continue
        probe = ("probe", {"env": {"id": "probe"}, "algo": {"name": name}})
        for problem, source, _ in _problems([*shared, probe]):
            if source == "recipe" and problem.path.startswith("algo"):
                yield places.tell(problem, ("algos", name))


def _family_faults(data: Mapping[str, Any], places: _Places) -> Iterator[str]:
    for name in ALGORITHM_MODELS:
        probe = ("probe", {"env": {"id": "probe"}, "algo": {"name": name}})
        for problem, source, _ in _problems([("family", data), probe]):
            if source == "family":
                yield places.tell(problem, (), ("algos", name))
    yield from _algos_faults({"algos": data.get("algos", {})}, Path("family"), places)


def _problems(layers: Any) -> Iterator[tuple[Problem, str, str | None]]:
    merged, stack = merge_layers(layers, {})
    outcome = find_problems(merged)
    problems = _wrapper_problems(outcome) if isinstance(outcome, TrainConfig) else outcome
    for problem in problems:
        yield problem, stack.nearest_source(problem.path), stack.algorithm


def _wrapper_problems(config: TrainConfig) -> list[Problem]:
    """Names of unknown wrappers; code of the recipe's own (`module:Class`) is not imported."""
    return [
        Problem(
            f"env.wrappers.{index}",
            f"unknown wrapper {wrapper.name!r}.",
            did_you_mean(wrapper.name, WRAPPERS) or f"Known: {', '.join(sorted(WRAPPERS))}.",
        )
        for index, wrapper in enumerate(config.env.wrappers)
        if wrapper.name not in WRAPPERS and ":" not in wrapper.name
    ]


def _unique(faults: Iterator[str] | list[str]) -> list[str]:
    return list(dict.fromkeys(faults))
