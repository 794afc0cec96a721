"""Fits frames of any size into pictures of one size, with room for text below."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from PIL import Image

from gymsolve.spec import Array

Colour = tuple[int, int, int]

_SMALL = 480
"""A frame whose longer side has fewer pixels than this is enlarged."""
_LARGE = 1280
"""A frame whose longer side has more pixels is reduced, unless a size is asked for."""
_PIXELATED = 256
"""Smaller frames are pixel art: they keep hard edges when they are enlarged."""


@dataclass(frozen=True)
class Canvas:
    """Places of the frame and of the panel below it; width and height are even, as h264 requires."""

    width: int
    height: int
    panel: int
    """Height of the panel, at the bottom."""
    frame: tuple[int, int, int, int]
    """Left, top, width and height of the frame."""
    hard_edges: bool
    background: Colour

    def compose(self, frame: Array, panel: Array | None) -> Array:
        """A picture [height, width, 3] of a frame [h, w, 3] and a panel [panel, width, 3]."""
        picture: Array = self._blank.copy()
        left, top, width, height = self.frame
        picture[top : top + height, left : left + width] = self._scaled(frame, width, height)
        if panel is not None:
            picture[self.height - self.panel :] = panel
        return picture

    @cached_property
    def _blank(self) -> Array:
        """Nothing but the background; copying it is many times faster than painting it."""
        return np.full((self.height, self.width, 3), self.background, np.uint8)

    def _scaled(self, frame: Array, width: int, height: int) -> Array:
        if frame.shape[:2] == (height, width):
            return frame
        if width % frame.shape[1] == 0 and height % frame.shape[0] == 0 and self.hard_edges:
            enlarged: Array = frame.repeat(height // frame.shape[0], axis=0)
            return enlarged.repeat(width // frame.shape[1], axis=1)
        method = Image.Resampling.NEAREST if self.hard_edges else Image.Resampling.BICUBIC
        return np.asarray(Image.fromarray(frame).resize((width, height), method))


def plan_canvas(
    shape: tuple[int, ...], *, panel_share: float, background: Colour, size: tuple[int, int] | None = None
) -> Canvas:
    """The canvas for frames of this shape; `size` (width, height) letterboxes them into it.

    The panel gets `panel_share` of the picture's width as its height: text scales with the width.
    """
    tall, wide = shape[:2]
    if size is not None:
        width, height = size
        panel = _even(panel_share * min(width, height * 4 / 3))  # a wide picture needs no larger text
        scale = min(width / wide, (height - panel) / tall)
        if max(tall, wide) <= _PIXELATED:
            scale = math.floor(scale) or scale  # whole pixels, if one fits at all
    else:
        scale = _usual_scale(max(tall, wide))
        width = _even(wide * scale)
        panel = _even(panel_share * width)
        height = _even(tall * scale) + panel
    scaled = (max(1, int(wide * scale + 1e-9)), max(1, int(tall * scale + 1e-9)))
    left, top = (width - scaled[0]) // 2, (height - panel - scaled[1]) // 2
    hard = max(tall, wide) <= _PIXELATED or (size is None and scale >= 1)
    return Canvas(width, height, panel, (left, top, *scaled), hard, background)


def _usual_scale(longer: int) -> float:
    return _LARGE / longer if longer > _LARGE else math.ceil(_SMALL / longer)


def _even(length: float) -> int:
    return 2 * math.ceil(length / 2 - 1e-9)
