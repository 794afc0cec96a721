"""A small learning curve: evaluations over environment steps, with the present position marked."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from PIL import Image, ImageDraw

from gymsolve.apps.video.overlay import OverlayStyle, font, number
from gymsolve.runs.run import Run

_FINE = 3
"""Drawn this much larger and reduced, for smooth lines."""

Point = tuple[float, float]


@dataclass(frozen=True)
class Curve:
    """Mean evaluation returns by environment steps, and the return that counts as solved."""

    points: tuple[Point, ...]
    threshold: float | None

    def at(self, env_steps: float) -> float | None:
        """The height of the curve at a step; None when nothing was ever evaluated."""
        if not self.points:
            return None
        steps, means = zip(*self.points, strict=True)
        return float(np.interp(env_steps, steps, means))


def read_curve(run: Run) -> Curve:
    """The curve that a run's records draw."""
    rows = [row for row in run.read_metrics().rows if "eval/mean_reward" in row]
    points = [(float(row["env_steps"]), float(row["eval/mean_reward"])) for row in rows]
    threshold = (run.info()["result"] or {}).get("threshold")
    return Curve(tuple(point for point in points if np.isfinite(point[1])), threshold)


def draw_curve(curve: Curve, env_steps: float, size: tuple[int, int], style: OverlayStyle) -> Image.Image:
    """The curve in a box of this width and height: bright up to `env_steps`, dim beyond it."""
    width, height = size[0] * _FINE, size[1] * _FINE
    image = Image.new("RGB", (width, height), style.background)
    if not curve.points:
        return image.resize(size)
    draw = ImageDraw.Draw(image)
    place = _scale(curve, width, height)
    stroke = max(_FINE, height // 45)
    if curve.threshold is not None:
        level = place((0.0, curve.threshold))[1]
        for left in range(0, width, 8 * stroke):
            draw.line([(left, level), (left + 4 * stroke, level)], style.label, stroke // 2)
    here = (env_steps, curve.at(env_steps) or 0.0)
    past = [*(point for point in curve.points if point[0] <= env_steps), here]
    ahead = [here, *(point for point in curve.points if point[0] > env_steps)]
    _polyline(draw, [place(point) for point in ahead], tuple(value // 2 for value in style.label), stroke)
    _polyline(draw, [place(point) for point in past], style.accent, stroke)
    (x, y), radius = place(here), 3 * stroke
    draw.ellipse((x - radius, y - radius, x + radius, y + radius), style.text, style.accent, stroke)
    small = image.resize(size, Image.Resampling.LANCZOS)
    if curve.threshold is not None:
        face = font(max(9, size[1] // 9))
        level = place((0.0, curve.threshold))[1] / _FINE
        below = level + 2 if level < size[1] / 3 else level - 1.4 * face.size
        ImageDraw.Draw(small).text((0, below), f"solved at {number(curve.threshold)}", style.label, font=face)
    return small


def _scale(curve: Curve, width: int, height: int) -> Callable[[Point], Point]:
    last = max(step for step, _ in curve.points)
    levels = [mean for _, mean in curve.points] + ([] if curve.threshold is None else [curve.threshold])
    low, high = min(levels), max(levels)
    edge = height / 9

    def place(point: Point) -> Point:
        across = point[0] / last if last else 1.0
        up = (point[1] - low) / (high - low) if high > low else 0.5
        return edge + min(across, 1.0) * (width - 2 * edge), height - edge - up * (height - 2 * edge)

    return place


def _polyline(
    draw: ImageDraw.ImageDraw, points: Sequence[Point], colour: tuple[int, ...], width: int
) -> None:
    if len(points) > 1:
        draw.line(list(points), colour, width, joint="curve")
