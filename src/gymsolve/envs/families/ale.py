"""Atari games in the Arcade Learning Environment: `ALE/…`."""

import base64
import importlib
import math
import re
import zlib
from typing import Any

import gymnasium as gym

from gymsolve.envs.families.family import AnyEnv, Clone, Extra, Family, by_namespace
from gymsolve.errors import ConfigError, EnvFaultError, MissingExtraError

__all__ = ["FAMILY"]

_FPS = 60.0
_MOST_FRAMES = 1000
_OLD = re.compile(
    r"(ALE/)?(?P<game>[A-Za-z]+?)(?P<ram>-ram)?(?P<skip>NoFrameskip|Deterministic)?(-v\d+)?", re.IGNORECASE
)
_EXTRA = Extra("ale-py", "atari", "ale_py")


def _register() -> None:
    try:
        ale = importlib.import_module(_EXTRA.module)
    except ImportError as error:
        raise MissingExtraError.of(_EXTRA.package, _EXTRA.name) from error
    ale.ALEInterface.setLoggerMode(ale.LoggerMode.Error)  # it greets on standard error otherwise


def _meant(env_id: str) -> str | None:
    """`PongNoFrameskip-v4`, `ALE/Pong-ram-v5` and `Pong-v5` are `ALE/Pong-v5` today."""
    old = _OLD.fullmatch(env_id)
    if old is None:
        return None
    today = f"ALE/{old['game']}-v5"
    try:
        _register()
    except MissingExtraError as error:
        sure = old["ram"] or old["skip"]
        return f"If you mean the Atari game, it is {today!r} now. {error}" if sure else None
    known = {name.lower(): name for name in gym.registry}
    if today.lower() not in known:
        return None
    skipping = " Frames are skipped by its settings here." if old["skip"] else ""
    memory = " The wrapper atari_ram shows its memory, as in ALE/Pong-v5:ram." if old["ram"] else ""
    return f"Did you mean {known[today.lower()]!r}?{memory}{skipping}"


def _fps(env: AnyEnv) -> float | None:
    """Its metadata say 30, however many frames a step skips."""
    game = env.unwrapped.spec
    skipped = 4 if game is None else game.kwargs.get("frameskip", 4)
    # Of a pair, the upper end is never drawn.
    return _FPS / (skipped if isinstance(skipped, int) else (sum(skipped) - 1) / 2)


def _arguments(options: dict[str, Any]) -> dict[str, Any]:
    """YAML has no pairs; and beyond 1, a probability would quietly repeat one action for ever."""
    chance = options.get("repeat_action_probability", 0.0)
    if isinstance(chance, bool) or not isinstance(chance, int | float) or not 0 <= chance <= 1:
        raise ConfigError(
            f"should be a probability from 0 to 1; got {chance!r}.",
            where="env.kwargs.repeat_action_probability",
        )
    skip = options.get("frameskip")
    return {**options, "frameskip": tuple(skip)} if isinstance(skip, list) else options


def _limit(env: AnyEnv) -> int | None:
    """ALE counts frames; of a pair of skips the lower one makes the longest episode."""
    options = env.spec.kwargs if env.spec else {}
    frames, skipped = options.get("max_num_frames_per_episode"), options.get("frameskip", 1)
    if not isinstance(frames, int) or frames <= 0:
        return None
    return -(-frames // (skipped if isinstance(skipped, int) else min(skipped)))


def _save(env: AnyEnv) -> str:
    game: Any = env
    state = game.ale.cloneState(include_rng=True)
    packed = base64.b64encode(zlib.compress(state.serialize(), 1)).decode()
    return f"{packed}:{_find_held(game.ale, state)}" if _surely(game.ale) else packed


def _load(env: AnyEnv, saved: str) -> None:
    game: Any = env
    kind = importlib.import_module(_EXTRA.module).ALEState
    packed, _, told = saved.partition(":")  # snapshots of older versions do not know what was held
    try:
        state, held = kind(zlib.decompress(base64.b64decode(packed))), int(told or 0)
        if held not in (action.value for action in game.ale.getLegalActionSet()):
            raise ValueError(held)
        _hold(game.ale, state, held)
    except (SystemError, ValueError, zlib.error) as error:
        raise EnvFaultError("the saved state is not one of this version of the emulator.") from error


# The emulator keeps the action that a sticky one would repeat, but neither tells nor saves it. It matters
# only until the first frame in which the next action does not stick.


def _surely(ale: Any) -> int:
    """Frames after which an action has been taken, but for one chance in 10^12; 0 where none sticks."""
    chance: float = ale.getFloat("repeat_action_probability")
    return min(math.ceil(-12 / math.log10(chance)), _MOST_FRAMES) if 0 < chance < 1 else 0


def _hold(ale: Any, state: Any, action: int) -> None:
    """Go to a state as if this action had been taken last."""
    ale.restoreState(state)  # a game that is over may take no action
    for _ in range(_surely(ale)):
        ale.act(action)
    ale.restoreState(state)


def _find_held(ale: Any, state: Any) -> int:
    """The action that was taken last: one that leads where the emulator goes from here, which stays here."""

    def go_on() -> list[bytes]:
        frames = []
        for _ in range(_surely(ale)):
            ale.act(0)
            frames.append(ale.cloneState(include_rng=True).serialize())
        return frames

    true = go_on()
    held = 0
    for action in (*ale.getMinimalActionSet(), *ale.getLegalActionSet()):
        held = int(action.value)
        _hold(ale, state, held)
        if go_on() == true:
            break
    _hold(ale, state, held)
    return held


def _ram(env: AnyEnv) -> bytes:
    game: Any = env.unwrapped
    memory: bytes = game.ale.getRAM().tobytes()
    return memory


FAMILY = Family(
    "ale",
    title="Atari 2600 (Arcade Learning Environment)",
    owns=by_namespace("ALE"),
    register=_register,
    extra=_EXTRA,
    meant=_meant,
    recipe="atari",
    # Sticky actions are drawn in the emulator, and no replay brings its generator back.
    clone=Clone(_save, _load, resumes=True),
    state=_ram,
    arguments=_arguments,
    fps=_fps,
    limit=_limit,
)
