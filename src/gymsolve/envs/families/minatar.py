"""MinAtar: five Atari games on a grid of ten by ten, `MinAtar/…`."""

import importlib
import json
import logging
import re
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from gymsolve.envs.arguments import CHANCE, FLAG, SAME_GAME, check_arguments
from gymsolve.envs.families.family import AnyEnv, Clone, Extra, Family, by_namespace
from gymsolve.envs.plain_data import pack, plain_attributes, unpack
from gymsolve.errors import EnvFaultError, MissingExtraError

_EXTRA = Extra("minatar", "minatar", "minatar")
_POINT = 24
"""Pixels that a point of the game is wide in videos."""
_NOTHING = 0
"""The action that does nothing."""
_FPS = 15.0
"""The games have no time of their own; so fast, people can follow."""
_NO_PLACE = ("channels", "action_map", "ramping", "terminate_timer")
"""Attributes that do not say where a game stands: constants, and Freeway's clock, with which no state would
ever come again."""

_ARGUMENTS = {
    "game": SAME_GAME,
    "sticky_action_prob": CHANCE,
    "difficulty_ramping": FLAG,
    "use_minimal_action_set": FLAG,
}


def _register() -> None:
    if "MinAtar/Breakout-v1" in gym.registry:
        return
    root = logging.getLogger()
    before = root.level
    root.setLevel(logging.ERROR)  # it warns of packages that only its own windows and examples need
    try:
        importlib.import_module("minatar.gym").register_envs()
    except ImportError as error:
        raise MissingExtraError.of(_EXTRA.package, _EXTRA.name) from error
    finally:
        root.setLevel(before)


def _meant(env_id: str) -> str | None:
    """`MinAtar-Breakout-v0` and gymnax's `Breakout-MinAtar` are `MinAtar/Breakout-v1` here."""
    old = re.fullmatch(r"minatar[-_/]?(\w+?)(-v\d+)?|(\w+)-minatar(-v\d+)?", env_id, re.IGNORECASE)
    if old is None:
        return None
    game = (old[1] or old[3]).replace("_", "").lower()
    try:
        _register()
    except MissingExtraError as error:
        return f"If you mean the game of MinAtar, its id begins with 'MinAtar/'. {error}"
    known = [name for name in gym.registry if name.startswith("MinAtar/") and name.endswith("-v1")]
    same = next((name for name in known if name.lower() == f"minatar/{game}-v1"), None)
    return f"Did you mean {same!r}?" if same else f"MinAtar has {', '.join(known)}."


class _Mended(gym.Wrapper[Any, Any, Any, Any]):
    """Episodes that follow from Gymnasium's generator alone, and a picture that people can see.

    The game draws from a generator of its own, which nobody can save; here each episode has a seed drawn from
    `np_random`. The game also keeps the last action of an episode for the first step of the next one, where
    it may stick; here that is the action that does nothing, as at the start of the game. The game's own
    picture has ten by ten points, between 0 and 1.
    """

    changes_reward = False

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        inner: Any = self.unwrapped
        gym.Env.reset(inner, seed=seed)
        inner.game.last_action = _NOTHING
        return self.env.reset(seed=int(self.np_random.integers(2**31)), options=options)

    def render(self) -> Any:
        points: Any = self.env.render()
        if points is None:
            return None
        return np.kron(np.asarray(points * 255, np.uint8), np.ones((_POINT, _POINT, 1), np.uint8))


def _prepare(env: AnyEnv) -> AnyEnv:
    return _Mended(env) if type(env.unwrapped).__module__.partition(".")[0] == _EXTRA.module else env


def _save(env: AnyEnv) -> dict[str, Any]:
    """The game, what holds it, and the generator that both draw from."""
    held: Any = env
    return {
        "game": held.game.env_name,
        "attributes": pack(plain_attributes(held.game)),
        "inner": pack(plain_attributes(held.game.env)),
        "random": pack(held.game.random.get_state()),
    }


def _load(env: AnyEnv, saved: dict[str, Any]) -> None:
    held: Any = env
    game = held.game
    if saved["game"] != game.env_name:
        raise EnvFaultError(f"the snapshot is of {saved['game']}.")
    vars(game).update(unpack(saved["attributes"]))
    vars(game.env).update(unpack(saved["inner"]))
    game.random.set_state(unpack(saved["random"]))


def _state(env: AnyEnv) -> bytes:
    """The place of everything, and the counters that decide when it moves."""
    world: Any = env.unwrapped
    here = plain_attributes(world.game.env)
    return json.dumps(pack({name: value for name, value in here.items() if name not in _NO_PLACE})).encode()


FAMILY = Family(
    "minatar",
    title="MinAtar",
    owns=by_namespace("MinAtar"),
    register=_register,
    extra=_EXTRA,
    meant=_meant,
    recipe="minatar",
    arguments=partial(check_arguments, known=_ARGUMENTS),
    prepare=_prepare,
    clone=Clone(_save, _load),
    state=_state,
    fps=lambda env: _FPS,
    # Version 1 has only the actions that do something.
    choices={
        "Asterix": ("noop", "left", "up", "right", "down"),
        "Breakout": ("noop", "left", "right"),
        "Freeway": ("noop", "up", "down"),
        "SpaceInvaders": ("noop", "left", "right", "fire"),
    },
    usual_choices=("noop", "left", "up", "right", "down", "fire"),
)
