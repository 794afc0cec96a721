"""Packs a run into a zip file, and unpacks it."""

import lzma
import os
import shutil
import stat
import struct
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from gymsolve.errors import RunDamagedError, UsageError
from gymsolve.runs.files import lock_descriptor, locked, os_errors, read_json
from gymsolve.runs.index import LOCK, record_run
from gymsolve.runs.run import RUN_ID, Run, open_run
from gymsolve.runs.summary import read_info, runs_folder
from gymsolve.runs.trust import forget_run

_LEFT_OUT = ("wandb", "stop")
"""Files that are not packed: W&B's own copy, and a request to stop."""
_UNPACKING = ".unpack-"
_ENTRIES = 100_000
_DEEPEST = 16
"""Folders within folders; runs have some four."""
_BYTES, _RATIO = 1 << 30, 100
"""A larger run must not have more than so many times the bytes of its archive."""
_KINDS = (0, stat.S_IFREG, stat.S_IFDIR)
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    NotImplementedError,
    ValueError,
    LookupError,
)


def pack_run(run: Run, archive: Path) -> int:
    """Write a run that is over into a zip file; returns the number of files."""
    if run.status == "running":
        hint = f"Wait for it, or stop it with: gymsolve stop {run.id}"
        raise UsageError(f"run {run.id} is still training.", hint=hint)
    with (
        os_errors(archive),
        zipfile.ZipFile(archive, "x", zipfile.ZIP_DEFLATED, strict_timestamps=False) as packed,
    ):
        try:
            files = [path for path in sorted(run.path.rglob("*")) if path.is_file() and _belongs(run, path)]
            for path in files:
                packed.write(path, path.relative_to(run.path).as_posix())
        except BaseException:
            archive.unlink(missing_ok=True)  # half an archive looks like a whole one
            raise
    return len(files)


def unpack_run(archive: Path, base: Path | str | None = None, *, asked: str | None = None) -> Run:
    """Unpack a run among the others; its folder appears only when it is complete. `asked` is its id if known.

    Code that it names is not trusted (`trust.py`), even if a run of this id was.
    """
    folder = runs_folder(base).absolute()
    with os_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with _workplace(folder) as place:
        _extract(archive, place / "run")
        name = read_json(place / "run" / "run.json").get("id")
        if not isinstance(name, str) or not RUN_ID.fullmatch(name) or len(name) > 200:
            message = f"its run.json names no run that could be one ({ascii(name)[:60]})."
            raise RunDamagedError(message, where=str(archive))
        if asked not in (None, name):
            raise RunDamagedError(f"it is that of another run ({name}).", where=str(archive))
        read_info(place / "run")
        target = folder / name
        with locked(folder / LOCK):
            if os.path.lexists(target):
                raise UsageError(f"run {name} is here already.", where=str(target))
            forget_run(name)
            with os_errors(target):
                shutil.move(place / "run", target)
            record_run(target)
    return open_run(target)


def _belongs(run: Run, path: Path) -> bool:
    parts = path.relative_to(run.path).parts
    plain = path.name.isprintable() and not path.name.startswith(".") and not path.is_symlink()
    return plain and parts[0] not in _LEFT_OUT


@contextmanager
def _workplace(folder: Path) -> Iterator[Path]:
    """A folder to unpack in; folders of killed processes are removed."""
    with locked(folder / LOCK):
        for old in folder.glob(f"{_UNPACKING}*"):
            if _is_abandoned(old):
                shutil.rmtree(old, ignore_errors=True)
        with os_errors(folder):
            place = Path(tempfile.mkdtemp(prefix=_UNPACKING, dir=folder))
        descriptor = None if sys.platform == "win32" else os.open(place, os.O_RDONLY)
        if descriptor is not None:
            lock_descriptor(descriptor, place)
    try:
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if descriptor is not None:
            os.close(descriptor)


def _is_abandoned(place: Path) -> bool:
    """The process that unpacked here has ended: it no longer holds its lock on the folder."""
    if sys.platform == "win32" or place.is_symlink() or not place.is_dir():
        return False
    descriptor = os.open(place, os.O_RDONLY)
    try:
        lock_descriptor(descriptor, place, timeout=0.0)
    except RunDamagedError:
        return False
    finally:
        os.close(descriptor)
    return True


def _extract(archive: Path, target: Path) -> None:
    """Extract plain files below `target` alone: an archive may hold any name and claim any size."""
    try:
        with os_errors(archive), zipfile.ZipFile(archive) as packed:
            _check(packed.infolist(), archive)
            with os_errors(target):
                packed.extractall(target)
    except _DAMAGE as error:
        raise RunDamagedError("the file is not a zip file that can be read.", where=str(archive)) from error
    if not (target / "run.json").is_file():
        raise RunDamagedError("there is no run in it (no run.json).", where=str(archive))


def _check(entries: list[zipfile.ZipInfo], archive: Path) -> None:
    size = sum(entry.file_size for entry in entries)
    if len(entries) > _ENTRIES or size > max(_BYTES, _RATIO * archive.stat().st_size):
        message = f"it would unpack to {size:,} bytes in {len(entries):,} files, more than any run."
        raise RunDamagedError(message, where=str(archive))
    for entry in entries:
        inside = PurePosixPath(entry.filename)
        name = entry.filename
        strange = not name or not name.isprintable() or any(sign in name for sign in "\\:")
        outside = inside.is_absolute() or ".." in inside.parts
        if strange or outside or stat.S_IFMT(entry.external_attr >> 16) not in _KINDS:
            raise RunDamagedError(f"{_short(name)} in it would be written elsewhere.", where=str(archive))
        if len(inside.parts) > _DEEPEST:
            message = f"{_short(name)} in it lies deeper than any file of a run."
            raise RunDamagedError(message, where=str(archive))
        if entry.flag_bits & 1:
            raise RunDamagedError("it is encrypted.", where=str(archive), hint="Decrypt it first.")


def _short(name: str) -> str:
    """A name in a message, cut where it is long."""
    text = ascii(name)
    return text if len(text) <= 80 else f"{text[:77]}..."
