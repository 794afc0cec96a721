"""Finds the files of one training below a path, and refuses those that must not be read.

Only regular files are opened, since reading a pipe would wait, and only up to a size, since a log is read as
a whole. A folder with logs of several trainings is never taken for one: its logs are listed.
"""

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

from gymsolve.errors import RunDamagedError, UnknownRunError, UsageError
from gymsolve.text import plural

Tool = Literal["progress", "tensorboard", "monitor", "wandb"]
MOST_BYTES = 256 * 1024 * 1024
_DEPTH = 4
_MOST_ENTRIES = 20_000
"""The most files and folders that are visited below a path."""
_SHOWN = 20
_COPY = re.compile(r"\d+\.monitor\.csv")
"""The name that Stable-Baselines3 gives the Monitor file of each copy in a vector environment."""


class Place(NamedTuple):
    """The log of one training."""

    tool: Tool
    path: Path
    """The folder or file that names it."""
    files: tuple[Path, ...]
    monitors: tuple[Path, ...] = ()
    """Monitor files of the same training beside it."""


def choose_place(path: Path) -> Place:
    """The only log at a path; several are listed, so that one can be named."""
    if path.is_file():
        tool = _tool(path)
        if tool is None:
            raise _nothing(path)
        return Place(tool, path, (path,))
    if not path.is_dir():
        if path.exists():
            raise RunDamagedError("is neither a file nor a folder, so it is not read.", where=str(path))
        raise UnknownRunError(f"there is no file or folder '{path}'.")
    # Folders below a log belong to it, such as a folder of evaluations.
    places = _places(path) or [place for folder in _folders(path) for place in _places(folder)]
    if not places:
        raise _nothing(path)
    if len(places) > 1:
        names = [str(place.path) for place in places]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        listed = "".join(f"\n  {name}" for name in names[:_SHOWN])
        raise UsageError(f"'{path}' holds {plural(len(names), 'log')}; name one of them:{listed}{more}")
    return places[0]


def require_readable(files: tuple[Path, ...]) -> None:
    """Refuse files that are not regular ones, or that would fill the memory."""
    total = 0
    for file in files:
        if not file.is_file():
            raise RunDamagedError("is no regular file, so it is not read.", where=str(file))
        total += file.stat().st_size
    if total > MOST_BYTES:
        message = f"is too large to be read ({total / 2**20:,.0f} MiB; at most {MOST_BYTES // 2**20})."
        raise RunDamagedError(message, where=str(files[0]), hint="Give a part of it.")


def _tool(file: Path) -> Tool | None:
    if file.suffix == ".wandb":
        return "wandb"
    if file.name.endswith("monitor.csv"):
        return "monitor"
    if file.suffix == ".csv":
        return "progress"
    return "tensorboard" if "tfevents" in file.name else None


def _folders(path: Path) -> Iterator[Path]:
    """The folder and those below it, in order of their names; links are not followed."""
    left = _MOST_ENTRIES
    stack = [(path, 0)]
    while stack:
        folder, depth = stack.pop()
        yield folder
        inner = []
        with os.scandir(folder) as entries:
            for entry in entries:
                left -= 1
                if left < 0:
                    return
                if depth < _DEPTH and entry.is_dir(follow_symlinks=False):
                    inner.append(Path(entry.path))
        stack += [(below, depth + 1) for below in sorted(inner, reverse=True)]


def _places(folder: Path) -> list[Place]:
    """The logs of the trainings in a folder, not of those below it."""
    files = sorted(file for file in _entries(folder) if _tool(file) is not None)
    by_tool = {tool: [file for file in files if _tool(file) == tool] for tool in ("monitor", "tensorboard")}
    monitors = by_tool["monitor"]
    copies = tuple(monitors) if _is_one_vector(monitors) else ()
    wandb = [Place("wandb", folder, (file,)) for file in files if file.suffix == ".wandb"]
    if wandb:
        return wandb if len(wandb) == 1 else [place._replace(path=place.files[0]) for place in wandb]
    if folder / "progress.csv" in files:
        return [Place("progress", folder, (folder / "progress.csv",), copies)]
    if by_tool["tensorboard"]:
        return [Place("tensorboard", folder, tuple(by_tool["tensorboard"]), copies)]
    if copies:
        return [Place("monitor", folder, copies)]
    return [Place("monitor", file, (file,)) for file in monitors]


def _entries(folder: Path) -> list[Path]:
    with os.scandir(folder) as entries:
        return [Path(entry.path) for entry in islice(entries, _MOST_ENTRIES) if entry.is_file()]


def _is_one_vector(monitors: list[Path]) -> bool:
    return len(monitors) == 1 or all(_COPY.fullmatch(file.name) for file in monitors)


def _nothing(path: Path) -> UnknownRunError:
    return UnknownRunError(
        f"'{path}' holds no log that can be read.",
        hint="Give a run, a progress.csv or monitor.csv of Stable-Baselines3, a TensorBoard folder, "
        "an offline run of W&B, or wandb:ENTITY/PROJECT/RUN.",
    )
