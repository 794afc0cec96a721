"""Inspected episodes, `inspections/<name>/`: files that can be read at any step, also while they grow.

    inspection.json         facts about the episode, and the fields of a row
    rows.bin                a row of fixed size per state: observation, values, action and reward
    frames.bin, frames.idx  the camera's picture of each state (JPEG), and the end of each picture
    planes.bin, planes.idx  planes of the network's input pictures (zlib, lossless), and the end of each

An episode of T steps has T + 1 states; row t holds state t and the step taken from there.
The last row has no step. Reading runs no code from the files, checks what it reads, and needs no NumPy.
"""

import os
import re
import shutil
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from gymsolve.errors import RunDamagedError, UnknownRunError
from gymsolve.runs import process
from gymsolve.runs.files import make_folder, open_plain, os_errors, read_json, replace_json
from gymsolve.runs.run import Run, now, open_run
from gymsolve.runs.schema import INSPECTION, find_fault
from gymsolve.runs.summary import SCHEMA_VERSION, runs_folder

_SIZES = {"u1": 1, "i4": 4, "i8": 8, "f4": 4, "f8": 8, "S64": 64}
_LISTED = (
    "checkpoint",
    "policy_sha256",
    "env_steps",
    "seed",
    "deterministic",
    "role",
    "state",
    "created",
    "length",
    "return",
    "shaped_return",
    "end",
    "parent",
    "task",
)
"""The facts of an episode in a list."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}")
_WIDEST_ROW = 4 << 20
_MOST_STATES = 1_000_001
"""The number of states of the longest episode that is inspected."""
_OFFSET = struct.Struct("<Q")
_ADOPTED = 256
"""The number of states that are copied at a time."""
_KEPT = 60
_KEPT_BYTES = 3 << 30
"""The most episodes of a run that are kept, and their most bytes; the oldest are removed first."""


class RowField(NamedTuple):
    """One field of a row, little endian; fields follow each other without gaps."""

    name: str
    kind: str
    """`u1`, `i4`, `i8`, `f4`, `f8` or `S64` (text in UTF-8, filled up with zeros)."""
    shape: tuple[int, ...] = ()

    @property
    def bytes(self) -> int:
        return _SIZES[self.kind] * prod(self.shape)


def row_fields_in(facts: Mapping[str, Any]) -> list[RowField]:
    """The fields of a row that the facts of an episode list."""
    return [RowField(field["name"], field["kind"], tuple(field["shape"])) for field in facts["fields"]]


@dataclass(frozen=True)
class Inspection:
    """An inspected episode on disk; `facts` are those of `inspection.json`, checked."""

    path: Path
    facts: dict[str, Any]

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def fields(self) -> list[RowField]:
        return row_fields_in(self.facts)

    @property
    def row_bytes(self) -> int:
        return sum(field.bytes for field in self.fields)

    @property
    def states(self) -> int:
        """Rows that are there by now."""
        return self._size("rows.bin") // self.row_bytes

    @property
    def frames(self) -> int:
        """Pictures that are there by now; 0 where there is no camera."""
        return self._size("frames.idx") // _OFFSET.size

    def summary(self) -> dict[str, Any]:
        """The episode in a list."""
        facts = {key: self.facts[key] for key in _LISTED if key in self.facts}
        return {"name": self.name, **facts, "states": self.states}

    def read_rows(self, first: int, last: int) -> bytes:
        """Rows from `first` on, before `last`; fewer where there are fewer."""
        size = self.row_bytes
        data = self._read("rows.bin", max(0, first) * size, max(0, last - first) * size)
        return data[: len(data) // size * size]

    def read_frame(self, state: int) -> bytes:
        """The picture of a state; empty where there is none."""
        return next(iter(self.read_frames(state, state + 1)), b"")

    def read_frames(self, first: int, last: int) -> list[bytes]:
        """Pictures of the states from `first` on, before `last`."""
        return self._cut("frames", max(0, first), last)

    def read_planes(self, numbers: Iterable[int]) -> list[bytes]:
        """Planes by their numbers in the pool, still compressed."""
        return [next(iter(self._cut("planes", number, number + 1)), b"") for number in numbers]

    def _cut(self, what: str, first: int, last: int) -> list[bytes]:
        """Pieces of a .bin file by the ends in its .idx file."""
        before = 1 if first > 0 else 0
        size = _OFFSET.size
        raw = self._read(f"{what}.idx", (first - before) * size, (last - first + before) * size)
        ends = [end for (end,) in _OFFSET.iter_unpack(raw[: len(raw) // size * size])]
        starts = ends if before else [0, *ends]
        ends = ends[1:] if before else ends
        if not ends:
            return []
        if any(end < start for start, end in zip(starts, ends, strict=False)):
            raise RunDamagedError("its places are not in order.", where=str(self.path / f"{what}.idx"))
        data = self._read(f"{what}.bin", starts[0], ends[-1] - starts[0])
        return [data[a - starts[0] : b - starts[0]] for a, b in zip(starts, ends, strict=False)]

    def _size(self, name: str) -> int:
        with suppress(RunDamagedError), os.fdopen(open_plain(self.path / name), "rb") as file:
            return os.fstat(file.fileno()).st_size
        return 0

    def _read(self, name: str, start: int, count: int) -> bytes:
        path = self.path / name
        with os_errors(path), os.fdopen(open_plain(path), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(min(start, size))
            return file.read(max(0, min(count, size - start)))


class InspectionWriter:
    """An episode that is being played; readers find whole rows, with all that they refer to."""

    def __init__(self, run: Run, key: str, fields: list[RowField], facts: Mapping[str, Any]) -> None:
        folder = make_folder(run.path / "inspections")
        _make_room(run)
        self.path = folder / f"{key}-{os.urandom(2).hex()}"
        with os_errors(self.path):
            self.path.mkdir()
        listed = [{"name": name, "kind": kind, "shape": list(shape)} for name, kind, shape in fields]
        head = {"schema_version": SCHEMA_VERSION, "key": key, "run": run.id, "state": "playing"}
        self.facts = {**head, "created": now(), **process.identity(), **facts, "fields": listed}
        self._write_facts()
        self._files: dict[str, BinaryIO] = {}
        self._ends = {"frames": 0, "planes": 0}
        self._planes = 0

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def frame_bytes(self) -> int:
        return self._ends["frames"]

    @property
    def plane_bytes(self) -> int:
        return self._ends["planes"]

    def add_frame(self, picture: bytes) -> None:
        """The camera's picture of the next state; may be empty."""
        self._add("frames", picture)

    def add_plane(self, data: bytes) -> int:
        """A plane for the pool; returns its number."""
        self._add("planes", data)
        self._planes += 1
        return self._planes - 1

    def add_rows(self, rows: bytes) -> None:
        """Append rows; from now on readers see them."""
        with os_errors(self.path):
            for name in ("frames.bin", "frames.idx", "planes.bin", "planes.idx"):
                if name in self._files:
                    self._files[name].flush()
            file = self._open("rows.bin")
            file.write(rows)
            file.flush()

    def adopt(self, other: Inspection, states: int, planes: int) -> None:
        """Begin with the first states of another episode, and so many planes of its pool."""
        for first in range(0, states if other.frames else 0, _ADOPTED):
            last = min(states, first + _ADOPTED)
            for frame in other.read_frames(first, last):
                self.add_frame(frame)
        for number in range(planes):
            self.add_plane(*other.read_planes([number]))
        for first in range(0, states, _ADOPTED):
            self.add_rows(other.read_rows(first, min(states, first + _ADOPTED)))

    def finish(self, state: str, facts: Mapping[str, Any]) -> Inspection:
        """Close the files and store how the episode ended; `state` is `whole` or `stopped`."""
        with os_errors(self.path):
            for file in self._files.values():
                file.close()
        self.facts |= {"state": state, **facts}
        self._write_facts()
        return Inspection(self.path, self.facts)

    def abandon(self) -> None:
        """Remove the episode."""
        for file in self._files.values():
            with suppress(OSError):  # the disk may be full
                file.close()
        shutil.rmtree(self.path, ignore_errors=True)

    def _write_facts(self) -> None:
        replace_json(self.path / "inspection.json", self.facts)

    def _add(self, what: str, data: bytes) -> None:
        self._ends[what] += len(data)
        with os_errors(self.path):
            self._open(f"{what}.bin").write(data)
            self._open(f"{what}.idx").write(_OFFSET.pack(self._ends[what]))

    def _open(self, name: str) -> BinaryIO:
        if name not in self._files:
            self._files[name] = (self.path / name).open("xb")
        return self._files[name]


