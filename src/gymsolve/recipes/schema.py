"""The structure of `TrainConfig` for merging, formatting and error messages, read off the pydantic models."""

import ast
import inspect
import itertools
import types
from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel

from gymsolve.settings.algorithm_choice import ALGORITHM_MODELS as ALGORITHM_MODELS
from gymsolve.settings.algorithm_choice import algorithm_model
from gymsolve.settings.any_algorithm import AlgorithmSettings
from gymsolve.settings.config import TrainConfig
from gymsolve.settings.curriculum import StageConfig
from gymsolve.settings.environment import TaskConfig, name_tasks
from gymsolve.settings.exploration import GO_EXPLORE
from gymsolve.settings.own_parts import name_with_options
from gymsolve.settings.schedules import Schedule

Path = tuple[str, ...]

MEASURED = ("env.num_envs", "algo.num_steps", "threads")
"""Settings that may be `auto`: measured when a run starts, and until then worth their default."""


def without_autos(data: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The settings with defaults in the place of `auto`, and the paths that were `auto`."""
    plain = {key: dict(value) if isinstance(value, Mapping) else value for key, value in data.items()}
    autos = []
    for path in MEASURED:
        *parents, last = path.split(".")
        node: Any = plain.get(parents[0]) if parents else plain
        if isinstance(node, dict) and node.get(last) == "auto":
            del node[last]
            autos.append(path)
    return plain, tuple(autos)


TASKS: Path = ("env", "tasks")
"""The mapping whose keys are names that users give."""
_STAGES: Path = ("curriculum", "stages")
_ENCODER_OPTIONS: Path = ("net", "encoder", "options")
SHORTHAND = {("explore",): "bonus", ("net", "memory"): "cell", ("net", "encoder"): "name"}
"""Sections that may be given as one word, and the key that the word then stands for."""


def spelled_out(path: Path, value: Any) -> Any:
    """`explore: rnd` and `imitate: RUN` as the mappings that they are short for; lists of tasks by name."""
    if path == TASKS:
        return name_tasks(value)
    if path == ("curriculum",) and isinstance(value, list | tuple):
        return {"stages": value}
    if path == ("explore",) and value == GO_EXPLORE:
        return {"archive": {}}
    if path == ("imitate",) and isinstance(value, str | list | tuple):
        return {"episodes": value}
    if path == ("net", "encoder") and isinstance(value, Mapping) and (named := name_with_options(value)):
        return named
    return {SHORTHAND[path]: value} if path in SHORTHAND and isinstance(value, str) else value


def model_at(path: Path, algorithm: str | None) -> type[BaseModel] | None:
    """The model that holds the value at `path` (`Schedule` for a schedule), None for plain values."""
    model: type[BaseModel] | None = TrainConfig
    if path[:2] == TASKS and len(path) > 2:
        model, path = TaskConfig, path[3:]
    elif path[:2] == _STAGES and len(path) > 2:
        model, path = StageConfig, path[3:]
    for key in path:
        field = model.model_fields.get(key) if model else None
        if field is None:
            return None
        model = _model_in(field.annotation, algorithm)
    return model


def is_section(path: Path, algorithm: str | None) -> bool:
    """A mapping at `path` is merged key by key; any other value, even a schedule, is replaced as a whole."""
    if path == TASKS or path[:2] == ("env", "kwargs") or path[:3] == _ENCODER_OPTIONS:
        return True
    if path[:2] == TASKS and path[3:4] == ("kwargs",):
        return True
    return model_at(path, algorithm) not in (None, Schedule)


def key_order(path: Path, algorithm: str | None) -> list[str]:
    """Keys of the mapping at `path` in canonical order; empty where any order is as good."""
    model = model_at(path, algorithm)
    if model is None:
        return []
    keys = list(model.model_fields)
    return ["name", *(key for key in keys if key != "name")] if "name" in keys else keys


def flatten(config: TrainConfig) -> dict[str, Any]:
    """Every setting by its dotted path, in the order of the models; schedules and lists stay whole."""
    return dict(_leaves(config.model_dump(mode="json"), (), config.algo.name))


def leaf_paths(algorithm: str | None) -> tuple[str, ...]:
    """The dotted path of every setting a run with this algorithm has."""
    return _leaf_paths(algorithm, algorithm_model(algorithm))


@cache
def _leaf_paths(algorithm: str | None, settings: type[BaseModel] | None) -> tuple[str, ...]:
    """They follow from the class of the algorithm's settings, which an import may change."""
    paths: list[str] = []

    def visit(path: Path) -> None:
        if path and not is_section(path, algorithm):
            paths.append(".".join(path))
            return
        if path in (("env", "kwargs"), _ENCODER_OPTIONS, TASKS):
            paths.append(".".join(path))
        for key in key_order(path, algorithm):
            visit((*path, key))

    visit(())
    return tuple(paths)


def describe_field(model: type[BaseModel], name: str) -> str:
    """The docstring of a field, its own or an inherited one; read from the source only when it is needed."""
    for owner in model.__mro__:
        if issubclass(owner, BaseModel) and owner is not BaseModel and name in _docstrings(owner):
            return _docstrings(owner)[name]
    return ""


@cache
def _docstrings(model: type[BaseModel]) -> dict[str, str]:
    (definition,) = ast.parse(inspect.getsource(model)).body
    assert isinstance(definition, ast.ClassDef)
    texts = {}
    for field, text in itertools.pairwise(definition.body):
        match field, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(words))):
                texts[name] = " ".join(words.split())
    return texts


def _leaves(data: Mapping[str, Any], path: Path, algorithm: str) -> list[tuple[str, Any]]:
    leaves: list[tuple[str, Any]] = []
    place = {key: index for index, key in enumerate(key_order(path, algorithm))}
    for key in sorted(data, key=lambda key: place.get(key, len(place))):
        value, here = data[key], (*path, key)
        if isinstance(value, Mapping) and value and is_section(here, algorithm):
            leaves += _leaves(value, here, algorithm)
        else:
            leaves.append((".".join(here), value))
    return leaves


def _model_in(annotation: Any, algorithm: str | None) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if get_origin(annotation) not in (Union, types.UnionType, Annotated):
        return None  # a tuple of models is a list to people, not a section
    models = [model for arg in get_args(annotation) if (model := _model_in(arg, algorithm))]
    if len(models) > 1 and issubclass(models[0], AlgorithmSettings):
        return algorithm_model(algorithm) or models[0]
    return models[0] if models else None
