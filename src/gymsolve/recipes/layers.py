"""Merges layers of settings: family, recipe, variant, `--set`.

Mappings merge key by key; lists, scalars and schedules are replaced as a whole. Settings of an
algorithm must not leak into another one, so `algo` has a rule of its own:

- The algorithm *in force* is the one named by the highest layer that names any.
- An `algo` block belongs to the algorithm it names, else to the one named by the layers below it.
  It counts only when that algorithm is in force.
- A block without any name is shared by all algorithms; keys that only other algorithms have are
  left out.
- `algos: {ppo: {...}, a2c: {...}}` holds blocks by algorithm; each counts when its own is in force,
  and comes after the `algo` block of the same layer.
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from gymsolve.errors import ConfigError, did_you_mean
from gymsolve.recipes.files import Layer
from gymsolve.recipes.schema import ALGORITHM_MODELS, TASKS, Path, is_section, model_at, spelled_out
from gymsolve.settings.schedules import Schedule


class Flagged(dict[str, Any]):
    """Overrides of which some come from a flag such as `--seed`, which then counts as their source."""

    def __init__(self, overrides: Mapping[str, Any], flags: Mapping[str, str]) -> None:
        super().__init__(overrides)
        self.flags = flags


class Layers:
    """The part of each layer that counts for the algorithm in force, lowest first."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        self.algorithm = _algorithm_in_force(layers)
        self._parts: list[Layer] = []
        owner: str | None = None
        for label, layer in layers:
            owner = _named(layer.get("algo")) or owner
            others = [(key, value) for key, value in layer.items() if key not in ("algo", "algos")]
            plain = {key: spelled_out((key,), value) for key, value in others}
            blocks = [_block(layer["algo"], owner, self.algorithm)] if "algo" in layer else []
            by_name = layer.get("algos")
            if isinstance(by_name, Mapping) and self.algorithm in by_name:
                blocks.append(by_name[self.algorithm])
            self._parts.append((label, plain))
            self._parts += [(label, {"algo": block}) for block in blocks if block is not None]

    def merged(self) -> dict[str, Any]:
        """All layers as one mapping; the inputs are left alone."""
        data: dict[str, Any] = {}
        for _, part in self._parts:
            _merge(data, part, (), self.algorithm)
        return data

    def source(self, path: str) -> str:
        """The label of the layer that decided the value at a dotted path, or `default`."""
        keys = tuple(path.split("."))
        for label, part in reversed(self._parts):
            if _has(part, keys):
                return label
        return "default"

    def nearest_source(self, path: str) -> str:
        """Like `source`, for a path inside a value (`algo.learning_rate.shape`) or one that is missing."""
        keys = path.split(".")
        for size in range(len(keys), 0, -1):
            label = self.source(".".join(keys[:size]))
            if label != "default":
                return label
        return "default"


def merge_layers(layers: Sequence[Layer], overrides: Mapping[str, Any]) -> tuple[dict[str, Any], Layers]:
    """All layers with the overrides on top as one mapping, and the layers, which know each value's source."""
    flags = overrides.flags if isinstance(overrides, Flagged) else {}
    plain = {path: value for path, value in overrides.items() if path not in flags}
    flagged = [(flags[path], nest({path: overrides[path]})) for path in overrides if path in flags]
    stack = Layers([*layers, ("--set", nest(plain)), *flagged])
    data = Layers([*layers, ("--set", _name_only(stack.algorithm))]).merged()
    whole = {path: value for path, value in overrides.items() if path.count(".") < len(TASKS)}
    tasks = _tasks(data) | _tasks(nest(whole))
    for path, value in overrides.items():
        _require_task(tasks, path)
        assign(data, path, value, stack.algorithm)
    return data, stack


def _tasks(data: Mapping[str, Any]) -> dict[str, Any]:
    env = data.get("env")
    tasks = env.get("tasks") if isinstance(env, Mapping) else None
    return dict(tasks) if isinstance(tasks, Mapping) else {}


def _require_task(tasks: Mapping[str, Any], path: str) -> None:
    """Refuse a setting of a task that does not exist: a typing error would add a task."""
    keys = tuple(path.split("."))
    if keys[:2] == TASKS and len(keys) > 3 and tasks and keys[2] not in tasks:
        near = did_you_mean(keys[2], tasks) or f"The tasks are: {', '.join(map(str, tasks))}."
        raise ConfigError(
            f"there is no task {keys[2]!r}.",
            where=path,
            hint=f"{near} To add one: --set 'env.tasks={{{keys[2]}: {{…}}}}'.",
        )


def assign(data: dict[str, Any], path: str, value: Any, algorithm: str | None) -> None:
    """Set one dotted path. Stepping into a schedule (`algo.learning_rate.end`) keeps its other parts."""
    *parents, last = path.split(".")
    node, walked = data, Path()
    for key in parents:
        walked = (*walked, key)
        child = node.get(key)
        if model_at(walked, algorithm) is Schedule:
            child = _schedule_parts(child, walked, algorithm)
        if not isinstance(child, dict):
            child = {}
        node[key] = node = child
    _merge(node, {last: value}, walked, algorithm)


def nest(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Dotted paths → nested mappings."""
    data: dict[str, Any] = {}
    for path, value in overrides.items():
        assign(data, path, value, None)
    return data


def _algorithm_in_force(layers: Sequence[Layer]) -> str | None:
    names = (_named(layer.get("algo")) for _, layer in reversed(layers))
    return next((name for name in names if name), None)


def _named(block: Any) -> str | None:
    name = block.get("name") if isinstance(block, Mapping) else None
    return name if isinstance(name, str) else None


def _name_only(algorithm: str | None) -> dict[str, Any]:
    return {"algo": {"name": algorithm}} if algorithm else {}


def _block(block: Any, owner: str | None, algorithm: str | None) -> Any:
    if not isinstance(block, Mapping):
        return block  # not a mapping: kept, so that validation can say so
    if owner is not None:
        return block if owner == algorithm else None
    model = model_at(("algo",), algorithm)
    mine = model.model_fields if model else {}
    others = {key for model in ALGORITHM_MODELS.values() for key in model.model_fields}
    return {key: value for key, value in block.items() if key in mine or key not in others}


def _merge(base: dict[str, Any], over: Mapping[str, Any], path: Path, algorithm: str | None) -> None:
    for key, value in over.items():
        here = (*path, key)
        value = spelled_out(here, value)
        if isinstance(value, Mapping) and is_section(here, algorithm):
            child = base.get(key)
            base[key] = child if isinstance(child, dict) else {}
            _merge(base[key], value, here, algorithm)
        else:
            base[key] = copy.deepcopy(value)


def _has(data: Mapping[str, Any], keys: Path) -> bool:
    node: Any = data
    for key in keys:
        if not isinstance(node, Mapping) or key not in node:
            return False
        node = node[key]
    return True


def _schedule_parts(value: Any, path: Path, algorithm: str | None) -> dict[str, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    if value is None:
        owner = model_at(path[:-1], algorithm)
        value = owner.model_fields[path[-1]].default if owner else None
    if value is None:
        return {}
    try:
        parts = Schedule.model_validate(value).model_dump()
    except ValidationError:
        return {"start": value}  # wrong already; kept, so that validation can say so
    return parts if isinstance(parts, dict) else {"start": parts}
