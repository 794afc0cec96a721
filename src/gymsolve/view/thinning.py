"""Thinning of long curves: which points of a series are kept, for every chart, table and answer.

All but `evenly` keep the extremes: a spike of one record among thousands stays visible.
"""

import math
from collections.abc import Sequence

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
