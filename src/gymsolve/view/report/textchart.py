"""Charts as text: for a terminal, for Markdown, and for language models, which read numbers best."""

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from gymsolve.text import number, sparkline
from gymsolve.view.report.figures import (
    Bars,
    Curves,
    Figure,
    Line,
    Point,
    Split,
    Stack,
    value_range,
)

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WIDTH, _HEIGHT = 64, 12


def text_of(chart: Figure) -> str:
    """Any chart in lines of at most some eighty characters."""
    match chart:
        case Curves():
            return plot(chart)
        case Stack():
            rows = zip(chart.labels, chart.shares, strict=True)
            width = max(map(len, chart.labels))
            return "\n".join(
                f"{label:<{width}}  {sparkline(shares, 40, (0.0, 1.0))}  {shares[0]:.0%} → {shares[-1]:.0%}"
                for label, shares in rows
            )
        case Split():
            whole = sum(share for _, share in chart.parts) or 1.0
            return _rows([(label, share / whole, f"{share / whole:.1%}") for label, share in chart.parts])
        case Bars():
            largest = max(chart.counts, default=0) or 1
            edges = zip(chart.edges, chart.edges[1:], strict=False)
            names = [f"{number(low)} to {number(high)}" for low, high in edges]
            counts = zip(names, chart.counts, strict=True)
            return _rows([(name, count / largest, f"{count:,}") for name, count in counts])


def plot(chart: Curves, width: int = _WIDTH, height: int = _HEIGHT) -> str:
    """Lines as letters on a grid, bands as dots, with the ends of both axes as numbers."""
    xs = [x for line in chart.lines for x, _ in line.points]
    if not xs:
        return "(nothing was recorded)"
    low, high, logarithmic = value_range(chart)
    grid = [[" "] * width for _ in range(height)]
    row = _row_of(low, high, height, logarithmic)
    if chart.level is not None:
        grid[row(chart.level[0])] = ["-"] * width
    for line in chart.lines:
        _shade(grid, line, row, min(xs), max(xs))
    for index, line in enumerate(chart.lines):
        for column, y in _columns(line.points, min(xs), max(xs), width):
            grid[row(y)][column] = _letter(line, index)
    names = [number(high), *[""] * (height - 2), number(low)]
    margin = max(map(len, names))
    body = [f"{name:>{margin}} |{''.join(cells).rstrip()}" for name, cells in zip(names, grid, strict=True)]
    left, right = number(min(xs)), number(max(xs))
    foot = f"{left}{chart.x_label:^{max(1, width - len(left) - len(right))}}{right}"
    return "\n".join([*body, f"{'':>{margin}} +{'-' * width}", f"{'':>{margin}}  {foot}", *_legend(chart)])


def _legend(chart: Curves) -> list[str]:
    lines = [f"  {_letter(line, index)} {line.label}{_ends(line)}" for index, line in enumerate(chart.lines)]
    if chart.level is not None:
        lines.append(f"  - {chart.level[1]}")
    return lines


def _ends(line: Line) -> str:
    solid = [y for _, y in line.points if math.isfinite(y)]
    if not solid:
        return ": not finite" if line.points else ": nothing yet"
    return f": {number(solid[0])} → {number(solid[-1])}, from {number(min(solid))} to {number(max(solid))}"


def _shade(grid: list[list[str]], line: Line, row: Callable[[float], int], first: float, last: float) -> None:
    """A band as dots, wherever nothing else is."""
    solid = [band for band in line.spread if math.isfinite(band[1]) and math.isfinite(band[2])]
    scale = (last - first) / max(1, len(grid[0]) - 1)
    for before, after in pairwise(solid):
        span = after[0] - before[0]
        for column in range(_ceil(before[0] - first, scale), _ceil(after[0] - first, scale)):
            share = (first + column * scale - before[0]) / span
            low, high = (a + (b - a) * share for a, b in zip(before[1:], after[1:], strict=True))
            for place in range(row(high), row(low) + 1):
                if grid[place][column] == " ":
                    grid[place][column] = "."


def _ceil(distance: float, scale: float) -> int:
    return math.ceil(distance / scale - 1e-9) if scale else 0


def _columns(points: Sequence[Point], first: float, last: float, width: int) -> list[tuple[int, float]]:
    """The mean of the points in each column."""
    cells: dict[int, list[float]] = {}
    scale = (width - 1) / (last - first or 1.0)
    for x, y in points:
        if math.isfinite(y):
            cells.setdefault(round((x - first) * scale), []).append(y)
    return [(column, sum(values) / len(values)) for column, values in cells.items()]


def _row_of(low: float, high: float, height: int, logarithmic: bool) -> Callable[[float], int]:
    def row(y: float) -> int:
        if logarithmic:
            share = math.log(max(y, low) / low) / (math.log(high / low) or 1.0)
        else:
            share = (y - low) / (high - low or 1.0)
        return height - 1 - round(min(1.0, max(0.0, share)) * (height - 1))

    return row


def _letter(line: Line, index: int) -> str:
    return line.letter[:1] or _LETTERS[index % len(_LETTERS)]


def _rows(rows: Sequence[tuple[str, float, str]]) -> str:
    width = max((len(label) for label, _, _ in rows), default=0)
    return "\n".join(
        f"{label:<{width}}  {'█' * round(share * 40):<40}  {text}" for label, share, text in rows
    )
