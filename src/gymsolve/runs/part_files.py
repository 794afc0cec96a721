"""Files that parts of a trainer own, such as the segments of a replay buffer.

They lie in `checkpoints/parts/`, which all checkpoints of a run share: a part writes only what is new. A file
never changes once it is written. `meta.json` of each checkpoint names those that it needs, with their
checksums, and a file that no checkpoint needs any more is deleted.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from gymsolve.errors import CheckpointError
from gymsolve.runs.files import sync_folder, write_synced


def write_part_file(folder: Path, name: str, data: bytes) -> None:
    """Write a file under its name only when it is complete and on the disk."""
    folder.mkdir(parents=True, exist_ok=True)
    fresh = folder / f".new-{name}"
    write_synced(fresh, data)
    fresh.rename(folder / name)
    sync_folder(folder)


def seal_part_files(folder: Path, needed: Mapping[str, Sequence[str]]) -> dict[str, dict[str, Any]]:
    """Size and checksum of the files that each part needs, for `meta.json`."""
    return {owner: {name: _facts(folder / name) for name in names} for owner, names in needed.items()}


def verify_part_files(folder: Path, sealed: Mapping[str, Mapping[str, Any]]) -> dict[str, tuple[str, ...]]:
    """Names of files by part; a missing or damaged file is an error."""
    for names in sealed.values():
        for name, expected in names.items():
            path = folder / Path(name).name
            if path.is_symlink() or not path.is_file():
                raise CheckpointError("the file is missing.", where=str(path))
            if _facts(path) != expected:
                raise CheckpointError("the file is damaged (its checksum differs).", where=str(path))
    return {owner: tuple(names) for owner, names in sealed.items()}


def drop_part_files(folder: Path, metas: Iterable[Mapping[str, Any]]) -> None:
    """Delete files that none of these checkpoints needs."""
    needed = {name for meta in metas for names in meta.get("part_files", {}).values() for name in names}
    for path in folder.iterdir():
        if path.name not in needed:
            path.unlink()


def _facts(path: Path) -> dict[str, Any]:
    stat = path.stat()
    return {"sha256": _digest(path, stat.st_size, stat.st_mtime_ns), "size": stat.st_size}


@lru_cache(maxsize=4096)
def _digest(path: Path, size: int, changed: int) -> str:
    """The checksum of a file; files that have not changed are not read again."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
