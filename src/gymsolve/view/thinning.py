"""Thinning of long curves: which points of a series are kept, for every chart, table and answer.

All but `evenly` keep the extremes: a spike of one record among thousands stays visible.
"""

import math
from collections.abc import Sequence
from typing import Generic, TypeVar

Place = TypeVar("Place")

Band = tuple[float, float, float]
"""x, low, high."""


def extremes(values: Sequence[float], buckets: int) -> list[int]:
    """Places of the smallest and the largest value of so many equal parts, and both ends.

    All places where there are few. A part without any finite value is kept as a gap.
    """
    total = len(values)
    if total <= 2 * buckets:
        return list(range(total))
    kept = [0]
    for index in range(buckets):
        begin, end = index * total // buckets, (index + 1) * total // buckets
        part = values[begin:end]
        solid = part if math.isfinite(sum(part)) else [value for value in part if math.isfinite(value)]
        places = {part.index(min(solid)), part.index(max(solid))} if solid else {0}
        kept += [begin + place for place in sorted(places)]
    return list(dict.fromkeys([*kept, total - 1]))


def samples(values: Sequence[float], most: int) -> list[int]:
    """At most so many places: both ends, the smallest and the largest value, others evenly spread."""
    total = len(values)
    if total <= most:
        return list(range(total))
    kept = set(extremes(values, 1))
    spread = most - len(kept)
    kept |= {round((index + 1) * (total - 1) / (spread + 1)) for index in range(spread)}
    return sorted(kept)


def evenly(total: int, most: int) -> list[int]:
    """At most so many places of `total`, evenly spread, both ends among them."""
    return sorted({round(index * (total - 1) / (most - 1)) for index in range(most)})


def widest(spread: Sequence[Band], buckets: int) -> list[Band]:
    """A band for each of so many equal parts, from its lowest to its highest value."""
    solid = [band for band in spread if math.isfinite(band[1]) and math.isfinite(band[2])]
    total = len(solid)
    if total <= buckets:
        return solid
    parts = [solid[index * total // buckets : (index + 1) * total // buckets] for index in range(buckets)]
    return [
        (part[len(part) // 2][0], min(low for _, low, _ in part), max(high for *_, high in part))
        for part in parts
    ]


class Growing(Generic[Place]):
    """A series that grows, thinned while it does, so that it needs little memory however long it is.

    It keeps the extremes of `parts` to twice as many equal parts, and both ends. What it keeps depends on the
    series alone, not on the portions in which it came.
    """

    def __init__(self, parts: int) -> None:
        self.total = 0
        self._most = 4 * parts
        self._width = 2
        """Values of a part; two of them are kept."""
        self._kept: list[tuple[float, Place]] = []
        self._part: list[tuple[float, Place]] = []
        """The newest values, which are no whole part yet."""
        self._ends: list[tuple[float, Place]] = []

    def add(self, value: float, place: Place) -> None:
        point = value, place
        self.total += 1
        self._ends[1:] = [point]
        self._part.append(point)
        if len(self._part) == self._width:
            self._kept += _both_extremes(self._part)
            self._part.clear()
            if len(self._kept) == self._most:
                halves = [_both_extremes(self._kept[at : at + 4]) for at in range(0, self._most, 4)]
                self._kept = [point for half in halves for point in half]
                self._width *= 2

    def points(self) -> list[tuple[float, Place]]:
        """The points that are kept, in order: all of them while there are at most two for each part."""
        points = [*self._kept, *_both_extremes(self._part)]
        first = [end for end in self._ends[:1] if end is not points[0]]
        last = [end for end in self._ends[1:] if end is not points[-1]]
        return [*first, *points, *last]


def _both_extremes(points: Sequence[tuple[float, Place]]) -> list[tuple[float, Place]]:
    """The smallest and the largest of some points, in their order; always two where there are as many."""
    if len(points) <= 2:
        return list(points)
    solid = [at for at, (value, _) in enumerate(points) if math.isfinite(value)] or [0]
    low, high = (choose(solid, key=lambda at: points[at][0]) for choose in (min, max))
    if low == high:
        high = len(points) - 1 if low == 0 else 0
    return [points[at] for at in sorted((low, high))]
