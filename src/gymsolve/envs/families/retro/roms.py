"""ROMs of the user's own: recognised by their checksum and kept in the user's data folder.

Nothing is written into the package: `$XDG_DATA_HOME/gymsolve/roms` (by default below `~/.local/share`) is one
more place where stable-retro looks for games.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.envs.families.retro.game import PREFIX, list_states, load_retro, roms_folder
from gymsolve.errors import UsageError
from gymsolve.runs.files import replace_bytes

_LARGEST = 64 << 20
"""Bytes; cartridges are smaller."""
_MOST = 10_000
"""Files that are looked at in a folder."""


@dataclass(frozen=True)
class Found:
    """A file that was looked at."""

    path: Path
    game: str | None
    """`Retro/…`; None for a file that is no known game."""
    checksum: str


def import_roms(path: Path) -> list[Found]:
    """Take over every game that a file, or any file of a folder, holds."""
    retro = load_retro()
    if not path.exists():
        raise UsageError(f"there is no file or folder '{path}'.", where="PATH")
    known = retro.data.get_known_hashes()
    imported = [rom for file in _files(path, retro) if (rom := _import(retro, known, file)) is not None]
    if not imported:
        endings = ", ".join(sorted(retro.data.EMU_EXTENSIONS))
        raise UsageError(
            f"'{path}' holds no file that may be a ROM.", where="PATH", hint=f"They end in {endings}."
        )
    return imported


def list_roms() -> dict[str, list[str]]:
    """Games that can be played here, and the states that each can start from."""
    retro = load_retro()
    every = retro.data.Integrations.ALL
    games = {}
    for game in retro.data.list_games(every):
        try:
            retro.data.get_romfile_path(game, every)
        except FileNotFoundError:
            continue
        games[PREFIX + game] = list_states(game)
    return games


def _files(path: Path, retro: Any) -> Iterator[Path]:
    """The file itself, or what lies in the folder; links and pipes are passed over."""
    if path.is_file():
        yield path
        return
    looked = 0
    for folder, _, names in os.walk(path):
        for name in sorted(names):
            looked += 1
            if looked > _MOST:
                return
            file = Path(folder, name)
            if file.suffix.lower() in retro.data.EMU_EXTENSIONS and stat.S_ISREG(file.lstat().st_mode):
                yield file


def _import(retro: Any, known: dict[str, tuple[str, str, str]], file: Path) -> Found | None:
    if file.stat().st_size > _LARGEST:
        return None
    try:
        with file.open("rb") as opened:
            data, checksum = retro.data.groom_rom(str(file), opened)
    except (OSError, ValueError):
        return None
    if checksum not in known:
        return Found(file, None, checksum)
    game, ending, _ = known[checksum]
    place = roms_folder() / game
    place.mkdir(parents=True, exist_ok=True)
    replace_bytes(place / f"rom{ending}", data)
    return Found(file, PREFIX + game, checksum)
