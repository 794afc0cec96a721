"""A log of steps, each stored once: a row names the row before it.

Trajectories to many places share their beginnings, so a trajectory is read backwards from its last row. A row
counts its references: from rows after it, cells, best trajectories and running episodes. A row without
references is freed, and so are rows that only it referred to. The time of all operations does not depend on
the number of rows.
"""

import math
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from gymsolve.experience.agent import Prefix, Rows
from gymsolve.parts import Part, arrays_below
from gymsolve.runs.inflate import inflate
from gymsolve.spec import Array, EnvSpec, Obs, ObsSpec

NOWHERE = -1
"""The row before the first one of an episode."""
_ROOM = 1024


class _Packed:
    """Compressed pictures."""

    def __init__(self, texts: list[bytes], entry: ObsSpec) -> None:
        self._texts, self._entry = texts, entry

    def __getitem__(self, some: slice, /) -> Array:
        texts, entry = self._texts[some], self._entry
        size = math.prod(entry.shape) * np.dtype(entry.dtype).itemsize
        whole = b"".join(inflate(text, size) for text in texts)
        return np.frombuffer(whole, entry.dtype).reshape(len(texts), *entry.shape).copy()


class Trajectories(Part):
    """A log of steps, linked backwards."""

    def __init__(self, spec: EnvSpec) -> None:
        kind = np.float32 if spec.action.kind == "box" else np.int64
        self._pictures = {key: entry for key, entry in spec.obs.items() if entry.kind == "image"}
        self._columns: dict[str, Array] = {
            "before": np.empty(_ROOM, np.int64),
            "needed": np.empty(_ROOM, np.int64),
            "actions": np.empty((_ROOM, spec.action.size), kind),
            "rewards": np.empty(_ROOM, np.float32),
            "cells": np.empty(_ROOM, np.uint64),
            **({"masks": np.empty((_ROOM, spec.action.mask_size), bool)} if spec.masked else {}),
            **{
                f"obs/{key}": np.empty((_ROOM, *entry.shape), entry.dtype)
                for key, entry in spec.obs.items()
                if key not in self._pictures
            },
        }
        self._packed: dict[str, list[bytes]] = {key: [] for key in self._pictures}
        self._used = 0
        """Rows that were ever used; freed ones are in `_free`."""
        self._free: list[int] = []

    def __len__(self) -> int:
        return self._used - len(self._free)

    def add(self, before: Array, columns: Mapping[str, Array], obs: Obs) -> Array:
        """Store rows; returns their numbers [B].

        `before` [B] has the number of the row before each, or −2 − its place if it is one of these.
        """
        numbers = self._take_room(len(before))
        linked = np.where(before < NOWHERE, numbers[-2 - np.minimum(before, -2)], before)
        self._columns["before"][numbers] = linked
        self._columns["needed"][numbers] = 0
        np.add.at(self._columns["needed"], linked[linked != NOWHERE], 1)
        for name, values in columns.items():
            self._columns[name][numbers] = values
        for key, values in obs.items():
            if key in self._pictures:
                for number, picture in zip(numbers.tolist(), values, strict=True):
                    self._packed[key][number] = zlib.compress(np.ascontiguousarray(picture).tobytes(), 1)
            else:
                self._columns[f"obs/{key}"][numbers] = values
        return numbers

    def _take_room(self, count: int) -> Array:
        old = [self._free.pop() for _ in range(min(count, len(self._free)))]
        first, self._used = self._used, self._used + count - len(old)
        room = len(self._columns["before"])
        if self._used > room:
            more = max(self._used, 2 * room) - room
            for name, column in self._columns.items():
                self._columns[name] = np.concatenate(
                    [column, np.empty((more, *column.shape[1:]), column.dtype)]
                )
        for packed in self._packed.values():
            packed += [b""] * (self._used - first)
        return np.array([*old, *range(first, self._used)], np.int64)

    def need(self, number: int) -> None:
        """Add a reference to a row, which keeps all rows before it."""
        if number != NOWHERE:
            self._columns["needed"][number] += 1

    def release(self, number: int) -> None:
        """Drop a reference to a row; rows without references are freed."""
        needed, before = self._columns["needed"], self._columns["before"]
        while number != NOWHERE:
            needed[number] -= 1
            if needed[number]:
                return
            for packed in self._packed.values():
                packed[number] = b""
            self._free.append(number)
            needed[number] = -1  # it is free already
            number = int(before[number])

    def drop_unneeded(self, numbers: Array) -> None:
        """Free the rows without references."""
        for number in numbers[self._columns["needed"][numbers] == 0].tolist():
            self._columns["needed"][number] = 1
            self.release(number)

    def prefix(self, number: int, most: int | None = None) -> Array:
        """The rows from the start of the episode to this one, in order, or the last `most` of them."""
        rows: list[int] = []
        while number != NOWHERE and len(rows) != most:
            rows.append(number)
            number = int(self._columns["before"][number])
        return np.array(rows[::-1], np.int64)

    def read(self, rows: Array) -> Prefix:
        """The steps in these rows, to be replayed; pictures are unpacked when they are needed."""
        obs: dict[str, Rows] = {**self._pick_pictures(rows), **self._plain(rows)}
        return Prefix(obs, self.column("actions", rows), self.column("rewards", rows))

    def _pick_pictures(self, rows: Array) -> dict[str, _Packed]:
        return {
            key: _Packed([packed[row] for row in rows.tolist()], self._pictures[key])
            for key, packed in self._packed.items()
        }

    def column(self, name: str, rows: Array) -> Array:
        return self._columns[name][rows]

    @property
    def masked(self) -> bool:
        return "masks" in self._columns

    def seen(self, rows: Array) -> Obs:
        """The observations [B, …] at the beginnings of these steps."""
        return {key: packed[:] for key, packed in self._pick_pictures(rows).items()} | self._plain(rows)

    def _plain(self, rows: Array) -> Obs:
        """Entries that are no pictures."""
        return {key: column[rows] for key, column in arrays_below(self._columns, "obs/").items()}

    # ------------------------------------------------------------------------------ state

    def arrays(self) -> dict[str, Array]:
        kept = {name: column[: self._used] for name, column in self._columns.items()}
        for key, packed in self._packed.items():
            kept |= {f"pictures/{key}/{name}": array for name, array in pack_texts(packed).items()}
        return kept | {"free": np.array(self._free, np.int64)}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        self._used, self._free = len(arrays["before"]), arrays["free"].tolist()
        for name, column in self._columns.items():
            saved = arrays[name]
            if saved.shape[1:] != column.shape[1:] or saved.dtype != column.dtype or len(saved) != self._used:
                raise ValueError(f"{name} has another shape")
            room = np.empty((max(_ROOM, self._used), *column.shape[1:]), column.dtype)
            room[: self._used] = saved
            self._columns[name] = room
        for key in self._packed:
            self._packed[key] = unpack_texts(arrays, f"pictures/{key}/")
        return []

    def fits(self, arrays: Mapping[str, Array]) -> bool:
        """True if these rows are of the same spaces."""
        return all(
            name in arrays
            and arrays[name].shape[1:] == column.shape[1:]
            and arrays[name].dtype == column.dtype
            for name, column in self._columns.items()
        )


def pack_texts(texts: list[bytes]) -> dict[str, Array]:
    """Bytes of any length as two arrays."""
    return {
        "bytes": np.frombuffer(b"".join(texts), np.uint8),
        "lengths": np.array([len(text) for text in texts], np.int64),
    }


def unpack_texts(arrays: Mapping[str, Array], prefix: str) -> list[bytes]:
    whole, ends = arrays[f"{prefix}bytes"].tobytes(), np.cumsum(arrays[f"{prefix}lengths"]).tolist()
    return [whole[start:end] for start, end in zip([0, *ends], ends, strict=False)]
