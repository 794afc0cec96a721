"""Where the objects of an Atari game are, read from the 128 bytes of the console's memory.

The addresses were found by comparing memory with screens, frame by frame; `tests/envs/test_env_atari.py`
does so again, and `benchmarks/ocatari.py` compares with OCAtari. Places are those of an object's upper left
corner, in pixels of the screen (160 × 210). Whatever bytes a game leaves there, an object is in one place on
the field or it is missing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np

from gymsolve.spec import Array

WIDTH, HEIGHT = 160, 210
"""The screen, in pixels."""


Place: TypeAlias = tuple[int, int]
"""Of an object's upper left corner: to the right and down."""
Seen: TypeAlias = tuple[Place | None, ...]
"""Where each thing of a game is; None where it is missing."""


class Thing(NamedTuple):
    """An object that moves."""

    name: str
    axes: str
    """Along which it moves: `x`, `y` or `xy`."""
    width: int
    height: int
    top: int
    """Pixels of the screen between which it is seen: this one and those below it, …"""
    bottom: int
    """… down to this one, which is the first beyond."""

    def place(self, x: int, y: int) -> Place | None:
        """Where it is; None where no pixel of it lies on the field."""
        inside = 0 <= x <= WIDTH - self.width and self.top - self.height < y < self.bottom
        return (x, y) if inside else None


@dataclass(frozen=True)
class Game:
    """How to read one game."""

    things: tuple[Thing, ...]
    find: Callable[[bytes], Seen]
    """Memory → where the things are, in their order."""
    rest_names: tuple[str, ...] = ()
    rest_high: tuple[float, ...] = ()
    """The largest values of the other numbers; the smallest are 0."""
    rest: Callable[[Array], list[float]] | None = None
    """Memory (uint8) → the other numbers."""


# -------------------------------------------------------------------------------------------- Pong

_FIELD = 34, 194
_PONG = (
    Thing("player", "y", 4, 16, *_FIELD),
    Thing("enemy", "y", 4, 16, *_FIELD),
    Thing("ball", "xy", 2, 4, *_FIELD),
)


def _find_pong(ram: bytes) -> Seen:
    player, enemy, ball = _PONG
    # A height of 0 stands for "not on the field" in memory, too.
    return (
        player.place(140, ram[51] - 13) if ram[51] else None,
        enemy.place(16, ram[50] - 15) if ram[50] else None,
        ball.place(ram[49] - 49, ram[54] - 14) if ram[54] else None,
    )


# ---------------------------------------------------------------------------------------- Breakout

_ROWS, _COLUMNS = 6, 18
_BREAKOUT = (Thing("player", "x", 8, 4, 189, 193), Thing("ball", "xy", 2, 4, 32, 195))


def _find_breakout(ram: bytes) -> Seen:
    player, ball = _BREAKOUT
    return (
        player.place(ram[72] - 47, 189),
        ball.place(ram[99] - 49, ram[101] + 9) if ram[101] else None,
    )


def _brick_bits() -> Array:
    """Which bit of the first 36 bytes is which brick: int [rows from the top, columns from the left].

    Six bytes after each other belong to the same columns, the lowest row first. A brick has two bits, which
    change together; the left part of the playfield is stored from its highest bit on or from its lowest, as
    the console's registers ask for.
    """
    groups = (
        (30, (7,)),
        (24, (7, 5, 3, 1)),
        (18, (1, 3, 5, 7)),
        (12, (5, 7)),
        (6, (7, 5, 3, 1)),
        (0, (1, 3, 5)),
    )
    columns = [(first, bit) for first, bits in groups for bit in bits]
    return np.array(
        [[8 * (first + _ROWS - 1 - row) + 7 - bit for first, bit in columns] for row in range(_ROWS)]
    )


_BRICKS = _brick_bits()


def find_bricks(ram: Array) -> Array:
    """Which bricks of Breakout are there: uint8 [rows from the top, columns from the left]."""
    bricks: Array = np.unpackbits(ram[:36])[_BRICKS]
    return bricks


def _rest_of_breakout(ram: Array) -> list[float]:
    bricks = find_bricks(ram)
    return [min(2 * int(ram[108]), 16), *bricks.sum(axis=1).tolist(), *bricks.sum(axis=0).tolist()]


GAMES: dict[str, Game] = {
    "pong": Game(_PONG, _find_pong),
    "breakout": Game(
        _BREAKOUT,
        _find_breakout,
        (
            "player width",
            *(f"bricks of row {row}" for row in range(_ROWS)),
            *(f"bricks of column {column}" for column in range(_COLUMNS)),
        ),
        (16.0, *[float(_COLUMNS)] * _ROWS, *[float(_ROWS)] * _COLUMNS),
        _rest_of_breakout,
    ),
}
"""The games that can be read, by the name of their ROM."""
