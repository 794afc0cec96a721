"""Observations of MiniGrid: grids whose cells hold codes instead of colours, and missions in words."""

import itertools
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from gymsolve.envs.wrappers.nested import AnyEnv
from gymsolve.spec import Array


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


class MissionWords(gym.ObservationWrapper[Any, Any, Any]):
    """Turns the mission's text into categories: at each place where missions differ, which word stands there.

    The words are those of all missions that the environment's space lists. Where missions differ in length,
    flags say which words occur.
    """

    changes_reward = False

    def __init__(self, env: AnyEnv, entry: str = "mission") -> None:
        super().__init__(env)
        inner = env.observation_space
        if not isinstance(inner, spaces.Dict) or entry not in inner.spaces:
            raise ValueError(f"an entry {entry!r} with text is needed, such as MiniGrid's.")
        missions = _list_missions(inner[entry])
        if len(missions) < 2:
            raise ValueError(
                f"the mission says nothing, it is always {missions[0]!r}; leave this wrapper out."
            )
        space, self._codes = _encode(missions)
        self._entry = entry
        self.observation_space = spaces.Dict({**inner.spaces, entry: space})

    def observation(self, observation: Any) -> Any:
        mission = observation[self._entry]
        if mission not in self._codes:
            raise ValueError(f"the mission {mission!r} is none of those that its space lists.")
        return {**observation, self._entry: self._codes[mission]}


def _list_missions(space: Any) -> list[str]:
    """All sentences of a mission space; BabyAI has one as well, which says nothing."""
    if type(space).__name__ != "MissionSpace":
        raise ValueError("the environment does not list its missions, so their words are unknown.")
    choices = space.ordered_placeholders or []
    return sorted({space.mission_func(*words) for words in itertools.product(*choices)})


def _encode(missions: list[str]) -> tuple[spaces.Space[Any], dict[str, Array]]:
    """A space of numbers for sentences, and each of them in numbers."""
    sentences = [mission.split() for mission in missions]
    space: spaces.Space[Any]
    if len({len(words) for words in sentences}) == 1:
        places = [sorted(set(words)) for words in zip(*sentences, strict=True)]
        telling = [place for place, words in enumerate(places) if len(words) > 1]
        space = spaces.MultiDiscrete([len(places[place]) for place in telling])
        rows = [[places[place].index(words[place]) for place in telling] for words in sentences]
    else:
        common = set.intersection(*map(set, sentences))
        vocabulary = sorted(set().union(*sentences) - common)
        space = spaces.MultiBinary(len(vocabulary))
        rows = [[word in words for word in vocabulary] for words in sentences]
        if len({tuple(row) for row in rows}) < len(rows):
            raise ValueError(
                "missions of different length have the same words, so that flags cannot tell them apart."
            )
    return space, {mission: np.array(row, space.dtype) for mission, row in zip(missions, rows, strict=True)}
