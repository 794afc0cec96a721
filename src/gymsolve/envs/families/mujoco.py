"""Gymnasium's MuJoCo robots: Ant, HalfCheetah, Hopper and the others.

MuJoCo prints a warning about each model that uses an old attribute, for every copy that is built, and keeps a
file MUJOCO_LOG.TXT of them in the working directory. Nobody who trains can change those models, so such
warnings are dropped; others become Python warnings, which come once.
"""

import importlib
import importlib.util
import warnings

from gymsolve.envs.families.family import Extra, Family, by_code

__all__ = ["FAMILY"]

_EXTRA = Extra("mujoco", "mujoco", "mujoco")


def _register() -> None:
    if importlib.util.find_spec(_EXTRA.module) is not None:  # without it, building one names the extra
        importlib.import_module(_EXTRA.module).set_mju_user_warning(_hear)


def _hear(text: str) -> None:
    if "deprecated" not in text:
        warnings.warn(f"MuJoCo: {text.strip()}", RuntimeWarning, stacklevel=2)


FAMILY = Family(
    "mujoco", title="MuJoCo", owns=by_code("gymnasium.envs.mujoco"), register=_register, extra=_EXTRA
)
