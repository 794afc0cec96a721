"""Files that survive a crash: atomic replacement, strict JSON, locks, and errors that say what to do.

Every file of a run is written through here or `records.py`. A replaced file is either the old or the
new one in full, never a mixture, and it is on the disk before it gets its name. This module knows
nothing of runs.
"""

import errno
import json
import math
import os
import re
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NoReturn

from gymsolve.errors import RunDamagedError
from gymsolve.runs.schema import is_shallow

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_STRICT = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_TEXT, _VALUES = {str}, {str, int, float, bool, type(None)}
_CONTROL = re.compile(
    "[\0-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Control characters, characters that change the direction of text, and halves of surrogate pairs."""
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|.)")
_LARGEST = 64 << 20
"""Larger JSON files are not read: their objects would take some twenty times as many bytes."""
PLAINLY = 0 if sys.platform == "win32" else os.O_NOFOLLOW | os.O_NONBLOCK
"""Flags for opening files of a run: links are not followed, and a pipe does not block."""
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
    errno.ELOOP: ("this is a link, and links inside a run are not followed.", "Put the file itself there."),
    errno.ENXIO: ("this is not a plain file.", "Move it away."),
    errno.ENOENT: ("no such file or folder.", "Was the run moved or deleted?"),
    errno.EISDIR: ("this is a folder, not a file.", "Name a file."),
    errno.ENAMETOOLONG: ("this name is too long for the file system.", "Use a shorter one."),
    errno.EIO: ("the device failed to read or write.", f"Check the disk, or {_ELSEWHERE}."),
    errno.EMFILE: ("too many files are open.", "Allow more with: ulimit -n 4096, or use fewer env.workers."),
    errno.ENFILE: ("this machine has too many files open.", "End other programs, or use fewer env.workers."),
    errno.EAGAIN: (
        "the system refuses more processes.",
        "Use fewer: --set env.workers=2, or raise ulimit -u.",
    ),
    errno.ENOMEM: ("there is not enough memory.", "End other programs, or use fewer env.workers."),
}


class HeldError(RunDamagedError):
    """Another process holds a lock for too long."""


@contextmanager
def os_errors(path: Path) -> Iterator[None]:
    """Turn an operating-system error on `path` into one sentence with a fix."""
    try:
        yield
    except OSError as error:
        raise explain_os_error(error, path) from error


def explain_os_error(error: OSError, path: Path) -> RunDamagedError:
    """An operating-system error on `path`, as one sentence with a fix."""
    if error.errno == errno.ENOENT and is_adrift(path):
        return adrift()
    fallback = (f"{(error.strerror or str(error)).lower()}.", None)
    message, hint = _FAULTS.get(error.errno or 0, fallback)
    return RunDamagedError(message, where=str(path), hint=hint)


def is_adrift(path: Path) -> bool:
    """The path counts from the working directory, and that has been deleted."""
    if path.is_absolute():
        return False
    try:
        Path.cwd()
    except FileNotFoundError:
        return True
    return False


def adrift() -> RunDamagedError:
    """The error about a working directory that has been deleted."""
    return RunDamagedError("the working directory has been deleted.", hint="Change to another one with: cd")


def is_known_fault(error: OSError) -> bool:
    """There is a sentence for this fault of the machine or the request."""
    return error.errno in _FAULTS


def os_sentence(error: OSError) -> RunDamagedError:
    """An unexpected operating-system error, with the path that it names itself."""
    if isinstance(error.filename, str | bytes):
        return explain_os_error(error, Path(os.fsdecode(error.filename)))
    explained = explain_os_error(error, Path())
    about_runs = _ELSEWHERE in (explained.hint or "") or explained.hint == _FAULTS[errno.ENOENT][1]
    return RunDamagedError(explained.message, hint=None if about_runs else explained.hint)


# -------------------------------------------------------------------------------------- JSON


def to_json(data: object, *, indent: int | None = None, exact: bool = False) -> str:
    """Strict JSON of plain data and NumPy scalars.

    JSON has no NaN or infinity: they become null, or with `exact` an object that `from_exact` turns back into
    the number.
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


def open_plain(path: Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a plain file; a link, a pipe or a device in its place is refused, not waited for."""
    with os_errors(path):
        descriptor = os.open(path, flags | PLAINLY, 0o666)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise RunDamagedError("this is not a plain file.", where=str(path), hint="Move it away.")
    return descriptor


