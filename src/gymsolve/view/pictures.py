"""Pictures for agents: curves, inputs of a network, and frames of an episode on one sheet."""

import io
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gymsolve.errors import GymsolveError
from gymsolve.text import number
from gymsolve.view.curve_answers import Series

if TYPE_CHECKING:
    from PIL import Image, ImageDraw

    from gymsolve.spec import Array

_WIDTH, _HEIGHT = 640, 150
"""The size of one panel."""
_LEFT, _TOP, _RIGHT, _BOTTOM = 64, 18, 16, 18
_COLOURS = ("#2563eb", "#dc2626", "#059669", "#d97706", "#7c3aed", "#0891b2", "#be185d", "#4b5563")
_INK, _FAINT = "#374151", "#d1d5db"
_MOST_PANELS = 6
_MOST_DOTS = 40
_THUMB, _COLUMNS = 160, 4
"""Pixels of a tile, and tiles side by side."""


def draw_curves(series: Sequence[Series]) -> bytes:
    """Series over environment steps as a PNG: a panel per metric, a colour per run."""
    from PIL import Image, ImageDraw  # takes longer to import than everything else here

    drawn = [line for line in series if any(math.isfinite(y) for _, y in line.points)]
    names = list(dict.fromkeys(line.name for line in drawn))[:_MOST_PANELS]
    if not names:
        raise GymsolveError("there is nothing to draw: no number was recorded.")
    runs = list(dict.fromkeys(line.run for line in drawn))
    picture = Image.new("RGB", (_WIDTH, _HEIGHT * len(names) + _TOP), "white")
    pen = ImageDraw.Draw(picture)
    colours = {run: _COLOURS[index % len(_COLOURS)] for index, run in enumerate(runs)}
    for index, (run, colour) in enumerate(colours.items()):
        pen.text((_LEFT + index * 80, 2), run[-9:], fill=colour)
    for row, name in enumerate(names):
        _panel(pen, [line for line in drawn if line.name == name], _TOP + row * _HEIGHT, colours)
    return _png(picture)


def _png(picture: "Image.Image") -> bytes:
    content = io.BytesIO()
    picture.save(content, "PNG", optimize=True)
    return content.getvalue()


def _panel(pen: "ImageDraw.ImageDraw", series: list[Series], top: int, colours: dict[str, str]) -> None:
    """One metric of several runs, with the ends of both axes as numbers."""
    curves = [(line.run, [(x, y) for x, y in line.points if math.isfinite(y)]) for line in series]
    xs = [x for _, points in curves for x, _ in points]
    ys = [y for _, points in curves for _, y in points]
    first, low = min(xs), min(ys)
    length, span = (max(xs) - first) or 1, (max(ys) - low) or 1.0
    left, right, upper, lower = _LEFT, _WIDTH - _RIGHT, top + _TOP, top + _HEIGHT - _BOTTOM
    pen.rectangle([left, upper, right, lower], outline=_FAINT)
    pen.text((left, top + 4), series[0].name, fill=_INK)
    pen.text((4, upper - 6), number(max(ys)), fill=_INK)
    pen.text((4, lower - 6), number(low), fill=_INK)
    pen.text((left, lower + 3), number(first), fill=_INK)
    pen.text((right - 60, lower + 3), f"{number(max(xs))} steps", fill=_INK)
    for run, points in curves:
        places = [
            (left + (x - first) / length * (right - left), lower - (y - low) / span * (lower - upper))
            for x, y in points
        ]
        if len(places) > 1:
            pen.line(places, fill=colours[run], width=2)
        for x, y in places if len(places) <= _MOST_DOTS else ():
            pen.ellipse([x - 2, y - 2, x + 2, y + 2], fill=colours[run])


def draw_seen(values: "Array") -> bytes:
    """An image observation [channels, height, width] as a PNG: a grey tile per channel, enlarged if small."""
    import numpy as np
    from PIL import Image

    low, span = float(values.min()), float(values.max() - values.min()) or 1.0
    if values.dtype == np.uint8:
        low, span = 0.0, 255.0
    grey = ((values - low) * (255.0 / span)).astype(np.uint8)  # [C, H, W]
    count, height, width = grey.shape
    across, larger = min(_COLUMNS, count), max(1, _THUMB // max(height, width))
    sheet = np.full((-(-count // across) * (height + 1), across * (width + 1)), 255, dtype=np.uint8)
    for index, tile in enumerate(grey):
        top, left = index // across * (height + 1), index % across * (width + 1)
        sheet[top : top + height, left : left + width] = tile
    picture = Image.fromarray(sheet)
    return _png(picture.resize((picture.width * larger, picture.height * larger), 0))


def frame_sheet(frames: Sequence[tuple[str, bytes]]) -> bytes:
    """Encoded pictures side by side, each below its caption, as a PNG."""
    from PIL import Image, ImageDraw

    thumbs = []
    for caption, encoded in frames:
        try:
            thumb = Image.open(io.BytesIO(encoded), formats=("JPEG", "PNG")).convert("RGB")
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
            raise GymsolveError(f"the picture of {caption} cannot be read.") from error
        thumbs.append((caption, thumb.resize((_THUMB, max(1, round(thumb.height * _THUMB / thumb.width))))))
    across = min(_COLUMNS, len(thumbs))
    width, height = _THUMB + 4, max(thumb.height for _, thumb in thumbs) + _TOP
    sheet = Image.new("RGB", (across * width, -(-len(thumbs) // across) * height), "white")
    pen = ImageDraw.Draw(sheet)
    for index, (caption, thumb) in enumerate(thumbs):
        left, top = index % across * width, index // across * height
        pen.text((left + 2, top + 3), caption, fill=_INK)
        sheet.paste(thumb, (left, top + _TOP))
    return _png(sheet)
