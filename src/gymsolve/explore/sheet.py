"""A contact sheet: what places of an archive look like, from the first found to the newest, as a PNG."""

import struct
import zlib

import numpy as np

from gymsolve.explore.frame_cells import FrameCells
from gymsolve.explore.go_explore import GoExplore
from gymsolve.spec import Array

__all__ = ["contact_sheet", "png"]

_MOST, _COLUMNS = 64, 8
_EDGE, _WHITE = 2, 255


def contact_sheet(explorer: GoExplore) -> bytes | None:
    """Up to 64 places, evenly spread over the order in which they were found; None without frames."""
    places = explorer.archive.places
    if not places or not isinstance(explorer.cells, FrameCells):
        return None
    chosen = np.unique(np.linspace(0, len(places) - 1, _MOST).astype(int)).tolist()
    return png(_arrange(explorer.cells.unpack([places[number].picture for number in chosen])))


def _arrange(frames: Array) -> Array:
    """Frames [B, H, W] in rows of eight, with white between them."""
    count, height, width = frames.shape
    columns = min(count, _COLUMNS)
    rows = -(-count // columns)
    sheet = np.full((rows * (height + _EDGE) + _EDGE, columns * (width + _EDGE) + _EDGE), _WHITE, np.uint8)
    for number, frame in enumerate(frames):
        row, column = divmod(number, columns)
        top, left = _EDGE + row * (height + _EDGE), _EDGE + column * (width + _EDGE)
        sheet[top : top + height, left : left + width] = frame
    return sheet


def png(grey: Array) -> bytes:
    """A grey picture [H, W] as a PNG file."""
    height, width = grey.shape
    lines = b"".join(b"\0" + row.tobytes() for row in grey)
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = (b"IHDR", head), (b"IDAT", zlib.compress(lines, 6)), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in parts)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
