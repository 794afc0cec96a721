"""Recipe files: where they lie, how they are read, and how one is found by name.

One YAML file per environment. A recipe is found by the `env.id` in it, and by its stem, which usually is that
id with `/` and `:` written as `-`. Besides the sections of `TrainConfig` a file has

    description: ...
    known: {...}          # texts: the threshold's source, scores of others; `trained here` also by variant
    family: toy_text      # `_toy_text.yaml` in the same folder, else the bundled one
    algos: {ppo: {...}}   # settings for whichever variant uses that algorithm
    search: {...}         # ranges that `gymsolve sweep` tries (`recipes/search`); a variant may have others
    variants:             # the first one is the default
      ppo: {...}          # a variant called after an algorithm uses it

Later folders win: the bundled ones, then `./recipes`, then those in GYMSOLVE_RECIPES. A file adds its
variants to the ones of the same recipe in earlier folders and replaces those of the same name.

Reading needs neither pydantic nor, for the bundled files, a YAML parser: what they hold is also in
`zoo/index.json`, each entry with the checksum of the file it was made from (`index.py`).
"""

import difflib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.errors import ConfigError, UnknownEnvError, did_you_mean
from gymsolve.recipes.index import ZOO, indexed
from gymsolve.recipes.yaml_reading import parse_yaml, read_text
from gymsolve.registry import ALGORITHMS, FOREIGN_ALGORITHMS

_LONGEST_WORD = 60
"""Longer words of a query are cut: comparing takes time by the square of the length."""
DERIVED = "derived"
"""The variant that every environment has: settings derived from its facts, also where a recipe exists."""
TRAINED = "trained here"
"""The key of training results: one text, or a mapping with one for each variant that was trained."""
UNTRAINED = "not trained to its threshold by this project yet"
_OTHERS = "other variants"
_SEARCH = "search"
_NOT_SETTINGS = ("family", "known", "variants", _SEARCH)
"""Keys of a file that are no settings of a run."""

Layer = tuple[str, Mapping[str, Any]]
"""A label saying where the settings came from, and the settings."""


@dataclass(frozen=True)
class Recipe:
    """One variant of one recipe file, before merging."""

    name: str
    """`CartPole-v1:ppo`."""
    env_id: str
    variant: str
    description: str
    path: Path
    layers: tuple[Layer, ...]
    """Lowest first: `family …`, `recipe`, `variant`."""
    known: Mapping[str, str]
    """Texts about the environment by name: `threshold` (its source), scores of others."""
    search: Any = None
    """The search space as the file has it; None where it has none (`recipes/search/space.py` reads it)."""

    @property
    def trained(self) -> bool | None:
        """This variant was trained to its threshold; None where its file does not say."""
        return None if TRAINED not in self.known else not self.known[TRAINED].startswith("not ")

    @property
    def base(self) -> str:
        """The name without the variant."""
        return self.name.rpartition(":")[0]


def list_recipes() -> list[Recipe]:
    """Every recipe that can be read, sorted by name; variants in the order of their file."""
    return survey_recipes()[0]


def survey_recipes() -> tuple[list[Recipe], list[ConfigError]]:
    """Every recipe, and the faults of files that cannot be read."""
    faults: list[ConfigError] = []
    loaded: dict[str, dict[str, Recipe]] = {}
    for path in (path for folder in _folders() for path in _recipe_files(folder)):
        try:
            newer = {recipe.variant: recipe for recipe in load_recipes(path)}
        except ConfigError as error:
            faults.append(error)
            continue
        loaded[path.stem.lower()] = _overlaid(loaded.get(path.stem.lower(), {}), newer)
    return [recipe for stem in sorted(loaded) for recipe in loaded[stem].values()], faults


def search_recipes(query: str, recipes: list[Recipe] | None = None) -> list[Recipe]:
    """Recipes that contain every word of the query; without any, those with a similar name or word."""
    recipes = list_recipes() if recipes is None else recipes
    words = [word[:_LONGEST_WORD] for word in query.lower().split()]
    hits = [recipe for recipe in recipes if all(word in _searchable(recipe) for word in words)]
    if hits:
        return sorted(hits, key=lambda recipe: query.lower() not in recipe.name.lower())
    scored = [(min(_likeness(word, recipe) for word in words), recipe) for recipe in recipes]
    least = max(0.6, max((score for score, _ in scored), default=0.0) - 0.15)
    near = [(score, recipe) for score, recipe in scored if score >= least]
    return [recipe for _, recipe in sorted(near, key=lambda pair: -pair[0])]


def find_recipe(name: str) -> Recipe:
    """The recipe `CartPole-v1` (its default variant) or `CartPole-v1:ppo`, in upper or lower case."""
    base, variant = split_name(name)
    variants = {recipe.variant.lower(): recipe for recipe in list_variants(base)}
    if not variants:
        hint = did_you_mean(base, _known_names())
        listed = (
            "`gymsolve recipes` lists them; `gymsolve check` shows the settings that other environments get."
        )
        raise UnknownEnvError(f"there is no recipe for {base!r}.", hint=hint or listed)
    if variant is None:
        return next(iter(variants.values()))
    if variant.lower() in variants:
        return variants[variant.lower()]
    raise no_variant(base, variant, [recipe.variant for recipe in variants.values()])


