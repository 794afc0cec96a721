"""Lines of JSON that are only ever appended: metrics, events, the log.

One call writes a line while the file is locked. The next append drops what a crash left of a line, and
readers skip anything damaged and say so. Appends are not synced one by one: a killed process loses nothing, a
power cut may lose the last seconds.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gymsolve.runs.files import (
    explain_os_error,
    lock_descriptor,
    open_plain,
    os_errors,
    parse_json,
    replace_bytes,
    to_json,
)

__all__ = ["Records", "append_record", "append_text", "last_record", "read_records", "split_records"]

_TAIL = 1 << 16


class Records(NamedTuple):
    """What a file of records holds, and what in it could not be read."""

    rows: list[dict[str, Any]]
    problems: list[str]


def append_record(path: Path, record: dict[str, Any]) -> None:
    """Add one line; when the disk is full nothing of it stays behind."""
    _append(path, to_json(record).encode(errors="replace") + b"\n", mend=True)


def append_text(path: Path, text: str) -> None:
    """Add lines of plain text."""
    _append(path, text.encode(errors="backslashreplace").rstrip(b"\n") + b"\n", mend=False)


def read_records(path: Path, fits: Callable[[Mapping[str, Any]], bool] = lambda row: True) -> Records:
    """All readable records in order that are as they should be; no file means none yet."""
    records = Records([], [])
    for number, line in enumerate(_lines(path), start=1):
        record = _parse(line)
        if record is not None and fits(record):
            records.rows.append(record)
        elif record is not None:
            records.problems.append(f"{path.name}:{number} is not what is kept here; ignored")
        elif not line.endswith(b"\n"):
            records.problems.append(f"{path.name}:{number} was cut off while being written; ignored")
        else:
            records.problems.append(f"{path.name}:{number} is not valid JSON; ignored")
    return records


def last_record(path: Path) -> dict[str, Any] | None:
    """The newest readable record, read from the end of the file."""
    if not path.is_file():
        return None
    with os_errors(path), os.fdopen(open_plain(path), "rb") as file:
        start = max(0, file.seek(0, os.SEEK_END) - _TAIL)
        file.seek(start)
        lines = file.readlines()
    if start:
        lines = lines[1:]  # the first one begins somewhere in the middle
    parsed = (_parse(line) for line in reversed(lines))
    return next((record for record in parsed if record is not None), None)


def split_records(path: Path, discarded: Path, beyond: Callable[[dict[str, Any]], bool]) -> int:
    """Move records that are `beyond` something from one file to another; returns how many.

    They reach `discarded` first: a crash in between leaves a record twice, never nowhere.
    """
    kept: list[bytes] = []
    dropped: list[dict[str, Any]] = []
    lines = _lines(path)
    for line in lines:
        record = _parse(line)
        if record is not None and beyond(record):
            dropped.append(record)
        elif record is not None or line.endswith(b"\n"):
            # Damaged lines too: they stay, and are reported, where they were found.
            kept.append(line.rstrip(b"\n") + b"\n")
    if not dropped:
        return 0
    for record in dropped:
        append_record(discarded, record)
    replace_bytes(path, b"".join(kept))
    return len(dropped)


def _lines(path: Path) -> Iterator[bytes]:
    if path.is_symlink() or path.exists():
        with os_errors(path), os.fdopen(open_plain(path), "rb") as file:
            yield from file


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        record = parse_json(line)
    except ValueError:  # covers bytes that are not UTF-8
        return None
    return record if isinstance(record, dict) else None


def _append(path: Path, data: bytes, *, mend: bool) -> None:
    try:
        descriptor = open_plain(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
        try:
            lock_descriptor(descriptor, path)
            size = os.fstat(descriptor).st_size
            if mend and size:
                size, missing = _mend_last_line(descriptor, size)
                data = missing + data
            _write(descriptor, data, size)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise explain_os_error(error, path) from error


def _write(descriptor: int, data: bytes, size: int) -> None:
    written = 0
    try:
        while written < len(data):  # one call, unless the disk is about to be full
            written += os.write(descriptor, data[written:])
    except OSError:
        if written:
            os.ftruncate(descriptor, size)
        raise


def _mend_last_line(descriptor: int, size: int) -> tuple[int, bytes]:
    """Cut off a torn last line; returns the new size and what the line before still lacks."""
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    if os.read(descriptor, 1) == b"\n":
        return size, b""
    start, tail = size, b""
    while start > 0 and b"\n" not in tail:
        step = min(_TAIL, start)
        start = os.lseek(descriptor, start - step, os.SEEK_SET)
        tail = os.read(descriptor, step) + tail
    fragment = tail[tail.rfind(b"\n") + 1 :]
    if _parse(fragment) is not None:  # all of the record is there, only its newline is not
        return size, b"\n"
    os.ftruncate(descriptor, size - len(fragment))
    return size - len(fragment), b""
