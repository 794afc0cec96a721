"""Files that survive a crash: atomic replacement, strict JSON, locks, and errors that say what to do.

Every file of a run is written through here or `records.py`. A replaced file is either the old or the
new one in full, never a mixture, and it is on the disk before it gets its name. This module knows
nothing of runs.
"""

import errno
import json
import math
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gymsolve.errors import RunDamagedError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

__all__ = [
    "explain_os_error",
    "from_exact",
    "is_known_fault",
    "lock_descriptor",
    "locked",
    "os_errors",
    "os_sentence",
    "read_json",
    "remove_leftovers",
    "replace_bytes",
    "replace_json",
    "replace_text",
    "sync_folder",
    "to_json",
]

_STRICT = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_TEXT, _VALUES = {str}, {str, int, float, bool, type(None)}
_ELSEWHERE = "set GYMSOLVE_RUNS to a folder that can be written"
_FAULTS = {
    errno.ENOSPC: ("the disk is full.", f"Free some space, or {_ELSEWHERE}."),
    errno.EDQUOT: ("the disk quota is used up.", f"Free some space, or {_ELSEWHERE}."),
    errno.EFBIG: ("the file would exceed the size limit.", "Raise the limit with: ulimit -f unlimited"),
    errno.EROFS: ("the file system is read-only.", f"Remount it, or {_ELSEWHERE}."),
    errno.EACCES: ("permission denied.", f"Change the permissions, or {_ELSEWHERE}."),
    errno.EPERM: ("permission denied.", f"Change the permissions, or {_ELSEWHERE}."),
    errno.ENOTDIR: ("a part of this path is a file, not a folder.", f"Move that file, or {_ELSEWHERE}."),
    errno.EEXIST: ("something else is in this place.", f"Move it away, or {_ELSEWHERE}."),
    errno.ENOENT: ("no such file or folder.", "Was the run moved or deleted?"),
    errno.EISDIR: ("this is a folder, not a file.", "Name a file."),
    errno.ENAMETOOLONG: ("this name is too long for the file system.", "Use a shorter one."),
    errno.ELOOP: ("symbolic links lead in a circle.", "Remove one of them."),
    errno.EIO: ("the device failed to read or write.", f"Check the disk, or {_ELSEWHERE}."),
    errno.EMFILE: ("too many files are open.", "Allow more with: ulimit -n 4096, or use fewer env.workers."),
    errno.ENFILE: ("this machine has too many files open.", "End other programs, or use fewer env.workers."),
    errno.EAGAIN: (
        "the system refuses more processes.",
        "Use fewer: --set env.workers=2, or raise ulimit -u.",
    ),
    errno.ENOMEM: ("there is not enough memory.", "End other programs, or use fewer env.workers."),
}


@contextmanager
def os_errors(path: Path) -> Iterator[None]:
    """Turn an operating-system error on `path` into one sentence with a fix."""
    try:
        yield
    except OSError as error:
        raise explain_os_error(error, path) from error


def explain_os_error(error: OSError, path: Path) -> RunDamagedError:
    """An operating-system error on `path`, as one sentence with a fix."""
    fallback = (f"{(error.strerror or str(error)).lower()}.", None)
    message, hint = _FAULTS.get(error.errno or 0, fallback)
    return RunDamagedError(message, where=str(path), hint=hint)


def is_known_fault(error: OSError) -> bool:
    """Is it a fault of the machine or the request, for which there is a sentence?"""
    return error.errno in _FAULTS


def os_sentence(error: OSError) -> RunDamagedError:
    """An operating-system error that nobody expected where it came, with the path that it names itself."""
    if isinstance(error.filename, str | bytes):
        return explain_os_error(error, Path(os.fsdecode(error.filename)))
    told = explain_os_error(error, Path())
    advice = None if _ELSEWHERE in (told.hint or "") else told.hint  # it need not be about a run
    return RunDamagedError(told.message, hint=advice)


# -------------------------------------------------------------------------------------- JSON


def to_json(data: object, *, indent: int | None = None, exact: bool = False) -> str:
    """Strict JSON of plain data and NumPy scalars.

    JSON has no NaN or infinity: they become null, or with `exact` an object that `from_exact` turns
    back, for state that must survive a round trip unchanged.
    """
    if indent is None and _is_flat(data):  # nearly all records are: a training writes one per update
        try:
            return _STRICT.encode(data)
        except ValueError:
            pass  # it holds a NaN or an infinity
    return json.dumps(_plain(data, exact), indent=indent, ensure_ascii=False, allow_nan=False)


