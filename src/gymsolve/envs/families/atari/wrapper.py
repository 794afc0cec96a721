"""The usual screen of Atari agents, in one wrapper.

One wrapper and not five, because a recipe then says in one place what the `ale` backend does in native
code; both give the same frames and rewards for the same actions (`tests/envs/test_env_ale.py`).
"""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from gymsolve.envs.spaces import ImageBox
from gymsolve.envs.wrappers.actions import Count, FrameSkip, Stepped
from gymsolve.envs.wrappers.images import Pixels, load_cv2
from gymsolve.envs.wrappers.nested import AnyEnv
from gymsolve.spec import Array

_CHANNELS = {"grayscale": 1, "rgb": 3}


def stock_fault(kwargs: dict[str, Any]) -> str | None:
    """The fault of the arguments that a game was made with, in words, or None.

    Every frame is needed, in brightness as the emulator computes it, or in colours.
    """
    if kwargs.get("continuous") or kwargs.get("sound_obs"):
        return "env.kwargs without continuous and sound_obs"
    if kwargs.get("frameskip") == 1 and kwargs.get("obs_type") in _CHANNELS:
        return None
    return "env.kwargs with frameskip 1 and obs_type grayscale (or rgb)"


@dataclass(frozen=True)
class AtariOptions:
    """The wrapper's options and their defaults, also for the backend that needs no wrapper."""

    frame_skip: int = 4
    size: int = 84
    noop_max: int = 30
    fire_reset: bool = True


class Atari(FrameSkip):
    """Skips frames with max-pooling, scales to a square, starts after idle frames and FIRE.

    A game starts after a random number of idle frames below `noop_max`; needs `env.kwargs` with
    `frameskip: 1` and `obs_type: grayscale` (or `rgb`, for three channels per frame).
    """

    def __init__(
        self,
        env: AnyEnv,
        frame_skip: Count = AtariOptions.frame_skip,
        size: Pixels = AtariOptions.size,
        noop_max: Annotated[int, Field(ge=0)] = AtariOptions.noop_max,
        fire_reset: bool = AtariOptions.fire_reset,
    ) -> None:
        made = env.unwrapped.spec.kwargs if env.unwrapped.spec else {}
        if fault := stock_fault(made):
            raise ValueError(f"an Atari game is needed, made by {fault}.")
        super().__init__(env, frame_skip, max_pool=True)
        game: Any = env.unwrapped
        meanings = game.get_action_meanings()
        self._fire = meanings.index("FIRE") if fire_reset and "FIRE" in meanings else None
        self._size, self._noop_max = size, noop_max
        self._cv2 = load_cv2()
        self.observation_space = ImageBox(0, 255, (_CHANNELS[made["obs_type"]], size, size), dtype=np.uint8)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        screen, info = self.env.reset(seed=seed, options=options)
        idle = int(self.np_random.integers(self._noop_max)) if self._noop_max else 0
        # The native version counts the frame of FIRE as one of the idle ones.
        if self._fire is not None:
            idle = max(idle - 1, 0)
        for action in [0] * idle + ([] if self._fire is None else [self._fire]):
            screen, _, terminated, truncated, info = self.env.step(action)
            if terminated or truncated:
                screen, info = self.env.reset()
        return self._shrink(screen), info

    def step(self, action: Any) -> Stepped:
        screen, reward, terminated, truncated, info = super().step(action)
        return self._shrink(screen), reward, terminated, truncated, info

    def _shrink(self, screen: Array) -> Array:
        square = (self._size, self._size)
        scaled: Array = self._cv2.resize(screen, square, interpolation=self._cv2.INTER_AREA)
        return scaled[None] if scaled.ndim == 2 else np.moveaxis(scaled, -1, 0)  # [channels, size, size]
