"""Charts as SVG that takes its colours from the page it stands in."""

import math
from collections.abc import Callable, Sequence
from html import escape

from gymsolve.text import number, short
from gymsolve.view.report.figures import (
    Bars,
    Curves,
    Figure,
    Line,
    Point,
    Split,
    Stack,
    thin,
    ticks,
    value_range,
)
from gymsolve.view.thinning import evenly, widest

_WIDTH, _HEIGHT = 440, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 18, 10, 36
_COLOURS = 8
_BANDS = 120
"""Parts of a band or a stack that are drawn."""

Scale = Callable[[float], float]


def draw(chart: Figure) -> str:
    """The drawing alone: title, legend and note are text of the page."""
    match chart:
        case Curves():
            return _curves(chart)
        case Stack():
            return _stack(chart)
        case Split():
            return _split(chart)
        case Bars():
            return _bars(chart)


def _curves(chart: Curves) -> str:
    xs = [x for line in chart.lines for x, _ in line.points]
    across = _across(min(xs, default=0.0), max(xs, default=1.0))
    low, high, logarithmic = value_range(chart)
    up = _log_up(low, high) if logarithmic else _up(low, high)
    marks = _decades(low, high) if logarithmic else ticks(low, high)
    parts = [_healthy(chart.healthy, up), _axes(across, xs, up, marks, chart.x_label)]
    parts += [_band(line, index, across, up) for index, line in enumerate(chart.lines) if not line.marks]
    parts += [_level(chart.level, up)]
    for index, line in enumerate(chart.lines):
        parts.append((_marks if line.marks else _path)(line, index, across, up))
    return _svg(chart.title, parts)


def _stack(chart: Stack) -> str:
    across, up = _across(min(chart.xs), max(chart.xs)), _up(0.0, 1.0)
    chosen = evenly(len(chart.xs), _BANDS)
    below = [0.0] * len(chosen)
    parts = []
    for index, shares in enumerate(chart.shares):
        above = [low + shares[at] for low, at in zip(below, chosen, strict=True)]
        edge = [(across(chart.xs[at]), up(y)) for at, y in zip(chosen, above, strict=True)]
        floor = [(across(chart.xs[at]), up(y)) for at, y in zip(chosen, below, strict=True)]
        area = _points([*edge, *reversed(floor)])
        parts.append(f'<polygon class="fill c{index % _COLOURS}" points="{area}"/>')
        below = above
    return _svg(chart.title, [*parts, _axes(across, chart.xs, up, ticks(0.0, 1.0), chart.x_label)])


def _split(chart: Split) -> str:
    whole = sum(share for _, share in chart.parts) or 1.0
    parts, at = [], 0.0
    for index, (label, share) in enumerate(chart.parts):
        width = _WIDTH * share / whole
        title = f"<title>{escape(label)}: {share / whole:.0%}</title>"
        shape = f'x="{at:.1f}" y="4" width="{max(width - 1, 0.5):.1f}" height="36"'
        parts.append(f'<rect class="fill c{index % _COLOURS}" {shape}>{title}</rect>')
        if width > 36:
            parts.append(f'<text class="inside" x="{at + width / 2:.1f}" y="27">{share / whole:.0%}</text>')
        at += width
    return _svg(chart.title, parts, height=44)


def _bars(chart: Bars) -> str:
    across = _across(chart.edges[0], chart.edges[-1])
    up = _up(0.0, max(chart.counts, default=1) * 1.05)
    floor, parts = up(0.0), []
    for low, high, count in zip(chart.edges, chart.edges[1:], chart.counts, strict=False):
        left, right, top = across(low), across(high), up(count)
        shape = f'x="{left:.1f}" y="{top:.1f}" width="{max(right - left - 1, 0.5):.1f}"'
        title = f"<title>{number(low)} to {number(high)}: {count:,}</title>"
        parts.append(f'<rect class="fill c0" {shape} height="{floor - top:.1f}">{title}</rect>')
    marks = ticks(0.0, max(chart.counts, default=1) * 1.05)
    return _svg(chart.title, [_axes(across, chart.edges, up, marks, chart.x_label), *parts])


# ------------------------------------------------------------------------------------ pieces


