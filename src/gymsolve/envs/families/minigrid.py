"""MiniGrid and BabyAI: `MiniGrid-…`, `BabyAI-…`."""

import importlib

from gymsolve.envs.families.family import Extra, Family
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

FAMILY = Family(
    "minigrid",
    title="MiniGrid and BabyAI",
    owns=_owns,
    register=_register,
    extra=_EXTRA,
    recipe="minigrid",
    # Where balls roll, there is nothing to pick up.
    choices={f"MiniGrid-Dynamic-Obstacles-{size}": ("left", "right", "forward") for size in _SIZES},
    usual_choices=("left", "right", "forward", "pick up", "drop", "toggle", "done"),
    usual_keys=("left", "right", "up", "p", "d", "space", "return"),
)