def read_file(path: Path, *, most: int | None = None) -> bytes:
    """The bytes of a plain file; one of more than `most` is refused."""
    with os_errors(path), os.fdopen(open_plain(path), "rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if most is not None and size > most:
            raise RunDamagedError(f"the file is too large ({size:,} bytes) to be right.", where=str(path))
        return file.read()


def parse_json(raw: bytes, *, exact: bool = False) -> Any:
    """The data in JSON; a ValueError for invalid JSON, and for NaN, which gymsolve never writes.

    Unless `exact` is set, control characters come back as U+FFFD.
    """
    text = raw.decode("utf-8-sig")
    if not exact and ("\\" in text or not text.isascii()):
        text = _CONTROL.sub("\N{REPLACEMENT CHARACTER}", _ESCAPE.sub(_harmless, text))
    try:
        return _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _harmless(escape: re.Match[str]) -> str:
    """An escape sequence of JSON, or that of U+FFFD if it stands for a control character."""
    code = escape[1]
    steers = escape[0] in ("\\b", "\\f") if code is None else _CONTROL.match(chr(int(code, 16)))
    return "\\ufffd" if steers else escape[0]


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
"""Made once: `json.loads` would make one for every line."""


def read_json(path: Path) -> dict[str, Any]:
    """The object in a JSON file; damage is an error that names the file."""
    raw = read_file(path, most=_LARGEST)
    try:
        data = parse_json(raw)
    except ValueError as error:  # covers bytes that are not UTF-8
        raise RunDamagedError("the file is not valid JSON.", where=str(path)) from error
    if not isinstance(data, dict):
        raise RunDamagedError("the file does not hold a JSON object.", where=str(path))
    if not is_shallow(data):
        raise RunDamagedError("the file has numbers or nesting beyond all measure.", where=str(path))
    return data


def read_pointer(path: Path) -> str:
    """The name in a small file; empty where the file cannot be read."""
    try:
        return read_file(path, most=4096).decode(errors="replace").strip()
    except RunDamagedError:
        return ""


# ------------------------------------------------------------------------ atomic replacement


def replace_json(path: Path, data: dict[str, Any]) -> None:
    replace_text(path, to_json(data, indent=2) + "\n")


def replace_text(path: Path, text: str) -> None:
    replace_bytes(path, text.encode(errors="replace"))


def replace_bytes(path: Path, data: bytes) -> None:
    """Write a file so that a reader, or a crash at any moment, finds the old or the new content."""
    temporary = path.with_name(f".{path.name}-{os.urandom(4).hex()}.tmp")
    with os_errors(path):
        try:
            write_synced(temporary, data, "xb")
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)  # only still there when something went wrong
        sync_folder(path.parent)


def write_synced(path: Path, data: bytes, mode: Literal["wb", "xb"] = "wb") -> None:
    """Write a file that is on the disk when this returns."""
    with path.open(mode) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def plain_files(folder: Path, pattern: str) -> list[Path]:
    """Files of a folder, by name, without links and names with control characters."""
    paths = [] if folder.is_symlink() else sorted(folder.glob(pattern))
    return [path for path in paths if path.name.isprintable() and path.is_file() and not path.is_symlink()]


def remove_leftovers(folder: Path) -> None:
    """Remove temporary files of killed processes; for a folder that no other process writes now."""
    for path in folder.glob(".*.tmp"):
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)


def make_folder(path: Path) -> Path:
    """A folder inside a run, created if missing; a link in its place is refused."""
    with os_errors(path):
        path.mkdir(exist_ok=True)
    if path.is_symlink():
        raise explain_os_error(OSError(errno.ELOOP, ""), path)
    return path


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
        descriptor = open_plain(path, os.O_RDWR | os.O_CREAT)
    try:
        lock_descriptor(descriptor, path, timeout=timeout)
        yield
    finally:
        os.close(descriptor)


def lock_descriptor(descriptor: int, path: Path, *, timeout: float = 20.0) -> None:
    """Lock an open file until it is closed; a `HeldError` if another process holds it for too long."""
    if _try_lock(descriptor, path):  # by far the most common case, once per record
        return
    deadline = time.monotonic() + timeout
    while not _try_lock(descriptor, path):
        if time.monotonic() > deadline:
            raise HeldError(
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