def _path(line: Line, index: int, across: Scale, up: Scale) -> str:
    """A line with a gap wherever a value is missing."""
    pieces: list[list[Point]] = [[]]
    for x, y in thin(line.points):
        if math.isfinite(y):
            pieces[-1].append((across(x), up(y)))
        elif pieces[-1]:
            pieces.append([])
    colour = f"c{index % _COLOURS}"
    drawn = [
        f'<polyline class="line {colour}" points="{_points(piece)}"/>'
        if len(piece) > 1
        else f'<circle class="mark {colour}" cx="{piece[0][0]:.1f}" cy="{piece[0][1]:.1f}" r="3"/>'
        for piece in pieces
        if piece
    ]
    return "".join(drawn)


def _band(line: Line, index: int, across: Scale, up: Scale) -> str:
    spread = widest(line.spread, _BANDS)
    if len(spread) < 2:
        return ""
    edge = [(across(x), up(high)) for x, _, high in spread]
    floor = [(across(x), up(low)) for x, low, _ in reversed(spread)]
    return f'<polygon class="band c{index % _COLOURS}" points="{_points(edge + floor)}"/>'


def _marks(line: Line, index: int, across: Scale, up: Scale) -> str:
    colour = f"c{index % _COLOURS}"
    parts = [
        f'<line class="line {colour}" x1="{across(x):.1f}" y1="{up(low):.1f}" '
        f'x2="{across(x):.1f}" y2="{up(high):.1f}"/>'
        for x, low, high in line.spread
        if math.isfinite(low) and math.isfinite(high)
    ]
    for x, y in line.points:
        if math.isfinite(y):
            title = f"<title>{escape(line.label)} {number(y)} at {number(x)}</title>"
            place = f'cx="{across(x):.1f}" cy="{up(y):.1f}"'
            parts.append(f'<circle class="mark {colour}" {place} r="3.5">{title}</circle>')
    return "".join(parts)


def _level(level: tuple[float, str] | None, up: Scale) -> str:
    if level is None:
        return ""
    y = up(level[0])
    line = f'<line class="level" x1="{_LEFT}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}"/>'
    return f'{line}<text class="name" x="{_LEFT + 4}" y="{max(y - 4, 10):.1f}">{escape(level[1])}</text>'


def _healthy(healthy: tuple[float, float] | None, up: Scale) -> str:
    if healthy is None:
        return ""
    top, bottom = up(healthy[1]), up(healthy[0])
    if bottom - top < 0.5:
        return ""
    shape = f'x="{_LEFT}" y="{top:.1f}" width="{_WIDTH - _LEFT - _RIGHT}" height="{bottom - top:.1f}"'
    return f'<rect class="healthy" {shape}/>'


def _axes(across: Scale, xs: Sequence[float], up: Scale, marks: Sequence[float], label: str) -> str:
    floor, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = []
    for mark in marks:
        y = up(mark)
        parts.append(f'<line class="grid" x1="{_LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>')
        parts.append(f'<text class="y" x="{_LEFT - 5}" y="{y + 4:.1f}">{short(mark)}</text>')
    parts += [
        f'<text class="x" x="{across(mark):.1f}" y="{floor + 14}">{short(mark)}</text>'
        for mark in ticks(min(xs, default=0.0), max(xs, default=1.0), 4)
    ]
    parts.append(f'<line class="axis" x1="{_LEFT}" y1="{floor}" x2="{right}" y2="{floor}"/>')
    parts.append(f'<text class="x" x="{(_LEFT + right) / 2}" y="{floor + 30}">{escape(label)}</text>')
    return "".join(parts)


def _svg(title: str, parts: Sequence[str], height: int = _HEIGHT) -> str:
    head = f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(title)}">'
    return head + "".join(parts) + "</svg>"


def _points(points: Sequence[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)


def _across(low: float, high: float) -> Scale:
    span = high - low or 1.0
    return lambda x: _LEFT + (x - low) / span * (_WIDTH - _LEFT - _RIGHT)


def _up(low: float, high: float) -> Scale:
    """Values outside of the axis are drawn at its end."""
    span = high - low or 1.0
    return lambda y: _TOP + (1.0 - min(1.0, max(0.0, (y - low) / span))) * (_HEIGHT - _TOP - _BOTTOM)


def _log_up(low: float, high: float) -> Scale:
    inner = _up(math.log10(low), math.log10(high))
    return lambda y: inner(math.log10(max(y, low)))


def _decades(low: float, high: float) -> list[float]:
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    return [10.0**power for power in range(first, last + 1)]
