"""Episodes that begin alike: for tasks whose layout is drawn anew in every episode otherwise."""

from typing import Any

import gymnasium as gym
from gymnasium.utils.seeding import np_random

from gymsolve.envs.wrappers.rewards import AnyEnv

__all__ = ["SameLayouts"]


class SameLayouts(gym.Wrapper[Any, Any, Any, Any]):
    """Begins every episode with one of a few seeds, so that layouts which a reset draws come again."""

    changes_reward = False

    def __init__(self, env: AnyEnv, seeds: list[int]) -> None:
        super().__init__(env)
        if not seeds:
            raise ValueError("seeds: name at least one")
        self._seeds = list(seeds)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        gym.Env.reset(self.unwrapped, seed=seed)
        chosen = self._seeds[int(self.np_random.integers(len(self._seeds)))]
        onward = int(self.np_random.integers(2**31))
        begun = self.env.reset(seed=chosen, options=options)
        # What happens in the episode, and which seed comes next, is not the layout's to decide.
        self.unwrapped.np_random = np_random(onward)[0]
        return begun
