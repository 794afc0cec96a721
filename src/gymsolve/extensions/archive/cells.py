"""The archive of Go-Explore: for each cell the best way there that is known, and a snapshot to start from.

A way is better that scored more, or as much in fewer steps. Cells that were seldom seen are drawn more often.
Whatever is done here takes as long with a hundred thousand cells as with a thousand; only when cells are cut
otherwise, which happens ever more rarely, all of them are looked at.
"""

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gymsolve.envs.contract import Snapshot
from gymsolve.extensions.archive.count_sampler import RarelySeen
from gymsolve.extensions.archive.trajectories import Trajectories, pack_texts, unpack_texts
from gymsolve.spec import Array


def pack_snapshot(snapshot: Snapshot) -> bytes:
    """As it is kept: a snapshot is JSON, and mostly empty frames."""
    return zlib.compress(json.dumps(snapshot).encode(), 1)


@dataclass(slots=True)
class Place:
    """The best way to a cell."""

    score: float
    """Sum of rewards since the reset, as the agent sees them."""
    length: int
    """Steps since the reset."""
    snapshot: bytes
    picture: bytes
    row: int = -1
    """The last step of the way, among the trajectories."""
    chosen: int = 0
    """How often an episode began here."""
    paid: bool = False
    """Was any reward on the way above 0?"""

    def is_better(self, score: float, length: int) -> bool:
        """Is it better than another way?"""
        return self.score > score or (self.score == score and self.length < length)

    def unpack(self) -> Snapshot:
        """The snapshot to jump to."""
        snapshot: Snapshot = json.loads(zlib.decompress(self.snapshot))
        return snapshot


class Archive:
    """Cells by their number, in the order in which they were found."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.places: list[Place] = []
        self.keys: list[int] = []
        self.index: dict[int, int] = {}
        """Where each cell is in the lists."""
        self.rarely = RarelySeen()

    def __len__(self) -> int:
        return len(self.places)

    def find(self, key: int) -> Place | None:
        place = self.index.get(key)
        return None if place is None else self.places[place]

    def draw(self, rng: np.random.Generator) -> Place:
        """A place to start from, with weights 1 / (seen + 1)."""
        return self.places[self.rarely.draw(rng)]

    def put(self, key: int, place: Place, log: Trajectories) -> bool:
        """Keep a way to a new cell, or a better one to a known one, whose visits count half; was it new?

        What lies around is known as before, but the ways on from there may get better, too.
        """
        log.need(place.row)
        known = self.index.get(key)
        if known is None:
            self.index[key] = len(self.places)
            self.places.append(place)
            self.keys.append(key)
            self.rarely.add()
            return True
        log.release(self.places[known].row)
        self.places[known] = place
        self.rarely.see(known, self.rarely.seen[known] // 2)
        return False

    def see(self, keys: Iterable[int], counts: Iterable[int]) -> None:
        """Count visits to cells, those that are not in the archive included, which nobody counts."""
        for key, count in zip(keys, counts, strict=True):
            known = self.index.get(key)
            if known is not None:
                self.rarely.see(known, self.rarely.seen[known] + count)

    def cut_again(self, keys: Array, log: Trajectories) -> None:
        """All cells have other numbers; of those that are one now, the best way stays, and visits add up."""
        old, seen = self.places, self.rarely.seen
        self.places, self.keys, self.index, self.rarely = [], [], {}, RarelySeen()
        sums: dict[int, int] = {}
        for key, place, visits in zip(keys.tolist(), old, seen, strict=True):
            sums[key] = sums.get(key, 0) + visits
            other = self.find(key)
            if other is None or place.is_better(other.score, other.length):
                self.put(key, place, log)
            log.release(place.row)  # the archive held it already
        for key, visits in sums.items():
            self.rarely.see(self.index[key], visits)

    # ------------------------------------------------------------------------------ state

    def arrays(self) -> dict[str, Array]:
        places = self.places
        snapshots, pictures = [one.snapshot for one in places], [one.picture for one in places]
        return {
            "keys": np.array(self.keys, np.uint64),
            "scores": np.array([one.score for one in places], np.float64),
            "lengths": np.array([one.length for one in places], np.int64),
            "rows": np.array([one.row for one in places], np.int64),
            "chosen": np.array([one.chosen for one in places], np.int64),
            "paid": np.array([one.paid for one in places], bool),
            **self.rarely.arrays(),
            **{f"snapshots/{name}": one for name, one in pack_texts(snapshots).items()},
            **{f"pictures/{name}": one for name, one in pack_texts(pictures).items()},
        }

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> None:
        self.keys = arrays["keys"].tolist()
        self.index = {key: place for place, key in enumerate(self.keys)}
        columns = [arrays[name].tolist() for name in ("scores", "lengths", "rows", "chosen", "paid")]
        texts = [unpack_texts(arrays, f"{name}/") for name in ("snapshots", "pictures")]
        self.places = [
            Place(score, length, snapshot, picture, row, chosen, paid)
            for score, length, row, chosen, paid, snapshot, picture in zip(*columns, *texts, strict=True)
        ]
        if not len(self.places) == len(self.index) == len(arrays["seen"]):
            raise ValueError("the lists of cells differ in length")
        self.rarely.load(arrays, state)
