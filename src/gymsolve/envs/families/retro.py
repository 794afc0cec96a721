"""Console games by stable-retro: `Retro/…`."""

import base64
import zlib
from typing import Any

import numpy as np

from gymsolve.envs.families.family import AnyEnv, Clone, Family, by_namespace
from gymsolve.envs.retro.game import EXTRA, register_games

__all__ = ["FAMILY", "unpack_state"]

_FPS = 60.0


def _save(env: AnyEnv) -> str:
    game: Any = env
    return base64.b64encode(zlib.compress(game.em.get_state(), 1)).decode()


def unpack_state(saved: str) -> bytes:
    """What the emulator itself saved."""
    return zlib.decompress(base64.b64decode(saved))


def _load(env: AnyEnv, saved: str) -> None:
    game: Any = env
    game.em.set_state(unpack_state(saved))
    for player in range(game.players):
        game.em.set_button_mask(np.zeros(game.num_buttons, np.uint8), player)
    game.data.reset()
    game.data.update_ram()


FAMILY = Family(
    "retro",
    owns=by_namespace("Retro"),
    register=register_games,
    extra=EXTRA,
    exclusive=True,
    clone=Clone(_save, _load),
    fps=lambda env: _FPS,
)
