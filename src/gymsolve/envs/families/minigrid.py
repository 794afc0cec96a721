"""MiniGrid and BabyAI: `MiniGrid-…`, `BabyAI-…`."""

import importlib
from typing import Any

from gymsolve.envs.families.family import AnyEnv, Extra, Family
from gymsolve.errors import MissingExtraError

__all__ = ["FAMILY"]

_EXTRA = Extra("minigrid", "minigrid", "minigrid")


def _owns(env_id: str) -> bool:
    return env_id.rpartition(":")[2].startswith(("MiniGrid-", "BabyAI-"))


def _register() -> None:
    try:
        importlib.import_module(_EXTRA.module)
    except ImportError as error:
        raise MissingExtraError.of(_EXTRA.package, _EXTRA.name) from error


_SIZES = ("5x5", "Random-5x5", "6x6", "Random-6x6", "8x8", "16x16")


def _state(env: AnyEnv) -> bytes:
    """What lies where, where the agent stands and looks, and what it carries."""
    world: Any = env.unwrapped
    lying = (*world.grid.grid, world.carrying)
    codes = [code for thing in lying for code in ((0, 0, 0) if thing is None else thing.encode())]
    return bytes([*codes, *(int(place) for place in world.agent_pos), int(world.agent_dir)])


FAMILY = Family(
    "minigrid",
    title="MiniGrid and BabyAI",
    owns=_owns,
    register=_register,
    extra=_EXTRA,
    recipe="minigrid",
    # Where balls roll, there is nothing to pick up.
    choices={f"MiniGrid-Dynamic-Obstacles-{size}": ("left", "right", "forward") for size in _SIZES},
    state=_state,
    usual_choices=("left", "right", "forward", "pick up", "drop", "toggle", "done"),
    usual_keys=("left", "right", "up", "p", "d", "space", "return"),
)