def run_among(runs_dir: Path | str | None, run_id: str) -> Run:
    """The run in a folder, or a link to one, of this name; a path is refused."""
    folder = runs_folder(runs_dir)
    plain = run_id == Path(run_id).name and not run_id.startswith(".") and not {"\0", "\\"} & set(run_id)
    if not plain:
        hint = "List the runs with: gymsolve runs"
        raise UnknownRunError(f"no run in {folder} is called {run_id[:200]!r}.", hint=hint)
    return open_run(folder / run_id)


def list_inspections(run: Run) -> list[Inspection]:
    """The episodes of a run that were inspected, newest first; those that are damaged are left out."""
    inspections = []
    for path in _folders(run):
        with suppress(RunDamagedError):
            inspections.append(_open(path))
    return sorted(inspections, key=lambda inspection: str(inspection.facts["created"]), reverse=True)


def open_inspection(run: Run, name: str) -> Inspection:
    """An inspected episode by the name of its folder."""
    path = run.path / "inspections" / name
    if not _NAME.fullmatch(name) or path not in set(_folders(run)):
        raise UnknownRunError(f"run {run.id} has no inspected episode '{name}'.", hint="Inspect it again.")
    return _open(path)


def find_inspection(run: Run, key: str) -> Inspection | None:
    """The newest episode of a key that was played to its end."""
    keyed = (inspection for inspection in list_inspections(run) if inspection.facts["key"] == key)
    return next(filter(_is_whole, keyed), None)


