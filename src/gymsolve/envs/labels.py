"""What actions are called, for people who watch: from the environment where it says, else from tables."""

import re
from typing import Any, Protocol, runtime_checkable

import gymnasium as gym
import numpy as np

from gymsolve.envs.wrappers.actions import DiscreteActions
from gymsolve.spec import ActionSpec, Array

__all__ = ["ActionLabels", "find_labels", "name_dimensions"]

_CHOICES: dict[str, tuple[str, ...]] = {
    "CartPole": ("left", "right"),
    "MountainCar": ("left", "coast", "right"),
    "Acrobot": ("torque -1", "torque 0", "torque +1"),
    "LunarLander": ("coast", "left engine", "main engine", "right engine"),
    "CarRacing": ("coast", "right", "left", "gas", "brake"),
    "FrozenLake": ("left", "down", "right", "up"),
    "CliffWalking": ("up", "right", "down", "left"),
    "Taxi": ("south", "north", "east", "west", "pick up", "drop off"),
    "Blackjack": ("stick", "hit"),
}
_DIMENSIONS: dict[str, tuple[str, ...]] = {
    "Pendulum": ("torque",),
    "MountainCarContinuous": ("force",),
    "LunarLander": ("main", "side"),
    "LunarLanderContinuous": ("main", "side"),
    "CarRacing": ("steer", "gas", "brake"),
}
_MOST_NUMBERS = 4
"""More dimensions than this are counted instead of listed: nobody reads them from a moving picture."""


@runtime_checkable
class _Meaningful(Protocol):
    def get_action_meanings(self) -> list[str]: ...


class ActionLabels:
    """Words for the actions of one environment."""

    def __init__(self, action: ActionSpec, names: tuple[str, ...] = ()) -> None:
        self._action = action
        self.names = names
        """One per choice of a Discrete action or per dimension of a box; empty when none are known."""

    def describe(self, action: Array) -> str:
        """One action, as the environment takes it, in a few words."""
        if self._action.kind == "discrete":
            index = int(action) - self._action.start[0]
            return self.names[index] if self.names else str(int(action))
        values = np.ravel(action)
        if self._action.kind != "box":
            return " ".join(str(int(value)) for value in values)
        shown = [f"{value:+.2f}" for value in values[:_MOST_NUMBERS]]
        if self.names:
            return " ".join(f"{name} {value}" for name, value in zip(self.names, shown, strict=True))
        more = f" and {values.size - _MOST_NUMBERS} more" if values.size > _MOST_NUMBERS else ""
        return " ".join(shown) + more


def find_labels(env: gym.Env[Any, Any], env_id: str, action: ActionSpec) -> ActionLabels:
    """The names that fit the actions of a wrapped environment, if any are known."""
    if action.kind not in ("discrete", "box") or _renumbers(env):
        return ActionLabels(action)
    inner = env.unwrapped
    if isinstance(inner, _Meaningful) and action.kind == "discrete":
        names = tuple(_spaced(name.lower()) for name in inner.get_action_meanings())
    elif action.kind == "discrete":
        names = _CHOICES.get(_family(env_id), ())
    else:
        return ActionLabels(action, name_dimensions(env_id, action))
    return ActionLabels(action, names if len(names) == action.nvec[0] else ())


def name_dimensions(env_id: str, action: ActionSpec) -> tuple[str, ...]:
    """What the dimensions of a box are called, if it is known."""
    names = _DIMENSIONS.get(_family(env_id), ())
    return names if action.kind == "box" and len(names) == action.size else ()


def _family(env_id: str) -> str:
    """The id without namespace and version."""
    return re.sub(r"-v\d+$", "", env_id.rpartition(":")[2].rpartition("/")[2])


def _spaced(name: str) -> str:
    """`uprightfire`, as Atari games say, in words."""
    words = re.findall("up|down|left|right|fire|noop", name)
    return " ".join(words) if "".join(words) == name else name


def _renumbers(env: gym.Env[Any, Any]) -> bool:
    """Does a wrapper offer other choices than the environment's own?"""
    while isinstance(env, gym.Wrapper):
        if isinstance(env, DiscreteActions):
            return True
        env = env.env
    return False
