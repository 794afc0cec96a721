"""`gymsolve roms`: games of the user's own for stable-retro."""

from pathlib import Path
from typing import Annotated

import typer

from gymsolve.cli.options import Json
from gymsolve.cli.printing.output import print_json, print_table, say

__all__ = ["import_files", "list_them"]


def import_files(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="A ROM, or a folder with some.")],
    json: Json = False,
) -> int:
    """Take over ROMs that you own: recognised by their checksum, copied into your data folder."""
    from gymsolve.envs.retro.roms import import_roms

    found = import_roms(path)
    taken = [one for one in found if one.game is not None]
    if json:
        print_json([{"path": str(one.path), "game": one.game, "checksum": one.checksum} for one in found])
    else:
        for one in found:
            what = (
                f"is {one.game}" if one.game else f"is no game that stable-retro knows (SHA-1 {one.checksum})"
            )
            say(f"{one.path} {what}")
        if taken:
            say(f"Train with: gymsolve train {taken[0].game}")
    return 0 if taken else 1


def list_them(json: Json = False) -> int:
    """List the console games whose ROM is here, with the states they can start from."""
    from gymsolve.envs.retro.roms import list_roms

    games = list_roms()
    if json:
        print_json(games)
    else:
        print_table(("environment", "states"), [(game, ", ".join(states)) for game, states in games.items()])
    return 0
