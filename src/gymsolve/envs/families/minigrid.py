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


FAMILY = Family(
    "minigrid",
    title="MiniGrid and BabyAI",
    owns=_owns,
    register=_register,
    extra=_EXTRA,
    recipe="minigrid",
    usual_choices=("left", "right", "forward", "pick up", "drop", "toggle", "done"),
)