def _is_whole(inspection: Inspection) -> bool:
    facts = inspection.facts
    return bool(facts["state"] == "whole" and inspection.states == facts.get("length", -1) + 1)


def _folders(run: Run) -> Iterator[Path]:
    folder = run.path / "inspections"
    if folder.is_symlink() or not folder.is_dir():
        return
    with os_errors(folder):
        paths = sorted(folder.iterdir())
    for path in paths:
        if _NAME.fullmatch(path.name) and path.is_dir() and not path.is_symlink():
            yield path


def _open(path: Path) -> Inspection:
    facts = read_json(path / "inspection.json")
    if (fault := find_fault(facts, INSPECTION)) is not None:
        raise RunDamagedError(f"the file {fault}.", where=str(path / "inspection.json"))
    inspection = Inspection(path, facts)
    if not 0 < inspection.row_bytes <= _WIDEST_ROW:
        raise RunDamagedError("rows of that size are not written here.", where=str(path / "inspection.json"))
    if (states := inspection.states) > _MOST_STATES:
        raise RunDamagedError(f"{states:,} states are not written here.", where=str(path / "rows.bin"))
    return inspection


def _make_room(run: Run) -> None:
    """Remove episodes of killed processes, and the oldest beyond the limits."""
    kept, size = 0, 0
    for inspection in list_inspections(run):
        folder = inspection.path
        if inspection.facts["state"] == "playing":
            if not process.is_alive(inspection.facts, folder):
                shutil.rmtree(folder, ignore_errors=True)
            continue
        kept, size = kept + 1, size + sum(path.lstat().st_size for path in folder.iterdir())
        if kept >= _KEPT or size > _KEPT_BYTES:
            shutil.rmtree(folder, ignore_errors=True)
