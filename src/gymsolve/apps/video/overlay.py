"""The text below a frame: episode, step, action, reward, return, value; one object holds its style."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from gymsolve.apps.playback import Moment
from gymsolve.envs.labels import ActionLabels
from gymsolve.spec import Array

Colour = tuple[int, int, int]

_NOTHING = "-"
"""The font has no longer dash."""


@dataclass(frozen=True)
class OverlayStyle:
    """Style and contents of the text; lengths are in units of the font's size."""

    show: tuple[str, ...] = ("episode", "step", "return", "action", "reward", "value")
    """The words to show, in reading order; empty shows only the frame."""
    columns: tuple[float, ...] = (1.4, 1.0, 0.85)
    """Widths in relation to each other; the first has room for actions of several numbers."""
    font_share: float = 1 / 36
    """Size of the font as a share of the picture's width."""
    margin: float = 0.7
    line_height: float = 1.5
    background: Colour = (17, 20, 28)
    text: Colour = (236, 239, 244)
    label: Colour = (136, 146, 166)
    accent: Colour = (94, 214, 160)
    """Colour of what matters: the return once an episode is over, the position on a curve."""

    @property
    def lines(self) -> int:
        return -(-len(self.show) // len(self.columns))

    @property
    def panel_share(self) -> float:
        """Height of the panel as a share of the picture's width."""
        return self.font_share * (self.lines * self.line_height + self.margin) if self.show else 0.0

    def without_text(self) -> "OverlayStyle":
        return replace(self, show=())


def describe(moment: Moment, labels: ActionLabels, value: float | None, episodes: int) -> dict[str, str]:
    """All texts of a moment that an overlay can show; there may be more episodes than were asked for."""
    counted = 1 < episodes >= moment.episode
    ending = ", time limit" if moment.scene.truncated else ", end" if moment.scene.terminated else ""
    return {
        "episode": f"{moment.episode} of {episodes}" if counted else str(moment.episode),
        "step": f"{moment.step}{ending}",
        "return": number(moment.scene.raw_return),
        "action": _NOTHING if moment.action is None else labels.describe(moment.action),
        "reward": _NOTHING if moment.action is None else number(moment.scene.reward, sign=True),
        # After the end nothing follows, so a value would mean nothing.
        "value": _NOTHING if value is None or moment.scene.terminated else number(value),
    }


def draw_panel(
    texts: Mapping[str, str], style: OverlayStyle, width: int, height: int, *, highlight: tuple[str, ...] = ()
) -> Array:
    """The panel [height, width, 3]: names and texts, in columns."""
    panel = np.empty((height, width, 3), np.uint8)
    panel[:] = style.background
    size = height / (style.lines * style.line_height + style.margin)
    edge = round(size * style.margin)
    unit = (width - edge) / sum(style.columns)
    for index, name in enumerate(style.show):
        row, place = divmod(index, len(style.columns))
        top = round(size * (style.margin / 2 + row * style.line_height))
        left = round(edge + sum(style.columns[:place]) * unit)
        room = int(style.columns[place] * unit - edge / 2)
        colour = style.accent if name in highlight else style.text
        colours = (style.background, style.label, colour)
        _paste(panel, _cell(name, texts[name], round(size), room, colours), left, top)
    return panel


@lru_cache(maxsize=2048)  # most cells repeat from frame to frame, and drawing text is what costs here
def _cell(name: str, text: str, size: int, room: int, colours: tuple[Colour, Colour, Colour]) -> Array:
    """A name and its text, cut to a width."""
    face = font(size)
    behind, muted, bright = colours
    image = Image.new("RGB", (room, round(size * 1.4)), behind)
    draw = ImageDraw.Draw(image)
    draw.text((0, 0), name, muted, font=face)
    draw.text((face.getlength(f"{name}  "), 0), text, bright, font=face)
    return np.asarray(image)


def _paste(panel: Array, cell: Array, left: int, top: int) -> None:
    height, width = min(cell.shape[0], panel.shape[0] - top), min(cell.shape[1], panel.shape[1] - left)
    panel[top : top + height, left : left + width] = cell[:height, :width]


@lru_cache(maxsize=32)
def font(size: int) -> ImageFont.FreeTypeFont:
    """The font that comes with Pillow: the same on every machine."""
    default = ImageFont.load_default(max(8, size))
    assert isinstance(default, ImageFont.FreeTypeFont)
    return default


def number(value: float, *, sign: bool = False) -> str:
    """A number with few digits, so that the text does not jump from frame to frame."""
    if not math.isfinite(value):  # the network may have left the finite numbers
        return str(value)
    plus = "+" if sign and value else ""
    if value == round(value) and abs(value) < 1e6:
        return f"{value:{plus}.0f}"
    return f"{value:{plus}.1f}" if abs(value) >= 100 else f"{value:{plus}.2f}"
