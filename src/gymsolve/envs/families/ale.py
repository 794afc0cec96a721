"""Atari games in the Arcade Learning Environment: `ALE/…`."""

import base64
import importlib
import re
from typing import Any

import gymnasium as gym

from gymsolve.envs.families.family import AnyEnv, Clone, Extra, Family, by_namespace
from gymsolve.errors import MissingExtraError

__all__ = ["FAMILY"]

_FPS = 60.0
_OLD = re.compile(r"(?P<game>[A-Za-z]+?)(?P<kind>(-ram)?(NoFrameskip|Deterministic)?)(-v\d+)?", re.IGNORECASE)
_EXTRA = Extra("ale-py", "atari", "ale_py")


def _register() -> None:
    try:
        ale = importlib.import_module(_EXTRA.module)
    except ImportError as error:
        raise MissingExtraError.of(_EXTRA.package, _EXTRA.name) from error
    ale.ALEInterface.setLoggerMode(ale.LoggerMode.Error)  # it greets on standard error otherwise


def _meant(env_id: str) -> str | None:
    """`PongNoFrameskip-v4`, `Pong-ramDeterministic-v0` and `Pong-v5` are `ALE/Pong-v5` today."""
    old = _OLD.fullmatch(env_id)
    if old is None:
        return None
    today = f"ALE/{old['game']}-v5"
    try:
        _register()
    except MissingExtraError as error:
        return f"If you mean the Atari game, it is {today!r} now. {error}" if old["kind"] else None
    known = {name.lower(): name for name in gym.registry}
    if today.lower() not in known:
        return None
    advice = " Frames are skipped by its settings here." if old["kind"] else ""
    return f"Did you mean {known[today.lower()]!r}?{advice}"


def _fps(env: AnyEnv) -> float | None:
    """Its metadata say 30, however many frames a step skips."""
    game = env.unwrapped.spec
    skipped = 4 if game is None else game.kwargs.get("frameskip", 4)
    # Of a pair, the upper end is never drawn.
    return _FPS / (skipped if isinstance(skipped, int) else (sum(skipped) - 1) / 2)


def _save(env: AnyEnv) -> str:
    game: Any = env
    state: bytes = game.ale.cloneState(include_rng=True).serialize()
    return base64.b64encode(state).decode()


def _load(env: AnyEnv, saved: str) -> None:
    game: Any = env
    kind = importlib.import_module(_EXTRA.module).ALEState
    game.ale.restoreState(kind(base64.b64decode(saved)))


def _ram(env: AnyEnv) -> bytes:
    game: Any = env.unwrapped
    memory: bytes = game.ale.getRAM().tobytes()
    return memory


FAMILY = Family(
    "ale",
    owns=by_namespace("ALE"),
    register=_register,
    extra=_EXTRA,
    meant=_meant,
    recipe="atari",
    clone=Clone(_save, _load),
    state=_ram,
    fps=_fps,
)
