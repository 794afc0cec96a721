"""One preprocessing pipeline for all pixel environments: gray, resize, crop, channels first."""

import importlib
from functools import partial
from typing import Annotated, Any

import numpy as np
from gymnasium import spaces
from pydantic import Field

from gymsolve.envs.spaces import ImageBox, channel_axis, is_image
from gymsolve.envs.wrappers.leaves import AnyEnv, LeafWrapper, Space, Transform
from gymsolve.errors import MissingExtraError
from gymsolve.spec import Array

__all__ = ["ChannelsFirst", "Crop", "Grayscale", "Resize"]

Pixels = Annotated[int, Field(gt=0)]
Margin = Annotated[int, Field(ge=0)]

_LUMA = np.array([0.299, 0.587, 0.114], dtype=np.float32)


class ChannelsFirst(LeafWrapper):
    """Makes every image [channels, height, width]; applied by `make_envs`, not by recipes."""

    def transform(self, space: Space) -> tuple[Space, Transform] | None:
        if not isinstance(space, spaces.Box) or not is_image(space):
            return None
        change = partial(_channels_first, axis=channel_axis(space.shape))
        low, high = change(space.low), change(space.high)
        return ImageBox(low, high, dtype=space.dtype), change


class Grayscale(LeafWrapper):
    """Colour images become one channel of brightness."""

    def transform(self, space: Space) -> tuple[Space, Transform] | None:
        if not isinstance(space, spaces.Box) or not is_image(space):
            return None
        axis = channel_axis(space.shape)
        if axis is None or space.shape[axis] == 1:
            return None
        if space.shape[axis] != 3:
            raise ValueError(f"grayscale needs 3 colour channels; the image has {space.shape[axis]}.")
        return _like(space, tuple(n for i, n in enumerate(space.shape) if i != axis)), partial(
            _gray, axis=axis
        )


class Resize(LeafWrapper):
    """Scales images to a size, averaging over areas."""

    def __init__(self, env: AnyEnv, width: Pixels, height: Pixels) -> None:
        self._size = (width, height)
        try:
            self._cv2: Any = importlib.import_module("cv2")
        except ImportError as error:
            raise MissingExtraError.of("opencv-python-headless", "images") from error
        super().__init__(env)

    def transform(self, space: Space) -> tuple[Space, Transform] | None:
        if not isinstance(space, spaces.Box) or not is_image(space):
            return None
        width, height = self._size
        axis = channel_axis(space.shape)
        shape: tuple[int, ...] = (height, width)
        if axis is not None:
            shape = (space.shape[0], height, width) if axis == 0 else (height, width, space.shape[2])
        return _like(space, shape), partial(self._resize, axis=axis)

    def _resize(self, image: Array, axis: int | None) -> Array:
        pixels = np.moveaxis(image, 0, -1) if axis == 0 else image
        scaled = self._cv2.resize(
            np.ascontiguousarray(pixels), self._size, interpolation=self._cv2.INTER_AREA
        )
        if axis is not None and scaled.ndim == 2:  # OpenCV drops an axis of one channel
            scaled = scaled[..., None]
        return np.moveaxis(scaled, -1, 0) if axis == 0 else np.asarray(scaled)


class Crop(LeafWrapper):
    """Cuts margins off images."""

    def __init__(
        self, env: AnyEnv, top: Margin = 0, bottom: Margin = 0, left: Margin = 0, right: Margin = 0
    ) -> None:
        self._margins = (top, bottom, left, right)
        super().__init__(env)

    def transform(self, space: Space) -> tuple[Space, Transform] | None:
        if not isinstance(space, spaces.Box) or not is_image(space):
            return None
        first = 1 if channel_axis(space.shape) == 0 else 0
        height, width = space.shape[first], space.shape[first + 1]
        top, bottom, left, right = self._margins
        if top + bottom >= height or left + right >= width:
            raise ValueError(f"cropping leaves nothing of an image of {width} × {height} pixels.")
        window = (slice(top, height - bottom), slice(left, width - right))
        where = (slice(None), *window) if first else window
        low, high = space.low[where], space.high[where]
        return spaces.Box(low, high, dtype=space.dtype), lambda image: image[where]


def _like(space: spaces.Box, shape: tuple[int, ...]) -> spaces.Box:
    return spaces.Box(space.low.min(), space.high.max(), shape, dtype=space.dtype)


def _channels_first(image: Array, axis: int | None) -> Array:
    if axis is None:
        return image[None]  # [1, H, W]
    return image if axis == 0 else np.ascontiguousarray(np.moveaxis(image, axis, 0))  # [C, H, W]


def _gray(image: Array, axis: int) -> Array:
    bright = np.tensordot(image.astype(np.float32), _LUMA, axes=([axis], [0]))
    if image.dtype == np.uint8:
        return np.clip(np.rint(bright), 0, 255).astype(np.uint8)
    return bright.astype(image.dtype)
