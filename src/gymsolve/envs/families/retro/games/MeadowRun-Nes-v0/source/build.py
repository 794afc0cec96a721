"""Build the ROM of Meadow Run from its sources with cc65 (Debian's package `cc65`).

    python build.py [FOLDER]      writes rom.nes there; beside this folder by default

Pictures, signs and levels are texts. This program turns them into tiles and tables; cc65 makes a cartridge.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROWS, SCREEN, PAGE = 13, 16, 256
STATUS_ROWS = 2
PLACES = {
    ".": "sky", "w": "sky", "#": "ground", "X": "block", "B": "brick", "P": "pipe_left", "Q": "pipe_right",
    "o": "coin", "T": "top", "|": "pole", "c": "cloud_left", "d": "cloud_right", "h": "bush",
}  # fmt: skip
KINDS = [
    "sky", "ground", "ground_body", "block", "brick", "pipe_left", "pipe_right", "pipe_left_body",
    "pipe_right_body", "coin", "top", "pole", "cloud_left", "cloud_right", "bush",
]  # fmt: skip
SPRITES = ["stand", "walk", "jump", "fallen", "walker", "squashed"]
FIRST_ART = 0x40


def read_blocks(file: Path) -> dict[str, list[str]]:
    """The lines under each [name]."""
    blocks: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in file.read_text().splitlines():
        if line.startswith("["):
            lines = blocks.setdefault(line.strip("[]"), [])
        elif line and not line.startswith(("# ", "#\n")) and line != "#":
            lines.append(line)
    return blocks


def encode_tile(points: list[str]) -> bytes:
    """8 × 8 points as two planes of bits."""
    values = [".123".index(point) for row in points for point in row]
    planes = []
    for plane in (1, 2):
        for row in range(8):
            bits = ["1" if value & plane else "0" for value in values[8 * row : 8 * row + 8]]
            planes.append(int("".join(bits), 2))
    return bytes(planes)


def encode_picture(rows: list[str]) -> bytes:
    """16 × 16 points as four tiles: upper left, upper right, lower left, lower right."""
    corners = [(top, left) for top in (0, 8) for left in (0, 8)]
    return b"".join(
        encode_tile([row[left : left + 8] for row in rows[top : top + 8]]) for top, left in corners
    )


def encode_signs() -> bytes:
    """Signs by their ASCII code less 32."""
    tiles = [bytes(16)] * FIRST_ART
    for line in (HERE / "font.txt").read_text().splitlines():
        if line.startswith("#"):
            continue
        sign, *numbers = line.split()
        points = [f"{int(number, 16):05b}".replace("0", ".") + "..." for number in numbers]
        tiles[ord(sign) - 32] = encode_tile([*points, "........"])
    return b"".join(tiles)


def build_tiles() -> bytes:
    art = read_blocks(HERE / "art.txt")
    art["sky"] = ["." * 16] * 16
    halves = []
    for names in (KINDS, SPRITES):
        half = encode_signs() + b"".join(encode_picture(art[name]) for name in names)
        halves.append(half.ljust(0x1000, b"\0"))
    return b"".join(halves)


def build_levels() -> str:
    """Every level for the assembler: a page of places per row, its walkers, its width and its flag."""
    blocks = read_blocks(HERE / "screens.txt")
    pages, walkers, widths, flags = [], [], [], []
    names = [line.split(":")[1].split() for line in blocks["levels"]]
    for number, screens in enumerate(names):
        rows = ["".join(blocks[name][row] for name in screens) for row in range(ROWS)]
        pages.append(f"level_{number}:\n" + "".join(_row(rows, row) for row in range(ROWS)))
        lines = [
            f"{column}, {(row + STATUS_ROWS) * 16}"
            for column in range(len(rows[0]))
            for row in range(ROWS)
            if rows[row][column] == "w"
        ]
        walkers.append(f"walkers_{number}: .byte {', '.join([*lines, '0'])}\n")
        widths.append(len(rows[0]))
        flags.append(max(row.find("|") for row in rows))
    levels = range(len(names))
    return (
        "; Made by build.py from screens.txt.\n"
        ".export _level_rows, _level_walkers, _level_width, _level_flag\n"
        f'.segment "LEVELS"\n{"".join(pages)}'
        f'.segment "RODATA"\n{"".join(walkers)}'
        f"_level_rows: .word {', '.join(f'level_{number}' for number in levels)}\n"
        f"_level_walkers: .word {', '.join(f'walkers_{number}' for number in levels)}\n"
        f"_level_width: .byte {', '.join(map(str, widths))}\n"
        f"_level_flag: .byte {', '.join(map(str, flags))}\n"
    )


def _row(rows: list[str], row: int) -> str:
    """One page; a pipe under a pipe has no rim, ground under ground no grass."""
    kinds = []
    for column, place in enumerate(rows[row]):
        below = place in "PQ#" and row > 0 and rows[row - 1][column] == place
        kinds.append(KINDS.index(PLACES[place] + ("_body" if below else "")))
    kinds += [0] * (PAGE - len(kinds))
    return f"    .byte {', '.join(map(str, kinds))}\n"


def build(folder: Path) -> Path:
    """Build rom.nes in a folder."""
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        for name in ("game.c", "start.s", "game.cfg"):
            shutil.copy(HERE / name, work)
        (work / "tiles.chr").write_bytes(build_tiles())
        (work / "levels.s").write_text(build_levels())
        command = ["cl65", "-t", "nes", "-O", "-Oirs", "-Cl", "-C", "game.cfg", "-o", "rom.nes"]
        subprocess.run([*command, "start.s", "levels.s", "game.c"], cwd=work, check=True)
        return Path(shutil.copy(work / "rom.nes", folder / "rom.nes"))


if __name__ == "__main__":
    build(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE.parent)
