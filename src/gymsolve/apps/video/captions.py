"""The texts of a progression video: title cards, and the caption with the curve below every frame."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw

from gymsolve.apps.playback import Moment
from gymsolve.apps.video.canvas import Canvas
from gymsolve.apps.video.curve import Curve, draw_curve
from gymsolve.apps.video.overlay import OverlayStyle, font, number
from gymsolve.spec import Array


@dataclass(frozen=True)
class Caption:
    """The facts in the caption of a clip."""

    env_steps: int
    final_return: float
    evaluation: float | None
    """The mean return of the checkpoint's evaluation."""
    speed: float
    """A factor of the usual speed."""


class Captions:
    """Draws below the frame of a canvas, or all over it."""

    panel_share = 0.17

    def __init__(self, canvas: Canvas, style: OverlayStyle, curve: Curve) -> None:
        self.canvas, self.style, self.curve = canvas, style, curve
        self._margin = canvas.panel // 6
        self._curve_size = (round(canvas.width * 0.38), canvas.panel - self._margin)
        self._background = lru_cache(maxsize=2)(self._draw_background)

    def under(self, picture: Array, caption: Caption, moment: Moment, ended: bool) -> Array:
        """The picture with its caption and the curve in the panel at the bottom."""
        panel = self._background(caption).copy()
        draw = ImageDraw.Draw(panel)
        faster = f"   {caption.speed:.0f}x speed" if caption.speed > 1 else ""
        small = round(self.canvas.panel * 0.155)
        now = f"step {moment.step:,}   return so far {number(moment.scene.raw_return)}{faster}"
        place = (self._margin, round(self.canvas.panel * 0.70))
        draw.text(place, now, self.style.accent if ended else self.style.text, font=font(small))
        picture[self.canvas.height - self.canvas.panel :] = np.asarray(panel)
        return picture

    def card(self, lines: tuple[str, ...]) -> Array:
        """A picture of nothing but text, with the whole curve below it."""
        canvas, style = self.canvas, self.style
        image = Image.new("RGB", (canvas.width, canvas.height), style.background)
        draw = ImageDraw.Draw(image)
        top = canvas.height * 0.2
        for index, line in enumerate(lines):
            size = _fitting(line, canvas.height // (9 if index == 0 else 20), canvas.width * 0.9)
            wide = font(size).getlength(line)
            colour = style.text if index == 0 else style.label
            draw.text(((canvas.width - wide) / 2, top), line, colour, font=font(size))
            top += size * 1.6
        box = (round(canvas.width * 0.6), round(canvas.height * 0.36))
        last = max((step for step, _ in self.curve.points), default=0.0)
        corner = ((canvas.width - box[0]) // 2, round(canvas.height * 0.54))
        image.paste(draw_curve(self.curve, last, box, style), corner)
        return np.asarray(image)

    def _draw_background(self, caption: Caption) -> Image.Image:
        """The parts of the panel that stay the same over a clip."""
        canvas, style = self.canvas, self.style
        panel = Image.new("RGB", (canvas.width, canvas.panel), style.background)
        draw = ImageDraw.Draw(panel)
        room = canvas.width - self._curve_size[0] - 3 * self._margin
        title = f"after {steps_in_words(caption.env_steps)} steps  ·  return {number(caption.final_return)}"
        size = _fitting(title, round(canvas.panel * 0.26), room)
        draw.text((self._margin, round(canvas.panel * 0.10)), title, style.text, font=font(size))
        if caption.evaluation is not None:
            text = f"mean of its evaluation {number(caption.evaluation)}"
            small = font(round(canvas.panel * 0.155))
            draw.text((self._margin, round(canvas.panel * 0.46)), text, style.label, font=small)
        corner = (canvas.width - self._curve_size[0] - self._margin, self._margin // 2)
        panel.paste(draw_curve(self.curve, caption.env_steps, self._curve_size, style), corner)
        return panel


def steps_in_words(steps: int) -> str:
    """`950`, `40k`, `1.2M`."""
    if steps < 1000:
        return str(steps)
    return f"{steps / 1000:.3g}k" if steps < 999_500 else f"{steps / 1e6:.3g}M"


def _fitting(text: str, size: int, room: float) -> int:
    """The largest size up to `size` at which a line fits."""
    wide = font(size).getlength(text)
    return size if wide <= room else max(8, int(size * room / wide))
