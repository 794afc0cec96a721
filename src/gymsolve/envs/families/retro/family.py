"""Console games by stable-retro: `Retro/…`."""

import base64
import re
import zlib
from functools import partial
from typing import Any

import gymnasium as gym
import numpy as np

from gymsolve.envs.arguments import SAME_GAME, Argument, check_arguments
from gymsolve.envs.families.family import AnyEnv, Clone, Family, by_namespace
from gymsolve.envs.families.retro.game import EXTRA, PREFIX, list_states, register_games
from gymsolve.errors import MissingExtraError, did_you_mean
from gymsolve.runs.inflate import LARGEST_STATE, inflate

_FPS = 60.0
_MARIO = re.compile(r"SuperMarioBros(RandomStages)?(-(?P<level>[1-8]-[1-4]))?-v[0-3]")
"""Ids of gym-super-mario-bros."""
_CONSOLES = (
    "32x",
    "Atari2600",
    "FBNeo",
    "GameBoy",
    "GameGear",
    "GbAdvance",
    "GbColor",
    "Genesis",
    "N64",
    "Nes",
    "NintendoDs",
    "PCEngine",
    "SCD",
    "Saturn",
    "Sms",
    "Snes",
)
"""Last words of stable-retro's names of games."""
_ARGUMENTS = {
    "game": SAME_GAME,
    "scenario": Argument(lambda value: value is None or isinstance(value, str), "the name of a scenario"),
}


def _save(env: AnyEnv) -> str:
    game: Any = env
    return base64.b64encode(zlib.compress(game.em.get_state(), 1)).decode()


def unpack_state(saved: str) -> bytes:
    """The bytes that the emulator itself saved."""
    return inflate(base64.b64decode(saved), LARGEST_STATE)


def _load(env: AnyEnv, saved: str) -> None:
    game: Any = env
    game.em.set_state(unpack_state(saved))
    for player in range(game.players):
        game.em.set_button_mask(np.zeros(game.num_buttons, np.uint8), player)
    game.data.reset()
    game.data.update_ram()


_ROWS = {
    **dict.fromkeys(("Genesis", "32x", "Saturn", "SCD", "FBNeo"), "a=z b=x c=c x=a y=s z=d mode=q"),
    **dict.fromkeys(("Snes", "NintendoDs"), "b=z a=x y=a x=s l=q r=w l2=e r2=r l3=d r3=f"),
    "GbAdvance": "b=z a=x l=q r=w",
    "N64": "b=z a=x z=a l=q r=w",
    "PCEngine": "ii=z i=x iii=c iv=a v=s vi=d run=enter",
    "Atari2600": "button=space reset=backspace",
}
"""Keys for the buttons of a console, as they lie on its pad; A and B alone are x and z everywhere."""
_COMMON = {"start": "enter", "pause": "enter", "select": "shift"}


def _key_words(env_id: str) -> dict[str, str]:
    """The console is the last word of a game's name."""
    console = re.sub(r"-v\d+$", "", env_id).rpartition("-")[2]
    return {**_COMMON, **dict(pair.split("=") for pair in _ROWS.get(console, "").split())}


def _meant(env_id: str) -> str | None:
    """`Airstriker-Genesis`, and the levels of gym-super-mario-bros."""
    level = _MARIO.fullmatch(env_id)
    game = "SuperMarioBros-Nes-v0" if level else re.sub(r"(-v\d+)?$", "-v0", env_id, count=1)
    if level is None and game.rpartition("-v")[0].rpartition("-")[2] not in _CONSOLES:
        return None
    try:
        register_games()
    except MissingExtraError as error:
        return f"If you mean the console game, it is {PREFIX + game!r} here. {error}"
    known = {name.lower(): name for name in gym.registry if name.startswith(PREFIX)}
    ours = known.get((PREFIX + game).lower())
    if ours is None:
        return did_you_mean(PREFIX + game, list(known.values()))
    if level is None or not level["level"]:
        return f"Did you mean {ours!r}?"
    state = f"Level{level['level']}"
    there = "" if state in list_states(game) else f", once `gymsolve roms state {ours} {state}` has saved it"
    return f"Did you mean {ours!r}? Its levels are states: --set env.kwargs.state={state}{there}."


FAMILY = Family(
    "retro",
    title="Retro consoles (stable-retro)",
    owns=by_namespace("Retro"),
    register=register_games,
    extra=EXTRA,
    exclusive=True,
    meant=_meant,
    recipe="retro",
    arguments=partial(check_arguments, known=_ARGUMENTS),
    clone=Clone(_save, _load),
    fps=lambda env: _FPS,
    key_words=_key_words,
)
