"""MiniGrid and BabyAI: `MiniGrid-…`, `BabyAI-…`."""

import importlib
from functools import partial
from typing import Any

from gymsolve.envs.arguments import FLAG, Argument, check_arguments, is_whole
from gymsolve.envs.families.family import AnyEnv, Clone, Extra, Family
from gymsolve.envs.plain_data import is_plain, pack, plain_attributes, unpack
from gymsolve.errors import EnvFaultError, MissingExtraError

_EXTRA = Extra("minigrid", "minigrid", "minigrid")
_ARGUMENTS = {
    "max_steps": Argument(lambda value: value is None or is_whole(value, 1), "a number of steps from 1"),
    "agent_view_size": Argument(
        lambda value: is_whole(value, 3) and value % 2 == 1, "an odd number of cells from 3"
    ),
    "see_through_walls": FLAG,
    "highlight": FLAG,
    "agent_pov": FLAG,
}


def _owns(env_id: str) -> bool:
    return env_id.rpartition(":")[2].startswith(("MiniGrid-", "BabyAI-"))


def _register() -> None:
    try:
        importlib.import_module(_EXTRA.module)
    except ImportError as error:
        raise MissingExtraError.of(_EXTRA.package, _EXTRA.name) from error


def _limit(env: AnyEnv) -> int | None:
    """Its own, which it keeps itself; BabyAI has another one in every episode and 0 before the first."""
    world: Any = env.unwrapped
    limit: int | None = vars(world).get("max_steps")
    return limit or None


_SIZES = ("5x5", "Random-5x5", "6x6", "Random-6x6", "8x8", "16x16")


def _state(env: AnyEnv) -> bytes:
    """The grid, the place and direction of the agent, and what it carries."""
    world: Any = env.unwrapped
    lying = (*world.grid.grid, world.carrying)
    codes = [code for thing in lying for code in ((0, 0, 0) if thing is None else thing.encode())]
    return bytes([*codes, *(int(place) for place in world.agent_pos), int(world.agent_dir)])


# ---------------------------------------------------------------------------------------- snapshots

_THINGS = "minigrid.core.world_object"
_THING = "thing"
"""Stands for an object of the grid by its number: several attributes may name the same one."""


class _Things:
    """Objects of a grid as plain data, each of them once."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self.packed: list[dict[str, Any]] = []

    def number(self, thing: Any) -> int:
        if id(thing) not in self._numbers:
            self._numbers[id(thing)] = len(self.packed)
            self.packed.append({})
            held = None if thing.contains is None else self.number(thing.contains)
            kept = {"kind": type(thing).__name__, "attributes": pack(plain_attributes(thing)), "holds": held}
            self.packed[self._numbers[id(thing)]] = kept
        return self._numbers[id(thing)]

    def name(self, value: Any) -> Any:
        """An attribute that is, or lists, objects of the grid; None for any other."""
        if isinstance(value, list) and value and all(map(_is_thing, value)):
            return {"list": [self.number(item) for item in value]}
        return {_THING: self.number(value)} if _is_thing(value) else None


def _is_thing(value: Any) -> bool:
    return isinstance(value, importlib.import_module(_THINGS).WorldObj)


def _save(env: AnyEnv) -> dict[str, Any] | None:
    """The grid, what lies in it, and what else is plain; BabyAI's instructions are not, so those replay."""
    world: Any = env
    if not type(world).__module__.startswith("minigrid.envs.") or ".babyai" in type(world).__module__:
        return None
    things = _Things()
    grid = [None if thing is None else things.number(thing) for thing in world.grid.grid]
    named = {name: things.name(value) for name, value in vars(world).items() if not is_plain(value)}
    return {
        "world": type(world).__name__,
        "size": [world.grid.width, world.grid.height],
        "grid": grid,
        "named": {name: value for name, value in named.items() if value is not None},
        "attributes": pack(plain_attributes(world)),
        "things": things.packed,
    }


def _load(env: AnyEnv, saved: dict[str, Any]) -> None:
    world: Any = env
    if saved["world"] != type(world).__name__ or saved["size"] != [world.grid.width, world.grid.height]:
        raise EnvFaultError(f"the snapshot is of {saved['world']}.")
    kinds = vars(importlib.import_module(_THINGS))
    things = []
    for record in saved["things"]:
        kind = kinds.get(record["kind"])
        if not isinstance(kind, type) or not issubclass(kind, kinds["WorldObj"]):
            raise EnvFaultError(f"the snapshot holds {record['kind']}, which no grid has.")
        thing: Any = object.__new__(kind)
        vars(thing).update(unpack(record["attributes"]))
        things.append(thing)
    for thing, record in zip(things, saved["things"], strict=True):
        thing.contains = None if record["holds"] is None else things[record["holds"]]
    world.grid.grid = [None if number is None else things[number] for number in saved["grid"]]
    vars(world).update(unpack(saved["attributes"]))
    for name, value in saved["named"].items():
        single = value.get(_THING)
        listed = [things[number] for number in value.get("list", ())]
        vars(world)[name] = listed if single is None else things[single]


FAMILY = Family(
    "minigrid",
    title="MiniGrid and BabyAI",
    owns=_owns,
    register=_register,
    extra=_EXTRA,
    recipe="minigrid",
    # Where balls roll, there is nothing to pick up.
    choices={f"MiniGrid-Dynamic-Obstacles-{size}": ("left", "right", "forward") for size in _SIZES},
    clone=Clone(_save, _load),
    state=_state,
    limit=_limit,
    arguments=partial(check_arguments, known=_ARGUMENTS),
    usual_choices=("left", "right", "forward", "pick up", "drop", "toggle", "done"),
    usual_keys=("left", "right", "up", "p", "d", "space", "return"),
)
