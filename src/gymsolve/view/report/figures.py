"""Charts as data, with the thinning, ranges and ticks that all drawings share."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from gymsolve.view.thinning import extremes

Point = tuple[float, float]

_BUCKETS = 119
_WILD = 200.0
"""A largest value so many times the usual one asks for a logarithmic axis."""
_DECADES = 6
"""Below the largest value; what is smaller sits on the axis."""


class Line(NamedTuple):
    """One series. Values that are not finite leave a gap."""

    label: str
    points: Sequence[Point]
    spread: Sequence[tuple[float, float, float]] = ()
    """x, low and high: a band around a line, whiskers at marks."""
    marks: bool = False
    """Points of their own, such as evaluations, instead of a line."""
    letter: str = ""
    """Its letter in charts made of text; by its place if empty."""


class Curves(NamedTuple):
    title: str
    lines: Sequence[Line]
    note: str = ""
    level: tuple[float, str] | None = None
    """A horizontal line with a name, such as a threshold."""
    healthy: tuple[float, float] | None = None
    """The usual range in trainings that go well."""
    limits: tuple[float, float] | None = None
    """The range of possible values, such as the bounds of an action space."""
    logarithmic: bool = False
    """Always logarithmic, not only when single values dwarf the others; for values above 0."""
    x_label: str = "environment steps"


class Stack(NamedTuple):
    """Shares that add up to one, over time."""

    title: str
    labels: Sequence[str]
    xs: Sequence[float]
    shares: Sequence[Sequence[float]]
    """For each label, one value per x."""
    note: str = ""
    x_label: str = "environment steps"


class Split(NamedTuple):
    """Shares of one whole."""

    title: str
    parts: Sequence[tuple[str, float]]
    note: str = ""


class Bars(NamedTuple):
    """A histogram: counts between edges."""

    title: str
    edges: Sequence[float]
    counts: Sequence[int]
    note: str = ""
    x_label: str = ""


Figure = Curves | Stack | Split | Bars


def finite(values: Iterable[float]) -> list[float]:
    return [value for value in values if math.isfinite(value)]


def thin(points: Sequence[Point], buckets: int = _BUCKETS) -> list[Point]:
    """Both ends, and two points per bucket: the smallest and the largest."""
    return [points[place] for place in extremes([y for _, y in points], buckets)]


def value_range(chart: Curves) -> tuple[float, float, bool]:
    """Lowest and highest value of the vertical axis, and whether it is logarithmic."""
    values = finite(y for line in chart.lines for _, y in line.points)
    if not values:
        return 0.0, 1.0, False
    ordered = sorted(values)
    median = ordered[len(ordered) // 2]
    if chart.limits is not None:
        return *chart.limits, False
    usual = median if chart.healthy is None else max(median, chart.healthy[1] / 10)
    wild = len(values) > 2 and ordered[0] >= 0 and usual > 0 and ordered[-1] > _WILD * usual
    if ordered[-1] > 0 and (wild or chart.logarithmic):
        seen = [*ordered, *(chart.healthy or ())]
        smallest = min(value for value in seen if value > 0)
        return max(smallest, max(seen) / 10**_DECADES), max(seen), True
    values += finite(end for line in chart.lines for _, *ends in line.spread for end in ends)
    values += [] if chart.level is None else [chart.level[0]]
    values += chart.healthy or ()
    low, high = min(values), max(values)
    room = 0.05 * (high - low) or 0.1 * abs(high) or 1.0
    return (0.0 if 0 <= low <= room else low - room), high + room, False


def ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Round numbers within a range."""
    if not high > low:
        return [low]
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [index * step for index in range(first, math.floor(high / step + 1e-9) + 1)]
