"""One preprocessing pipeline for all pixel environments: gray, resize, crop, channels first.

Whatever order the axes of an image come in, each of these gives [channels, height, width] and says so
with `ImageBox`; so a layout is guessed once, from the environment's own space, and never again.
"""

import importlib
from abc import abstractmethod
from functools import partial
from typing import Annotated, Any

import numpy as np
from gymnasium import spaces
from pydantic import Field

from gymsolve.envs.spaces import ImageBox, channel_axis, is_image
from gymsolve.envs.wrappers.nested import AnyEnv, LeafWrapper, Space, Transform
from gymsolve.errors import MissingExtraError
from gymsolve.spec import Array

Pixels = Annotated[int, Field(gt=0)]
Margin = Annotated[int, Field(ge=0)]

_LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)


def load_cv2() -> Any:
    """OpenCV, without threads of its own."""
    try:
        cv2 = importlib.import_module("cv2")
    except ImportError as error:
        raise MissingExtraError.of("opencv-python-headless", "images") from error
    # Threads gain nothing on small images, and a pool of them does not survive a fork.
    cv2.setNumThreads(0)
    return cv2


class ImageWrapper(LeafWrapper):
    """Changes every image of an observation; a subclass sees channels in front."""

    def transform(self, space: Space) -> tuple[Space, Transform] | None:
        if not isinstance(space, spaces.Box) or not is_image(space):
            return None
        axis = 0 if isinstance(space, ImageBox) else channel_axis(space.shape)
        shape = self.plan(_channels_first(np.broadcast_to(0, space.shape), axis).shape)
        if shape is None:
            return None
        # A Box of bool has bounds of a type that it does not take itself.
        box = ImageBox(float(space.low.min()), float(space.high.max()), shape, dtype=space.dtype)
        return box, partial(self._change, axis=axis)

    def _change(self, image: Array, axis: int | None) -> Array:
        return self.change(_channels_first(image, axis))

    @abstractmethod
    def plan(self, shape: tuple[int, ...]) -> tuple[int, ...] | None:
        """The new [C, H, W], or None to leave the image alone."""

    @abstractmethod
    def change(self, image: Array) -> Array:
        """The new image."""


def _channels_first(image: Array, axis: int | None) -> Array:
    return image[None] if axis is None else np.moveaxis(image, axis, 0)  # [C, H, W], a view


class ChannelsFirst(ImageWrapper):
    """Makes every image [channels, height, width]; applied by `build_env`, not by recipes."""

    def plan(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        return shape

    def change(self, image: Array) -> Array:
        return image


class ImageRange(ChannelsFirst):
    """Says which values images really hold, so that a network scales by them; no value is changed."""

    def __init__(self, env: AnyEnv, high: float, low: float = 0.0) -> None:
        if low >= high:
            raise ValueError(f"low ({low:g}) should be below high ({high:g}).")
        self._ends = low, high
        super().__init__(env)

    def transform(self, space: Space) -> tuple[Space, Transform] | None:
        changed = super().transform(space)
        if changed is None:
            return None
        box, change = changed
        return ImageBox(*self._ends, box.shape, dtype=space.dtype), change  # type: ignore[arg-type]


class Grayscale(ImageWrapper):
    """Colour images become one channel of brightness."""

    def plan(self, shape: tuple[int, ...]) -> tuple[int, ...] | None:
        if shape[0] == 1:
            return None
        if shape[0] != 3:
            raise ValueError(f"grayscale needs 3 colour channels; the image has {shape[0]}.")
        return (1, *shape[1:])

    def change(self, image: Array) -> Array:
        bright = np.tensordot(_LUMA, image.astype(np.float32), axes=1)[None]  # [1, H, W]
        if image.dtype == np.uint8:
            return np.clip(np.rint(bright), 0, 255).astype(np.uint8)
        return bright.astype(image.dtype)


class Resize(ImageWrapper):
    """Scales images to a size, averaging over areas."""

    def __init__(self, env: AnyEnv, width: Pixels, height: Pixels) -> None:
        self._size = (width, height)
        self._cv2 = load_cv2()
        super().__init__(env)

    def plan(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        width, height = self._size
        return (shape[0], height, width)

    def change(self, image: Array) -> Array:
        pixels = np.ascontiguousarray(np.moveaxis(image, 0, -1))  # [H, W, C], as OpenCV wants it
        scaled = self._cv2.resize(pixels, self._size, interpolation=self._cv2.INTER_AREA)
        # OpenCV drops an axis of one channel.
        return scaled[None] if scaled.ndim == 2 else np.moveaxis(scaled, -1, 0)


class Crop(ImageWrapper):
    """Cuts margins off images."""

    def __init__(
        self, env: AnyEnv, top: Margin = 0, bottom: Margin = 0, left: Margin = 0, right: Margin = 0
    ) -> None:
        self._margins = (top, bottom, left, right)
        super().__init__(env)

    def plan(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        channels, height, width = shape
        top, bottom, left, right = self._margins
        if top + bottom >= height or left + right >= width:
            raise ValueError(f"cropping leaves nothing of an image of {width} × {height} pixels.")
        return (channels, height - top - bottom, width - left - right)

    def change(self, image: Array) -> Array:
        _, height, width = image.shape
        top, bottom, left, right = self._margins
        return image[:, top : height - bottom, left : width - right]


class Flatten(LeafWrapper):
    """Makes vectors of images, from 0 to 1 by their bounds, for fully connected layers to read.

    For maps of a few cells, such as MinAtar's: there, convolutions cost more time than they save steps.
    """

    def transform(self, space: Space) -> tuple[Space, Transform] | None:
        if not isinstance(space, spaces.Box) or not is_image(space):
            return None
        low, high = float(space.low.min()), float(space.high.max())
        if not 0.0 < high - low < 1e30:
            raise ValueError(f"flatten needs images with bounds; got {low:g} to {high:g}.")
        flat = spaces.Box(0.0, 1.0, (int(np.prod(space.shape)),), dtype=np.float32)
        if (low, high) == (0.0, 1.0):
            return flat, lambda image: np.asarray(image, np.float32).ravel()
        floor, width = np.float32(low), np.float32(high - low)
        return flat, lambda image: ((image.astype(np.float32) - floor) / width).ravel()
