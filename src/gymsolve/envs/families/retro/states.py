"""Further save states of a console game: pressed by hand, or reached by a trained policy.

They are kept beside the user's own ROMs, where `env.kwargs.state` finds them like those that came along.
"""

import gzip
import io
import re
from pathlib import Path
from typing import Any

import numpy as np

from gymsolve.envs.families.retro.family import unpack_state
from gymsolve.envs.families.retro.game import (
    PREFIX,
    list_states,
    load_retro,
    register_games,
    require_rom,
    require_state,
    roms_folder,
)
from gymsolve.errors import UsageError, did_you_mean
from gymsolve.runs.files import replace_bytes

POWER_ON = "none"
"""The start of a game that has only been switched on."""
_NAME = re.compile(r"\w[\w.-]*")
_LARGEST = 1 << 20
"""Bytes of a file of presses."""
_MOST_FRAMES = 1_000_000
Presses = list[tuple[list[str], int]]
"""Buttons that are held, and for how many frames."""


def game_of(env_id: str) -> str:
    """The game of `Retro/…`, whose ROM is here."""
    register_games()
    retro = load_retro()
    known = retro.data.list_games(retro.data.Integrations.ALL)
    game = env_id.removeprefix(PREFIX)
    if game not in known:
        hint = did_you_mean(game, known) or "`gymsolve roms` lists the games that are here."
        raise UsageError(f"stable-retro knows no game {game!r}.", where="GAME", hint=hint)
    require_rom(game)
    return game


def parse_presses(path: Path) -> Presses:
    """Lines such as `RIGHT B 30`: buttons, then frames. A number alone presses nothing."""
    if not path.is_file() or path.stat().st_size > _LARGEST:
        raise UsageError(f"there is no file '{path}' of at most 1 MiB.", where="--press")
    presses: Presses = []
    for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if not (words[-1].isascii() and words[-1].isdigit()):
            raise UsageError(
                f"line {number} does not end in a number of frames: {line.strip()[:60]!r}.",
                where=str(path),
                hint="Write a line as: RIGHT B 30.",
            )
        presses.append(([word.upper() for word in words[:-1]], int(words[-1][:9])))
    if sum(frames for _, frames in presses) > _MOST_FRAMES:
        raise UsageError(f"more than {_MOST_FRAMES:,} frames are pressed.", where=str(path))
    return presses


def save_state(
    game: str, name: str, presses: Presses, *, start: str | bytes | None = None, replace: bool = False
) -> tuple[Path, dict[str, Any]]:
    """Press buttons from a start on, keep what is reached, and say which variables the game has there.

    `start` is the name of a state, POWER_ON, or a state itself; None takes the game's first one.
    """
    known = list_states(game)
    if _NAME.fullmatch(name) is None or name == POWER_ON:
        raise UsageError(
            f"{name!r} is no name for a state: use letters, digits, _, - and dots.", where="NAME"
        )
    if name in known and not replace:
        raise UsageError(f"{game} has a state {name!r} already.", where="NAME", hint="--replace replaces it.")
    place = roms_folder() / game / f"{name}.state"
    if name in known and not place.is_file():
        raise UsageError(f"the state {name!r} came along with {game} and stays.", where="NAME")
    if isinstance(start, str) and start != POWER_ON:
        require_state(game, start, "--from")
    opened = _open(game, start)
    try:
        _press(opened, presses)
        state, variables = opened.em.get_state(), dict(opened.data.lookup_all())
    finally:
        opened.close()
    place.parent.mkdir(parents=True, exist_ok=True)
    replace_bytes(place, _packed(state))
    return place, variables


def _open(game: str, start: str | bytes | None) -> Any:
    retro = load_retro()
    named = retro.State.DEFAULT if start is None else start
    opened = retro.make(
        game,
        state=retro.State.NONE if start == POWER_ON or isinstance(start, bytes) else named,
        inttype=retro.data.Integrations.ALL,
        # Agents may not press START; a script that prepares a state must.
        use_restricted_actions=retro.Actions.ALL,
        render_mode="rgb_array",
    )
    opened.reset()
    if isinstance(start, bytes):
        opened.em.set_state(start)
        opened.data.reset()
        opened.data.update_ram()
    return opened


def _press(opened: Any, presses: Presses) -> None:
    known = [button for button in opened.buttons if button]
    for held, frames in presses:
        for button in held:
            if button not in known:
                listed = f"It has {', '.join(known)}."
                raise UsageError(f"the console has no button {button!r}.", where="--press", hint=listed)
        mask = np.array([button in held for button in opened.buttons], np.int8)
        for _ in range(frames):
            opened.step(mask)


def _packed(state: bytes) -> bytes:
    held = io.BytesIO()
    with gzip.GzipFile(fileobj=held, mode="wb", mtime=0) as file:  # no time, so that equal states are equal
        file.write(state)
    return held.getvalue()


def state_of_snapshot(saved: dict[str, Any]) -> bytes:
    """The emulator's state in a native snapshot of an environment."""
    return unpack_state(saved["env"]["native"]["state"])