def list_variants(base: str) -> list[Recipe]:
    """All variants of one environment, the default one first; none where there is no recipe."""
    variants: dict[str, Recipe] = {}
    for path in _files_of(base):
        variants = _overlaid(variants, {recipe.variant: recipe for recipe in load_recipes(path)})
    return list(variants.values())


def no_variant(base: str, variant: str, variants: Sequence[str]) -> UnknownEnvError:
    """The error about an unknown variant; an algorithm of other libraries is no misspelling."""
    listed = f"It has: {', '.join(variants)}."
    hint = " ".join(filter(None, [did_you_mean(variant, [*variants, DERIVED]), listed]))
    if variant.lower() in ALGORITHMS:
        hint = f"{listed} Try: gymsolve train {base} --set algo.name={variant.lower()}"
    if variant.lower() in FOREIGN_ALGORITHMS:
        others = f"{listed} Try: gymsolve train {base}:{variants[0]}"
        hint = f"{variant.upper()} is not among the algorithms here. {others}"
    return UnknownEnvError(f"{base} has no variant {variant!r}.", hint=hint)


def has_recipe(name: str) -> bool:
    """There is a recipe file for this environment, whatever its variants."""
    return bool(_files_of(split_name(name)[0]))


def is_bundled(name: str) -> bool:
    """A recipe file for this environment comes with gymsolve."""
    return any(path.parent == ZOO for path in _files_of(split_name(name)[0]))


def uses_recipe(name: str) -> bool:
    """The settings are those of a recipe file, and not derived from the environment's facts."""
    return has_recipe(name) and not stays_derived(name)


def stays_derived(name: str) -> bool:
    """This variant is derived even where there is a recipe: `derived` asks for that.

    So is an algorithm that a user's own recipe lacks. A variant that a file has is the file's.
    """
    base, variant = split_name(name)
    wanted = "" if variant is None else variant.lower()
    lacking = wanted in ALGORITHMS and has_recipe(base) and not is_bundled(base)
    if wanted != DERIVED and not lacking:
        return False
    return wanted not in {recipe.variant.lower() for recipe in list_variants(base)}


def split_name(name: str) -> tuple[str, str | None]:
    """`CartPole-v1:ppo` → id and variant. The colon of `module:Id-v0` is part of the id."""
    base, colon, last = name.rpartition(":")
    if colon and (re.search(r"-v\d+$", base) or last.lower() in (*ALGORITHMS, DERIVED)):
        return base, last
    if colon and not re.search(r"-v\d+$", last) and _files_of(base):
        return base, last
    return name, None


def load_recipes(path: Path) -> list[Recipe]:
    """All variants of one file."""
    data = _read(path)
    env_id, variants = _skeleton(data, path)
    texts = _known(data, path, variants)
    base = env_id if _stem(env_id) == path.stem else path.stem
    settings = {key: value for key, value in data.items() if key not in _NOT_SETTINGS}
    shared: list[Layer] = [("recipe", settings)]
    family = data.get("family")
    if family is not None:
        shared.insert(0, (f"family {family}", read_family(str(family), path)))
    recipes = []
    for variant, given in variants.items():
        own = {key: value for key, value in (given or {}).items() if key != _SEARCH}
        layers = (*shared, ("variant", _with_algorithm(str(variant), own)))
        search = (given or {}).get(_SEARCH, data.get(_SEARCH))
        description = layers[-1][1].get("description", data.get("description", ""))
        own_id = _env_id(layers[-1][1]) or env_id
        name, facts = f"{base}:{variant}", texts | _training_of(str(variant), data)
        recipes.append(Recipe(name, own_id, str(variant), str(description), path, layers, facts, search))
    return recipes


def _known(data: Mapping[str, Any], path: Path, variants: Iterable[Any]) -> dict[str, str]:
    """Texts about the environment, by name."""
    texts = data.get("known") or {}
    if not isinstance(texts, Mapping):
        raise ConfigError("should be a mapping of names to texts.", where=f"{path}: known")
    by_variant = texts.get(TRAINED)
    if isinstance(by_variant, Mapping):
        unknown = [name for name in by_variant if name not in variants]
        if unknown:
            hint = f"The variants are: {', '.join(map(str, variants))}."
            where = f"{path}: known.{TRAINED}"
            raise ConfigError(f"{unknown[0]!r} is no variant of this recipe.", where=where, hint=hint)
        texts = {name: text for name, text in texts.items() if name != TRAINED}
    every = [*texts.values(), *(by_variant.values() if isinstance(by_variant, Mapping) else ())]
    if any(isinstance(text, Mapping | list) for text in every):
        raise ConfigError("should be a mapping of names to texts.", where=f"{path}: known")
    return {str(name): str(text) for name, text in texts.items()}


