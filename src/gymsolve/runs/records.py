"""Lines of JSON that are only ever appended: metrics, events, the log.

One call writes a line while the file is locked. The next append drops what a crash left of a line, and
readers skip and report damaged lines. Appends are not synced one by one: a killed process loses nothing, a
power cut may lose the last seconds.

Files are read line by line. A very long one is thinned: most of its lines are not even parsed.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from gymsolve.runs.files import (
    explain_os_error,
    lock_descriptor,
    open_plain,
    os_errors,
    parse_json,
    replace_bytes,
    to_json,
)

Record = dict[str, Any]
Fits = Callable[[Mapping[str, Any]], bool]
_TAIL = 1 << 16
_LONGEST = 1 << 24
"""Bytes of a line; the longest records, with all alerts of a run, have a hundredth of that."""


class Records(NamedTuple):
    """The records of a file, and sentences about lines that could not be read."""

    rows: list[dict[str, Any]]
    problems: list[str]


def append_record(path: Path, record: dict[str, Any]) -> None:
    """Add one line; when the disk is full nothing of it stays behind."""
    _append(path, to_json(record).encode(errors="replace") + b"\n", mend=True)


def append_text(path: Path, text: str) -> None:
    """Add lines of plain text."""
    _append(path, text.encode(errors="backslashreplace").rstrip(b"\n") + b"\n", mend=False)


def _anything(record: Mapping[str, Any]) -> bool:
    return True


def read_records(path: Path, fits: Fits = _anything) -> Records:
    """All valid records in order; none where there is no file."""
    return _read(path, 1, (), fits)


def read_thinned(path: Path, most: int, keep: Sequence[bytes], fits: Fits = _anything) -> Records:
    """Like `read_records`, but only about `most` records, evenly spread, of a longer file.

    The newest record is always among them, and so are, unless they are too many, lines with a text of `keep`.
    """
    total = count_records(path)
    if total <= most:
        return read_records(path, fits)
    stride = -(-total // most)
    if sum(any(text in line for text in keep) for line in _lines(path)) > most:
        keep = ()
    records = _read(path, stride, keep, fits)
    thinned = f"{path.name} has {total:,} records: one in {stride} was read, and those that stand out"
    return Records(records.rows, [*records.problems, thinned])


def _read(path: Path, stride: int, keep: Sequence[bytes], fits: Fits) -> Records:
    """Every `stride`-th line, the last one, and lines with a text in `keep`."""
    records, skipped = Records([], []), (0, b"")
    for number, line in enumerate(_lines(path), start=1):
        if number % stride and not any(text in line for text in keep):
            skipped = number, line
            continue
        _take(records, f"{path.name}:{number}", line, fits)
        skipped = 0, b""
    if skipped[0]:
        _take(records, f"{path.name}:{skipped[0]}", skipped[1], fits)
    return records


def _take(records: Records, place: str, line: bytes, fits: Fits) -> None:
    record = parse_record(line)
    if record is not None and fits(record):
        records.rows.append(record)
    elif record is not None:
        records.problems.append(f"{place} is not what is kept here; ignored")
    elif not line.endswith(b"\n"):
        records.problems.append(f"{place} was cut off while being written; ignored")
    else:
        records.problems.append(f"{place} is not valid JSON; ignored")


def iterate_records(path: Path, fits: Fits = _anything) -> Iterator[dict[str, Any]]:
    """All valid records in order, one at a time."""
    return (record for line in _lines(path) if (record := parse_record(line)) is not None and fits(record))


def count_records(path: Path) -> int:
    """Lines of the file, readable or not."""
    if not path.is_symlink() and not path.exists():
        return 0
    with os_errors(path), os.fdopen(open_plain(path), "rb") as file:
        return sum(chunk.count(b"\n") for chunk in iter(lambda: file.read(1 << 20), b""))


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
    parsed = (parse_record(line) for line in reversed(lines))
    return next((record for record in parsed if record is not None), None)


def lines_from(path: Path, start: int) -> Iterator[bytes]:
    """Complete lines from a byte on, for a reader that remembers how far it has come.

    They end before a line that is longer than any record.
    """
    with os_errors(path), os.fdopen(open_plain(path), "rb") as file:
        file.seek(start)
        while (line := file.readline(_LONGEST)).endswith(b"\n"):
            yield line


def sample_records(path: Path, most: int, fits: Fits = _anything) -> list[Record]:
    """Records at evenly spaced bytes, the first and the newest among them; others are not read."""
    if path.is_symlink() or not path.exists():
        return []
    with os_errors(path), os.fdopen(open_plain(path), "rb") as file:
        size = file.seek(0, os.SEEK_END)
        lines: dict[int, bytes] = {}
        for index in range(most):
            file.seek(max(0, index * size // most - 1))
            if index:
                file.readline(_TAIL)  # the rest of the line that this byte is in
            start = file.tell()
            lines[start] = file.readline(_TAIL)
    newest = last_record(path)
    parsed = [parse_record(line) for line in lines.values() if line.endswith(b"\n")]
    records = [record for record in parsed if record is not None and fits(record)]
    late = newest is not None and fits(newest) and (not records or records[-1] != newest)
    return [*records, newest] if late and newest is not None else records


def split_records(path: Path, discarded: Path, beyond: Callable[[dict[str, Any]], bool]) -> int:
    """Move records for which `beyond` is true to another file; returns how many.

    They are written to `discarded` first: a crash in between leaves a record twice and loses none.
    """
    if not any(beyond(record) for record in iterate_records(path)):
        return 0
    kept: list[bytes] = []
    dropped: list[dict[str, Any]] = []
    for line in _lines(path):
        record = parse_record(line)
        if record is not None and beyond(record):
            dropped.append(record)
        elif record is not None or line.endswith(b"\n"):
            # Damaged lines stay too, and are reported where they are.
            kept.append(line.rstrip(b"\n") + b"\n")
    for record in dropped:
        append_record(discarded, record)
    replace_bytes(path, b"".join(kept))
    return len(dropped)


def _lines(path: Path) -> Iterator[bytes]:
    if path.is_symlink() or path.exists():
        with os_errors(path), os.fdopen(open_plain(path), "rb") as file:
            yield from _bounded_lines(file)


def _bounded_lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file; of one that is longer than any record, only its end, which is no record."""
    begun = False
    while part := file.readline(_LONGEST):
        whole = part.endswith(b"\n")
        if whole or len(part) < _LONGEST:
            yield b"\0" + part[-_TAIL:] if begun else part
        begun = not whole


def parse_record(line: bytes) -> dict[str, Any] | None:
    """The object in a line; None for anything else."""
    try:
        record = parse_json(line)
    except ValueError:  # covers bytes that are not UTF-8
        return None
    # Interned: thousands of records have the same hundred names, which would be most of their memory.
    return {sys.intern(name): value for name, value in record.items()} if isinstance(record, dict) else None


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
    """Cut off a torn last line; returns the new size, and the newline where only that is missing."""
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    if os.read(descriptor, 1) == b"\n":
        return size, b""
    start, tail = size, b""
    while start > 0 and b"\n" not in tail:
        step = min(_TAIL, start)
        start = os.lseek(descriptor, start - step, os.SEEK_SET)
        tail = os.read(descriptor, step) + tail
    fragment = tail[tail.rfind(b"\n") + 1 :]
    if parse_record(fragment) is not None:  # all of the record is there, only its newline is not
        return size, b"\n"
    os.ftruncate(descriptor, size - len(fragment))
    return size - len(fragment), b""
