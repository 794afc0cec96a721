"""Which numbers an environment has in `info`: what a reward could be shaped with."""

from typing import Any

import gymnasium as gym
import numpy as np

from gymsolve.envs.wrappers.components import is_number

__all__ = ["Offers"]

_STEPS = 20
"""Looked at; later ones cost nothing."""
_PAYING = ("reward", "cost", "bonus", "penalty")


class Offers(gym.Wrapper[Any, Any, Any, Any]):
    """Notes the keys of numbers; flags are not worth a mention."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self._left = _STEPS
        self._found: set[str] = set()

    def step(self, action: Any) -> Any:
        stepped = self.env.step(action)
        if self._left:
            self._left -= 1
            self._found |= {str(key) for key, value in stepped[4].items() if _counts(value)}
        return stepped

    def names(self) -> tuple[str, ...]:
        """Those that speak of rewards first."""
        return tuple(sorted(self._found, key=lambda name: (not _speaks_of_reward(name), name)))


def _speaks_of_reward(name: str) -> bool:
    return any(word in name.lower() for word in _PAYING)


def _counts(value: Any) -> bool:
    return is_number(value) and not isinstance(value, bool | np.bool_)
