"""Arrays of an .npz file from anybody: kinds, shapes and sizes are checked before an array is read.

A file of two megabytes can stand for gigabytes, and what an array's header says need not be what follows it.
Reading runs no code: files with Python objects are refused.
"""

import lzma
import math
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from gymsolve.errors import RunDamagedError
from gymsolve.spec import Array

_DAMAGE = (
    *(OSError, ValueError, LookupError, TypeError, EOFError, RuntimeError, MemoryError, OverflowError),
    *(SyntaxError, tokenize.TokenError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error),
)
"""Errors that NumPy and zipfile raise for files that are no .npz files."""
_KINDS = "biufU"
_MOST_ARRAYS = 1000
_FREELY = 256 << 20
_RATIO = 500
"""Arrays of more than `_FREELY` bytes do not shrink to less than one part in so many."""


@dataclass(frozen=True)
class Declared:
    """The claims of an array's header."""

    shape: tuple[int, ...]
    kind: str
    """A letter, as in NumPy: `f` is a float, `U` is text."""
    size: int
    """Bytes."""


Declarations = Mapping[str, Declared]


def read_arrays(
    path: Path,
    damage: str,
    wanted: Callable[[str], bool],
    *,
    most: int,
    check: Callable[[Declarations], None],
) -> dict[str, Array]:
    """The wanted arrays of a file; `damage` is said of a file that cannot be read.

    `check` raises a ValueError where the declared arrays, wanted or not, do not belong together.
    """
    with _damage_named(path, damage), zipfile.ZipFile(path) as packed:
        entries = _entries(packed)
        declared = {name: _declared(packed, entry) for name, entry in entries.items()}
        chosen = {name: entry for name, entry in entries.items() if wanted(name)}
        size = sum(declared[name].size for name in chosen)
        room = sum(entry.compress_size for entry in chosen.values()) * _RATIO
        if size > most or size > max(_FREELY, room):
            message = f"it would unpack to {size:,} bytes, more than such a file can hold."
            raise RunDamagedError(message, where=str(path))
        check(declared)
        return {name: _read(packed, entry) for name, entry in chosen.items()}


@contextmanager
def _damage_named(path: Path, damage: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise RunDamagedError(damage, where=str(path)) from error


def _entries(packed: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    listed = packed.infolist()
    names = [entry.filename.removesuffix(".npy") for entry in listed]
    if len(listed) > _MOST_ARRAYS or len({*names}) < len(names):
        raise ValueError("too many arrays, or two of one name")
    return dict(zip(names, listed, strict=True))


def _declared(packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Declared:
    with packed.open(entry) as file:
        shape, dtype = _header(file)
        size = math.prod(shape) * dtype.itemsize
        if dtype.kind not in _KINDS or size + file.tell() != entry.file_size:
            raise ValueError("an array of objects, or of another size than its entry")
    return Declared(shape, dtype.kind, size)


def _header(file: IO[bytes]) -> tuple[tuple[int, ...], "np.dtype[Any]"]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    return shape, dtype


def _read(packed: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Array:
    with packed.open(entry) as file:
        array: Array = np.lib.format.read_array(file, allow_pickle=False)
    return array