def _is_flat(data: object) -> bool:
    """An object of plain values, which needs no conversion."""
    if type(data) is not dict:
        return False
    return _TEXT.issuperset(map(type, data)) and _VALUES.issuperset(map(type, data.values()))


def from_exact(data: Any) -> Any:
    """Undo `to_json(..., exact=True)` after parsing."""
    if isinstance(data, dict):
        if set(data) == {"$float"}:
            return float(data["$float"])
        return {key: from_exact(value) for key, value in data.items()}
    if isinstance(data, list):
        return [from_exact(value) for value in data]
    return data


def _plain(data: Any, exact: bool) -> Any:
    if isinstance(data, float):
        if math.isfinite(data):
            return float(data)
        return {"$float": repr(float(data))} if exact else None
    if data is None or isinstance(data, (str, int)):
        return data
    if isinstance(data, dict):
        for key in data:
            if not isinstance(key, str):  # json would turn 1 into "1", and a resumed run would differ
                raise TypeError(f"JSON keys must be strings, not {key!r}")
        return {key: _plain(value, exact) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_plain(value, exact) for value in data]
    numpy = sys.modules.get("numpy")  # a NumPy scalar cannot exist before NumPy is imported
    if numpy is not None and isinstance(data, numpy.generic):
        return _plain(data.item(), exact)
    raise TypeError(f"{type(data).__name__} cannot be stored as JSON")


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; damage is an error that names the file."""
    with os_errors(path):
        raw = path.read_bytes()
    try:
        data = json.loads(raw)
    except ValueError as error:  # covers bytes that are not UTF-8
        raise RunDamagedError("the file is not valid JSON.", where=str(path)) from error
    if not isinstance(data, dict):
        raise RunDamagedError("the file does not hold a JSON object.", where=str(path))
    return data


# ------------------------------------------------------------------------ atomic replacement


def replace_json(path: Path, data: dict[str, Any]) -> None:
    replace_text(path, to_json(data, indent=2) + "\n")


def replace_text(path: Path, text: str) -> None:
    replace_bytes(path, text.encode())


def replace_bytes(path: Path, data: bytes) -> None:
    """Write a file so that a reader, or a crash at any moment, finds the old or the new content."""
    temporary = path.with_name(f".{path.name}-{os.urandom(4).hex()}.tmp")
    with os_errors(path):
        try:
            with temporary.open("xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)  # only still there when something went wrong
        sync_folder(path.parent)


def remove_leftovers(folder: Path) -> None:
    """Remove what killed processes left of replacements; for a folder that nobody else writes now."""
    for path in folder.glob(".*.tmp"):
        path.unlink(missing_ok=True)


def sync_folder(path: Path) -> None:
    """Make renames in a folder durable, where the platform can."""
    if sys.platform == "win32":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# ------------------------------------------------------------------------------------- locks


@contextmanager
def locked(path: Path, *, timeout: float = 20.0) -> Iterator[None]:
    """Hold the lock file `path`; it is never removed, and a killed holder frees it."""
    with os_errors(path):
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        lock_descriptor(descriptor, path, timeout=timeout)
        yield
    finally:
        os.close(descriptor)


def lock_descriptor(descriptor: int, path: Path, *, timeout: float = 20.0) -> None:
    """Lock an open file until it is closed, or say that another process does not let go."""
    if _try_lock(descriptor, path):  # by far the commonest, once per record
        return
    deadline = time.monotonic() + timeout
    while not _try_lock(descriptor, path):
        if time.monotonic() > deadline:
            raise RunDamagedError(
                f"another process has held this file's lock for {timeout:g} seconds.",
                where=str(path),
                hint="End the process that hangs (a suspended gymsolve?) and try again.",
            )
        time.sleep(0.01)


def _try_lock(descriptor: int, path: Path) -> bool:
    try:
        if sys.platform == "win32":
            # Windows locks are mandatory: take a byte far behind any content, so readers are not blocked.
            os.lseek(descriptor, 1 << 30, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK):
            return False
        with os_errors(path):
            raise
    return True
