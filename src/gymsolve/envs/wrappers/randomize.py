"""Changes what an episode begins with: numbers of the world drawn from ranges, or one of a few layouts."""

import math
from typing import Any

import gymnasium as gym
from gymnasium.utils.seeding import np_random

from gymsolve.envs.wrappers.rewards import AnyEnv


class Randomize(gym.Wrapper[Any, Any, Any, Any]):
    """Draws attributes of the environment evenly from ranges, anew for every episode.

    `ranges` has `name: [low, high]`, such as LunarLander's `gravity`, `wind_power` and `turbulence_power`
    (wind needs `env.kwargs` with `enable_wind: true`). Only attributes that the environment reads in its
    steps or resets have an effect. Evaluation draws too; `roles: [train]` keeps it to training.
    """

    changes_reward = False

    def __init__(self, env: AnyEnv, ranges: dict[str, list[float]]) -> None:
        super().__init__(env)
        if not ranges:
            raise ValueError("ranges should name at least one attribute.")
        self._ranges = ranges
        numbers = _numbers(env.unwrapped)
        for name, ends in ranges.items():
            if len(ends) != 2 or not all(map(math.isfinite, ends)) or ends[0] > ends[1]:
                raise ValueError(f"a range is written [low, high]; {name} got {ends}.")
            if name not in numbers:
                listed = f"Its numbers are: {', '.join(numbers)}." if numbers else "It has no numbers at all."
                raise ValueError(f"the environment has no number {name!r}. {listed}")

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        # The world has to be there before the environment builds its episode from it, so the seed goes to
        # the generator first and the environment gets one that was drawn from it.
        gym.Env.reset(self.unwrapped, seed=seed)
        for name, (low, high) in self._ranges.items():
            setattr(self.unwrapped, name, float(self.np_random.uniform(low, high)))
        return self.env.reset(seed=int(self.np_random.integers(2**31)), options=options)


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


def _numbers(world: AnyEnv) -> list[str]:
    """Names of the numbers that an environment or its class holds."""
    attributes: dict[str, Any] = {}
    for kind in reversed(type(world).__mro__):
        attributes |= vars(kind)
    attributes |= vars(world)
    return [name for name, value in attributes.items() if type(value) in (int, float) and name[0] != "_"]
