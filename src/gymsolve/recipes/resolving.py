"""Resolves a name and overrides to the settings of a run, with the source of each value."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.errors import ConfigError
from gymsolve.recipes.files import DERIVED, Layer, find_recipe, no_variant, read_family, split_name
from gymsolve.recipes.index import ZOO
from gymsolve.recipes.layers import Flagged, merge_layers
from gymsolve.recipes.own_algorithm import import_algorithm
from gymsolve.recipes.schema import ALGORITHM_MODELS, MEASURED, flatten, without_autos
from gymsolve.recipes.validation import find_problems, raise_problems
from gymsolve.recipes.yaml_reading import parse_value
from gymsolve.settings.config import TrainConfig

Overrides = Mapping[str, Any] | Sequence[str]
"""`["algo.gamma=0.9"]`, or the same already parsed: `{"algo.gamma": 0.9}`."""


@dataclass(frozen=True)
class Resolved:
    """The settings of a run, and which layer decided each of them."""

    name: str
    """`CartPole-v1:ppo`."""
    config: TrainConfig
    provenance: dict[str, str]
    """Dotted path → `default`, `family …`, `recipe`, `variant`, `derived`, `--set` or a flag."""
    automatic: tuple[str, ...] = ()
    """Paths that are `auto`: `config` has a number in their place that is still to be measured."""
    own_file: Path | None = None
    """The user's own file, where one decides and not a recipe that comes with gymsolve."""

    def to_json(self) -> dict[str, Any]:
        config = self.config.model_dump(mode="json")
        return {"name": self.name, "config": config, "provenance": dict(self.provenance)}


def resolve(
    name: str,
    overrides: Overrides = (),
    *,
    derived: Mapping[str, Any] | tuple[Mapping[str, Any], ...] | None = None,
    own_code: bool = False,
) -> Resolved:
    """The settings for `CartPole-v1` or `CartPole-v1:ppo`: default < family < recipe < variant < `--set`.

    `derived` stands in for the recipe of an environment that has none; it may name a `family`. With
    `own_code` an algorithm of the user's own is imported, and its class checks its settings; else nothing is.
    """
    if derived is None:
        recipe = find_recipe(name)
        full_name, layers = recipe.name, list(recipe.layers)
        own_file = None if recipe.path.parent == ZOO else recipe.path
    else:
        layers = _derived_layers(name, (derived,) if isinstance(derived, Mapping) else derived)
        full_name, own_file = "", None
    given = _parsed(overrides)
    asked = [path for path in MEASURED if given.get(path) == "auto"]
    # Below an `auto` of the user, the recipe's own value still says how large a rollout should be.
    config, provenance, automatic = _settle(layers, _without(given, asked), own_code=own_code)
    automatic = tuple(path for path in MEASURED if path in (*asked, *automatic))
    provenance |= dict.fromkeys(automatic, "auto")
    base, variant = split_name(full_name) if full_name else ("", None)
    if variant in ALGORITHM_MODELS and variant != config.algo.name:
        full_name = f"{base}:{_short(config.algo.name)}"  # another algorithm was asked for
    if not full_name:
        base, variant = split_name(name)
        full_name = f"{base}:{variant or _short(config.algo.name)}"
    return Resolved(full_name, config, provenance, automatic, own_file)


def apply_overrides(
    config: TrainConfig, overrides: Overrides
) -> tuple[TrainConfig, dict[str, tuple[Any, Any]]]:
    """Settings with overrides on top, and every path that changed with its old and new value."""
    new, _, automatic = _settle([("run", config.model_dump(mode="json"))], _parsed(overrides))
    if automatic:
        message = "is measured when a run starts; a run under way needs a number."
        raise ConfigError(message, where=automatic[0])
    before, after = flatten(config), flatten(new)
    paths = [*after, *(path for path in before if path not in after)]
    changed = {path: (before.get(path), after.get(path)) for path in paths}
    return new, {path: pair for path, pair in changed.items() if pair[0] != pair[1]}


def parse_overrides(items: Sequence[str]) -> dict[str, Any]:
    """`["a.b=v"]` → `{"a.b": v}`; values are YAML, so `[64, 64]`, `{x: 1}`, `true` and `null` work."""
    parsed: dict[str, Any] = {}
    for item in items:
        path, equals, text = item.partition("=")
        path = path.strip()
        if not equals or not all(part.strip() for part in path.split(".")):
            hint = "Write it as path=value, such as algo.gamma=0.98."
            raise ConfigError(f"cannot read {item!r}.", where="--set", hint=hint)
        parsed.pop(path, None)  # the last one wins, and comes last
        parsed[path] = _parse_value(text, item)
    return parsed


def explain(resolved: Resolved) -> list[tuple[str, Any, str]]:
    """Every setting as (path, value, where it came from), in the order of the models."""
    return [(path, value, resolved.provenance[path]) for path, value in flatten(resolved.config).items()]


def _short(algorithm: str) -> str:
    """The name of an algorithm without the module of one of the user's own."""
    return algorithm.rpartition(":")[2]


def _settle(
    layers: Sequence[Layer], overrides: Mapping[str, Any], *, own_code: bool = False
) -> tuple[TrainConfig, dict[str, str], tuple[str, ...]]:
    data, stack = merge_layers(layers, overrides)
    if own_code and ":" in (stack.algorithm or ""):
        import_algorithm(str(stack.algorithm))
        data, stack = merge_layers(layers, overrides)  # its class says which settings are schedules
    config = find_problems(data)
    if not isinstance(config, TrainConfig):
        raise_problems(config, stack.nearest_source)
    sources = {path: stack.source(path) for path in flatten(config)}
    for section in ("explore.archive", *(f"env.tasks.{name}" for name in config.env.tasks)):
        inside = [path for path in sources if path.startswith(f"{section}.")]
        if inside and all(sources[path] == "default" for path in inside):
            # The section was asked for without any of its settings: its first setting names the source.
            sources[inside[0]] = stack.source(section)
    return config, sources, without_autos(data)[1]


def _without(overrides: Mapping[str, Any], paths: Sequence[str]) -> Mapping[str, Any]:
    kept = {path: value for path, value in overrides.items() if path not in paths}
    return Flagged(kept, overrides.flags) if isinstance(overrides, Flagged) else kept


def _parsed(overrides: Overrides) -> Mapping[str, Any]:
    return overrides if isinstance(overrides, Mapping) else parse_overrides(overrides)


def _parse_value(text: str, item: str) -> Any:
    if text.strip() == "None":
        return None  # Python's word for YAML's null
    return parse_value(text, item)


def _derived_layers(name: str, given: tuple[Mapping[str, Any], ...]) -> list[Layer]:
    base, variant = split_name(name)
    layers: list[Layer] = [("derived", {"env": {"id": base}})]
    settings = [{key: value for key, value in facts.items() if key != "family"} for facts in given]
    layers += [("derived", facts) for facts in settings]
    variant = None if variant is None else variant.lower()
    if variant is not None and variant not in (DERIVED, *ALGORITHM_MODELS):
        raise no_variant(base, variant, sorted(ALGORITHM_MODELS, key=lambda name: name != "ppo"))
    if variant in ALGORITHM_MODELS:
        layers.append(("variant", {"algo": {"name": variant}}))
    families = [facts["family"] for facts in given if facts.get("family")]
    here = Path("recipes") / "derived"
    return [(f"family {family}", read_family(str(family), here)) for family in families] + layers
