"""The best finished trajectories, to learn from: ranked by their scores, or as in RAPID."""

import heapq
import math
from typing import NamedTuple

import numpy as np

from gymsolve.extensions.archive.cells import Archive
from gymsolve.extensions.archive.trajectories import Trajectories
from gymsolve.spec import Array

_LOCAL, _GLOBAL = 0.1, 0.001
"""RAPID's weights of the variety of a trajectory, and of the rarity of its cells."""


def rapid_rank(score: float, cells: Array, visits: Array) -> float:
    """RAPID's rank: score, share of distinct cells [T], and mean 1 / √visits [T] of its cells."""
    varied = len(np.unique(cells)) / len(cells)
    rare = float(np.mean(1.0 / np.sqrt(np.maximum(visits, 1))))
    return score + _LOCAL * varied + _GLOBAL * rare


class Trajectory(NamedTuple):
    """A finished trajectory; better ones compare as larger."""

    rank: float
    shortness: int
    """Minus its steps: of equals, the shorter is better."""
    age: int
    """Minus its number: of equals, the older is better."""
    score: float
    row: int
    """Its last step."""
    truncated: bool
    """True if it was cut, so that its further rewards are not known."""


class TopTrajectories:
    """The best so far, up to a number of them."""

    def __init__(self, most: int, *, rapid: bool = False) -> None:
        self.most, self._rapid = most, rapid
        self.kept: list[Trajectory] = []
        """A heap: the worst comes first."""
        self._number = 0

    @property
    def score(self) -> float:
        """Score of the best one; −inf before there is one."""
        return max((trajectory.score for trajectory in self.kept), default=-math.inf)

    @property
    def pays(self) -> bool:
        """True if one of them has a reward."""
        return self.score > 0.0 if self._rapid else bool(self.kept)

    def wants(self, rank: float, length: int) -> bool:
        """True if a trajectory would be among the best."""
        return len(self.kept) < self.most or (rank, -length) > self.kept[0][:2]

    def may_want(self, score: float, length: int) -> bool:
        """True if a trajectory of which only the score is known could be among the best."""
        return self.wants(score + (_LOCAL + _GLOBAL) if self._rapid else score, length)

    def offer(
        self, score: float, length: int, row: int, truncated: bool, archive: Archive, log: Trajectories
    ) -> None:
        """Keep a trajectory, which ends with a row of the log, if it is among the best."""
        rank = self._rank(score, row, archive, log) if self._rapid else score
        if self.wants(rank, length):
            self.put(rank, score, length, row, truncated, log)

    @staticmethod
    def _rank(score: float, row: int, archive: Archive, log: Trajectories) -> float:
        cells = log.column("cells", log.prefix(row))
        seen = [archive.index.get(key) for key in cells.tolist()]
        visits = np.array([0 if place is None else archive.rarely.seen[place] for place in seen])
        return rapid_rank(score, cells, visits)

    def put(
        self, rank: float, score: float, length: int, row: int, truncated: bool, log: Trajectories
    ) -> None:
        """Keep a trajectory that is wanted."""
        self._number += 1
        log.need(row)
        trajectory = Trajectory(rank, -length, -self._number, score, row, truncated)
        if len(self.kept) < self.most:
            heapq.heappush(self.kept, trajectory)
        else:
            log.release(heapq.heapreplace(self.kept, trajectory).row)

    def rank_again(self, archive: Archive, log: Trajectories) -> None:
        """Choose again among the kept trajectories, by the present settings."""
        old, self.kept = sorted(self.kept, key=lambda trajectory: -trajectory.age), []
        for _, shortness, _, score, row, truncated in old:
            if self._rapid or log.column("rewards", log.prefix(row)).max() > 0.0:
                self.offer(score, -shortness, row, truncated, archive, log)
            log.release(row)  # its reference from before

    def to_json(self) -> list[list[float]]:
        return [list(trajectory) for trajectory in self.kept]

    def load(self, kept: list[list[float]]) -> None:
        self.kept = [
            Trajectory(float(rank), int(short), int(age), float(score), int(row), bool(cut))
            for rank, short, age, score, row, cut in kept
        ]
        self._number = max((-trajectory.age for trajectory in self.kept), default=0)
