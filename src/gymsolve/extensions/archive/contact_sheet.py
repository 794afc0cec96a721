"""A contact sheet: pictures of places of an archive in the order of their discovery, as a PNG."""

import struct
import zlib
from collections.abc import Sequence

import numpy as np

from gymsolve.extensions.archive.frame_cells import FrameCells
from gymsolve.extensions.archive.task_archive import TaskArchive
from gymsolve.spec import Array

_MOST, _COLUMNS = 64, 8
_EDGE, _WHITE = 2, 255


def contact_sheet(tasks: Sequence[TaskArchive]) -> bytes | None:
    """Up to 64 places, evenly spread over the order of their discovery; None without frames.

    Several tasks have equal shares, one after the other.
    """
    pictured = [task for task in tasks if len(task.archive) and isinstance(task.cells, FrameCells)]
    frames = [frame for task in pictured for frame in _some_of(task, max(1, _MOST // len(pictured)))]
    return png(_arrange(frames)) if frames else None


def _some_of(task: TaskArchive, most: int) -> list[Array]:
    """Pictures of some places of a task."""
    assert isinstance(task.cells, FrameCells)
    places = task.archive.places
    chosen = np.unique(np.linspace(0, len(places) - 1, most).astype(int)).tolist()
    return list(task.cells.unpack([places[number].picture for number in chosen]))


def _arrange(frames: list[Array]) -> Array:
    """Frames [H, W] in rows of eight, with white between them; tasks may differ in size."""
    height, width = (max(frame.shape[axis] for frame in frames) for axis in (0, 1))
    columns = min(len(frames), _COLUMNS)
    rows = -(-len(frames) // columns)
    sheet = np.full((rows * (height + _EDGE) + _EDGE, columns * (width + _EDGE) + _EDGE), _WHITE, np.uint8)
    for number, frame in enumerate(frames):
        row, column = divmod(number, columns)
        top, left = _EDGE + row * (height + _EDGE), _EDGE + column * (width + _EDGE)
        sheet[top : top + frame.shape[0], left : left + frame.shape[1]] = frame
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
