"""Grids whose cells hold codes instead of colours, such as MiniGrid's."""

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from gymsolve.envs.wrappers.nested import AnyEnv

__all__ = ["GridCodes"]


class GridCodes(gym.ObservationWrapper[Any, Any, Any]):
    """Turns an image of codes into categories, one per cell and channel; each is seen as one of `counts`.

    A code is a name and not an amount: that 5 is a key and 4 a door says nothing about their order. `counts`
    has the number of codes of each channel; MiniGrid has 11 kinds of objects, 6 colours and 3 states.
    """

    changes_reward = False

    def __init__(self, env: AnyEnv, entry: str = "image", counts: tuple[int, ...] = (11, 6, 3)) -> None:
        super().__init__(env)
        inner = env.observation_space
        box = inner[entry] if isinstance(inner, spaces.Dict) and entry in inner.spaces else inner
        if not isinstance(box, spaces.Box) or len(box.shape) != 3 or box.shape[2] != len(counts):
            raise ValueError(f"an entry {entry!r} with {len(counts)} channels is needed, such as MiniGrid's.")
        self._entry, self._nested = entry, isinstance(inner, spaces.Dict)
        codes = spaces.MultiDiscrete(np.tile(counts, box.shape[0] * box.shape[1]))
        self._most = codes.nvec - 1
        self.observation_space = codes
        if isinstance(inner, spaces.Dict):
            self.observation_space = spaces.Dict({**inner.spaces, entry: codes})

    def observation(self, observation: Any) -> Any:
        codes = np.asarray(observation[self._entry] if self._nested else observation).ravel().astype(np.int64)
        if (codes > self._most).any():
            raise ValueError(f"a code of {self._entry!r} is larger than `counts` of grid_codes says.")
        return {**observation, self._entry: codes} if self._nested else codes
