"""Unpacks bytes from files of a run without filling the memory: those may come from anybody."""

import zlib

LARGEST_STATE = 64 << 20
"""No emulator and no simulation has a larger state."""


def inflate(packed: bytes, most: int) -> bytes:
    """The bytes that were packed with zlib; a `zlib.error` where they are damaged, or more than `most`."""
    unpacking = zlib.decompressobj()
    data = unpacking.decompress(packed, most + 1)
    if len(data) > most or not unpacking.eof:
        raise zlib.error("it is cut off, or larger than what was packed")
    return data
