"""A wrapper that simplifies a console's screen for the network."""

from typing import Annotated

import numpy as np
from pydantic import Field

from gymsolve.envs.spaces import is_image
from gymsolve.envs.wrappers.images import ImageWrapper
from gymsolve.envs.wrappers.nested import AnyEnv, Space, Transform
from gymsolve.spec import Array


class DarkBackground(ImageWrapper):
    """Each pixel becomes its distance from the picture's commonest brightness, times `gain`.

    A sky of one colour is then 0, as the black background of Atari games is. Left as it is, it makes all
    pictures look alike to a new network. For gray pictures of bytes.
    """

    def __init__(self, env: AnyEnv, gain: Annotated[float, Field(gt=0)] = 2.0) -> None:
        self._gain = gain
        super().__init__(env)

    def plan(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        if shape[0] != 1:
            raise ValueError(f"gray pictures are needed; these have {shape[0]} channels.")
        return shape

    def transform(self, space: Space) -> tuple[Space, Transform] | None:
        if is_image(space) and space.dtype != np.uint8:
            raise ValueError(f"pictures of bytes are needed, not of {space.dtype}.")
        return super().transform(space)

    def change(self, image: Array) -> Array:
        common = np.bincount(image.ravel(), minlength=256).argmax()
        distance = np.abs(np.arange(256) - common) * self._gain
        table: Array = np.minimum(np.rint(distance), 255).astype(np.uint8)
        return table[image]
