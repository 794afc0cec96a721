"""A run as one zip file, and back: for places that keep files."""

import shutil
import stat
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

from gymsolve.errors import RunDamagedError, UsageError
from gymsolve.runs.files import locked, os_errors, read_json
from gymsolve.runs.index import LOCK, record_run
from gymsolve.runs.run import RUN_ID, Run, open_run
from gymsolve.runs.summary import runs_folder
from gymsolve.runs.trust import forget_run

__all__ = ["pack_run", "unpack_run"]

_LEFT_OUT = ("wandb", "stop")
"""Files that stay out of the archive: W&B's own copy, and a request to stop that was met."""


def pack_run(run: Run, archive: Path) -> int:
    """Write a run that is over into a zip file; returns the number of files."""
    if run.status == "running":
        raise UsageError(
            f"run {run.id} is still training.", hint=f"Wait for it, or stop it with: gymsolve stop {run.id}"
        )
    files = [path for path in sorted(run.path.rglob("*")) if path.is_file() and _belongs(run, path)]
    with os_errors(archive), zipfile.ZipFile(archive, "x", zipfile.ZIP_DEFLATED) as packed:
        for path in files:
            packed.write(path, path.relative_to(run.path).as_posix())
    return len(files)


def unpack_run(archive: Path, base: Path | str | None = None) -> Run:
    """Unpack a run among the others; its folder appears only when it is complete."""
    folder = runs_folder(base).absolute()
    with os_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".unpack-", dir=folder) as place:
        _extract(archive, Path(place) / "run")
        name = read_json(Path(place) / "run" / "run.json").get("id")
        if not isinstance(name, str) or not RUN_ID.fullmatch(name):
            raise RunDamagedError(
                f"its run.json names no run that could be one ({name!r}).", where=str(archive)
            )
        target = folder / name
        with locked(folder / LOCK):
            if target.exists():
                raise UsageError(f"run {name} is here already.", where=str(target))
            forget_run(name)
            with os_errors(target):
                shutil.move(Path(place) / "run", target)
            record_run(target)
    return open_run(target)


def _belongs(run: Run, path: Path) -> bool:
    parts = path.relative_to(run.path).parts
    return parts[0] not in _LEFT_OUT and not path.is_symlink() and not path.name.startswith(".")


def _extract(archive: Path, target: Path) -> None:
    """Plain files below `target` and nothing else: an archive from elsewhere may hold any name."""
    try:
        with os_errors(archive), zipfile.ZipFile(archive) as packed:
            for entry in packed.infolist():
                inside = PurePosixPath(entry.filename)
                kind = stat.S_IFMT(entry.external_attr >> 16)
                odd = (
                    inside.is_absolute()
                    or ".." in inside.parts
                    or "\\" in entry.filename
                    or ":" in entry.filename
                )
                if odd or kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                    raise RunDamagedError(
                        f"'{entry.filename}' in it would be written elsewhere.", where=str(archive)
                    )
            packed.extractall(target)
    except (zipfile.BadZipFile, EOFError, NotImplementedError) as error:
        raise RunDamagedError("the file is not a zip file that can be read.", where=str(archive)) from error
    if not (target / "run.json").is_file():
        raise RunDamagedError("there is no run in it (no run.json).", where=str(archive))