def _training_of(variant: str, data: Mapping[str, Any]) -> dict[str, str]:
    """Training results of one variant, and of the others, where a file has them by variant."""
    by_variant = (data.get("known") or {}).get(TRAINED)
    if not isinstance(by_variant, Mapping):
        return {}
    texts = {str(name): str(text) for name, text in by_variant.items()}
    others = "; ".join(f"`{name}` {text}" for name, text in texts.items() if name != variant)
    own = {TRAINED: texts.get(variant, UNTRAINED)}
    return own | {_OTHERS: others} if others else own


def read_family(name: str, beside: Path) -> dict[str, Any]:
    """Defaults shared by a family of environments, from the same folder or the bundled one."""
    for folder in (beside.parent, ZOO):
        path = folder / f"_{name}.yaml"
        if path.is_file():
            return {key: value for key, value in _read(path).items() if key != "description"}
    names = [path.stem[1:] for path in sorted(ZOO.glob("_*.yaml"))]
    hint = did_you_mean(name, names) or f"Known: {', '.join(names)}."
    raise ConfigError(f"no family {name!r} (it would be `_{name}.yaml`).", where=str(beside), hint=hint)


def _read(path: Path) -> dict[str, Any]:
    text = read_text(path)
    data = indexed(path, text)
    return parse_yaml(text, str(path)) if data is None else data


def _folders() -> list[Path]:
    listed = os.environ.get("GYMSOLVE_RECIPES", "")
    return [ZOO, Path("recipes"), *(Path(part) for part in listed.split(os.pathsep) if part)]


def _recipe_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.yaml") if not path.name.startswith(("_", ".")))


def _files_of(base: str) -> list[Path]:
    """Files of an environment: those with its id inside, then those named after it, since later ones win.

    A file with another name adds variants and hides none. Bundled files are named after their ids, so only a
    user's own files have to be opened.
    """
    wanted, named = base.lower(), _stem(base).lower()
    paths = [path for folder in _folders() for path in _recipe_files(folder)]
    exact = [path for path in paths if path.stem.lower() == named]
    others = [path for path in paths if path.parent != ZOO and path not in exact]
    return [path for path in others if (_own_id(path) or "").lower() == wanted] + exact


def _own_id(path: Path) -> str | None:
    """The id in a file; None where it cannot be read, which is an error only for users of the file."""
    try:
        return _env_id(_read(path))
    except ConfigError:
        return None


def _known_names() -> set[str]:
    """Names of recipes: ids, and stems of files that are named otherwise."""
    paths = [path for folder in _folders() for path in _recipe_files(folder)]
    ids = {path: path.stem if path.parent == ZOO else _own_id(path) for path in paths}
    purposes = {path.stem for path in paths if _stem(ids[path] or "") != path.stem and path.parent != ZOO}
    return purposes | {name for name in ids.values() if name}


def _overlaid(older: dict[str, Recipe], newer: dict[str, Recipe]) -> dict[str, Recipe]:
    """Variants of one recipe in two folders; those of the later file come first and replace earlier ones."""
    return newer | {key: recipe for key, recipe in older.items() if key not in newer}


def _skeleton(data: Mapping[str, Any], path: Path) -> tuple[str, Mapping[Any, Any]]:
    env_id, variants = _env_id(data), data.get("variants")
    if env_id is None:
        raise ConfigError("a recipe needs `env.id`.", where=str(path))
    if not isinstance(variants, Mapping) or not variants:
        raise ConfigError("a recipe needs `variants` with at least one entry.", where=str(path))
    for name, given in variants.items():
        if not isinstance(given, Mapping | None):
            raise ConfigError("should be a mapping.", where=f"{path}: variants.{name}")
    return env_id, variants


def _env_id(data: Mapping[str, Any]) -> str | None:
    env = data.get("env")
    env_id = env.get("id") if isinstance(env, Mapping) else None
    return env_id if isinstance(env_id, str) else None


def _with_algorithm(variant: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
    """A variant called `ppo` need not say `algo.name: ppo` again."""
    data = dict(given or {})
    block = data.get("algo", {})
    if variant in ALGORITHMS and isinstance(block, Mapping) and "name" not in block:
        data["algo"] = {"name": variant, **block}
    return data


def _stem(base: str) -> str:
    return re.sub(r"[/:]", "-", base)


def _searchable(recipe: Recipe) -> str:
    descriptions = [str(layer.get("description", "")) for _, layer in recipe.layers]
    labels = [label for label, _ in recipe.layers if label.startswith("family")]
    return " ".join([recipe.name, recipe.env_id, *descriptions, *labels]).lower()


def _likeness(word: str, recipe: Recipe) -> float:
    candidates = [recipe.base.lower(), *re.split(r"[^a-z0-9]+", _searchable(recipe))]
    return max(difflib.SequenceMatcher(None, word, other).ratio() for other in candidates)
