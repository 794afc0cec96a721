"""The archive of Go-Explore: for each cell the best known trajectory there, and a snapshot to start from.

A trajectory is better if it scored more, or as much in fewer steps. Cells that were seldom seen are drawn
more often. The time of all operations does not depend on the number of cells, except when cells are computed
in another way, which happens more and more rarely.
"""

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from gymsolve.envs.contract import Snapshot
from gymsolve.extensions.archive.count_sampler import CountSampler
from gymsolve.extensions.archive.trajectories import Trajectories, pack_texts, unpack_texts
from gymsolve.parts import join_arrays
from gymsolve.runs.inflate import LARGEST_STATE, inflate
from gymsolve.spec import Array


def pack_snapshot(snapshot: Snapshot) -> bytes:
    """A snapshot as compressed JSON."""
    return zlib.compress(json.dumps(snapshot).encode(), 1)


@dataclass(slots=True)
class Place:
    """The best trajectory to a cell."""

    score: float
    """Sum of rewards since the reset, before scaling."""
    length: int
    """Steps since the reset."""
    snapshot: bytes
    picture: bytes
    row: int = -1
    """The last step of the trajectory, in the log."""
    chosen: int = 0
    """How often an episode began here."""
    paid: bool = False
    """True if any reward of the trajectory was above 0."""

    def is_better(self, score: float, length: int) -> bool:
        """True if it is better than another trajectory."""
        return self.score > score or (self.score == score and self.length < length)

    def unpack(self) -> Snapshot:
        """The snapshot to jump to."""
        snapshot: Snapshot = json.loads(inflate(self.snapshot, LARGEST_STATE))
        return snapshot


class Archive:
    """Cells by their number, in the order of their discovery."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.places: list[Place] = []
        self.keys: list[int] = []
        self.index: dict[int, int] = {}
        """The place of each cell in the lists."""
        self.rarely = CountSampler()

    def __len__(self) -> int:
        return len(self.places)

    def find(self, key: int) -> Place | None:
        place = self.index.get(key)
        return None if place is None else self.places[place]

    def draw(self, rng: np.random.Generator) -> Place:
        """A place to start from, with weights 1 / (seen + 1)."""
        return self.places[self.rarely.draw(rng)]

    def put(self, key: int, place: Place, log: Trajectories) -> bool:
        """Keep a trajectory to a new cell, or a better one to an old cell, whose visits are halved.

        Returns True for a new cell.
        """
        log.need(place.row)
        number = self.index.get(key)
        if number is None:
            self.index[key] = len(self.places)
            self.places.append(place)
            self.keys.append(key)
            self.rarely.add()
            return True
        log.release(self.places[number].row)
        self.places[number] = place
        self.rarely.see(number, self.rarely.seen[number] // 2)
        return False

    def see(self, keys: Iterable[int], counts: Iterable[int]) -> None:
        """Count visits to cells; those that are not in the archive are ignored."""
        for key, count in zip(keys, counts, strict=True):
            number = self.index.get(key)
            if number is not None:
                self.rarely.see(number, self.rarely.seen[number] + count)

    def cut_again(self, keys: Array, log: Trajectories) -> None:
        """Give all cells other numbers; of equal ones the best trajectory stays, and visits add up."""
        old, seen = self.places, self.rarely.seen
        self.places, self.keys, self.index, self.rarely = [], [], {}, CountSampler()
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
        texts = {
            "snapshots": pack_texts([place.snapshot for place in places]),
            "pictures": pack_texts([place.picture for place in places]),
        }
        return {
            "keys": np.array(self.keys, np.uint64),
            "scores": np.array([place.score for place in places], np.float64),
            "lengths": np.array([place.length for place in places], np.int64),
            "rows": np.array([place.row for place in places], np.int64),
            "chosen": np.array([place.chosen for place in places], np.int64),
            "paid": np.array([place.paid for place in places], bool),
            **self.rarely.arrays(),
            **join_arrays(texts),
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
