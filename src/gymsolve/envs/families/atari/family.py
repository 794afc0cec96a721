"""Atari games in the Arcade Learning Environment: `ALE/…`."""

import base64
import importlib
import re
import zlib
from typing import Any

import gymnasium as gym

from gymsolve.envs.arguments import (
    CHANCE,
    FLAG,
    SAME_GAME,
    WHOLE_OR_NONE,
    Argument,
    check_arguments,
    is_whole,
)
from gymsolve.envs.families.atari.sticky import Held, StickyAle
from gymsolve.envs.families.family import AnyEnv, Clone, Extra, Family, by_namespace
from gymsolve.errors import EnvFaultError, MissingExtraError
from gymsolve.runs.inflate import LARGEST_STATE, inflate

_FPS = 60.0
_STICKY = "repeat_action_probability"
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


def _is_skip(value: Any) -> bool:
    if not isinstance(value, list | tuple):
        return is_whole(value, 1)
    return len(value) == 2 and all(is_whole(end, 1) for end in value) and value[0] < value[1]


_ARGUMENTS = {
    "game": SAME_GAME,
    _STICKY: CHANCE,
    "frameskip": Argument(_is_skip, "a whole number of frames, or two such as [2, 5], the smaller one first"),
    "max_num_frames_per_episode": WHOLE_OR_NONE,
    "mode": WHOLE_OR_NONE,
    "difficulty": WHOLE_OR_NONE,
    "obs_type": Argument(lambda value: value in ("rgb", "grayscale", "ram"), "rgb, grayscale or ram"),
    "full_action_space": FLAG,
    "continuous": FLAG,
    "sound_obs": FLAG,
}


def _arguments(options: dict[str, Any]) -> dict[str, Any]:
    """YAML has no pairs."""
    check_arguments(options, _ARGUMENTS)
    skip = options.get("frameskip")
    return {**options, "frameskip": tuple(skip)} if isinstance(skip, list) else options


def _limit(env: AnyEnv) -> int | None:
    """ALE counts frames; of a pair of skips the lower one makes the longest episode."""
    options = env.spec.kwargs if env.spec else {}
    frames, skipped = options.get("max_num_frames_per_episode"), options.get("frameskip", 1)
    if not isinstance(frames, int) or frames <= 0:
        return None
    return -(-frames // (skipped if isinstance(skipped, int) else min(skipped)))


def _prepare(env: AnyEnv) -> AnyEnv:
    """Saved states of the emulator leave out which action sticks."""
    game: Any = env.unwrapped
    ale: Any = getattr(game, "ale", None)
    if type(ale).__module__.partition(".")[0] == _EXTRA.module and 0 < ale.getFloat(_STICKY) < 1:
        game.ale = StickyAle(ale)
    return env


def _save(env: AnyEnv) -> str:
    game: Any = env
    state = game.ale.cloneState(include_rng=True)
    packed = base64.b64encode(zlib.compress(state.serialize(), 1)).decode()
    if not isinstance(game.ale, StickyAle):
        return packed
    held = game.ale.find_held(state)
    return f"{packed}:{held.action}" + (f":{held.strength!r}" if held.strength != 1 else "")


def _load(env: AnyEnv, saved: str) -> None:
    game: Any = env
    kind = importlib.import_module(_EXTRA.module).ALEState
    packed, *held_words = saved.split(":")  # snapshots of older versions do not know what was held
    try:
        state, held = kind(inflate(base64.b64decode(packed), LARGEST_STATE)), _read_held(*held_words)
        if held.action not in (action.value for action in game.ale.getLegalActionSet()):
            raise ValueError(held)
        if isinstance(game.ale, StickyAle):
            game.ale.go_to(state, held)
        else:
            game.ale.restoreState(state)
    except (SystemError, TypeError, ValueError, zlib.error) as error:
        raise EnvFaultError("the saved state is not one of this version of the emulator.") from error


def _read_held(action: str = "0", strength: str = "1") -> Held:
    return Held(int(action), float(strength))


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
    recipe_fits=lambda kwargs: kwargs.get("obs_type") != "ram",
    backends={"ale": "gymsolve.envs.families.atari.backend:BACKEND"},
    prepare=_prepare,
    # Sticky actions are drawn in the emulator, and no replay brings its generator back.
    clone=Clone(_save, _load, resumes=True),
    state=_ram,
    # The knob of a paddle turns right for up.
    other_keys={"Pong": {"up": "right", "down": "left"}},
    arguments=_arguments,
    fps=_fps,
    limit=_limit,
)
