"""Names of actions and the keys that stand for them, from the environment or its family."""

import re
from typing import Any, Protocol, runtime_checkable

import gymnasium as gym
import numpy as np

from gymsolve.envs.families import bare_name, find_family
from gymsolve.envs.wrappers.actions import DiscreteActions
from gymsolve.spec import ActionSpec, Array

_MOST_NUMBERS = 4
"""More dimensions than this are counted instead of listed: nobody can read them in a video."""
_WORDS = {
    "left": "left",
    "right": "right",
    "up": "up",
    "down": "down",
    "fire": "space",
    "forward": "up",
    "a": "x",
    "b": "z",
    "noop": "",
    "coast": "",
}
"""Keys, by the words in names of actions."""


@runtime_checkable
class _Meaningful(Protocol):
    def get_action_meanings(self) -> list[str]: ...


@runtime_checkable
class _MeaningfulParts(Protocol):
    def get_part_meanings(self) -> list[list[str]]:
        """Names of every choice of every part of an action; "" for one that does nothing."""


@runtime_checkable
class _Pad(Protocol):
    """A console, whose actions are its buttons; None for one that does nothing."""

    buttons: list[str | None]


class ActionLabels:
    """Words for the actions of one environment."""

    def __init__(
        self, action: ActionSpec, names: tuple[str, ...] = (), parts: tuple[tuple[str, ...], ...] = ()
    ) -> None:
        self._action = action
        self.names = names
        """One per choice of a Discrete action, per dimension of a box or per button; empty when unknown."""
        self.parts = parts
        """One per choice of each part of an action of several parts; empty when none are known."""

    @property
    def discrete(self) -> bool:
        return self._action.kind == "discrete"

    def describe(self, action: Array) -> str:
        """One action, as the environment takes it, in a few words.

        One of several tasks takes the first parts of an action that all of them share.
        """
        values = np.ravel(action)[: self._action.size]
        if self._action.kind == "multi_binary" and self.names:
            held = [name for name, pressed in zip(self.names, values, strict=True) if pressed and name]
            return " ".join(held) or "noop"
        if self._action.kind == "discrete":
            index = int(values[0]) - self._action.start[0]
            return self.names[index] if self.names else str(int(values[0]))
        if self.parts:
            chosen = values - np.asarray(self._action.start)
            words = (names[int(index)] for names, index in zip(self.parts, chosen, strict=True))
            return " + ".join(filter(None, words)) or "noop"
        if self._action.kind != "box":
            return " ".join(str(int(value)) for value in values)
        shown = [f"{value:+.2f}" for value in values[:_MOST_NUMBERS]]
        if self.names and values.size <= _MOST_NUMBERS:
            return " ".join(f"{name} {value}" for name, value in zip(self.names, shown, strict=True))
        more = f" and {values.size - _MOST_NUMBERS} more" if values.size > _MOST_NUMBERS else ""
        return " ".join(shown) + more


def find_labels(env: gym.Env[Any, Any], env_id: str, action: ActionSpec) -> ActionLabels:
    """The names that fit the actions of a wrapped environment, if any are known."""
    speaker = _speaker(env)
    if action.kind in ("multi_discrete", "multi_binary") and isinstance(speaker, _MeaningfulParts):
        parts = tuple(map(tuple, speaker.get_part_meanings()))
        return ActionLabels(action, parts=parts if tuple(map(len, parts)) == action.nvec else ())
    if action.kind == "multi_binary" and isinstance(speaker, _Pad) and len(speaker.buttons) == action.size:
        return ActionLabels(action, tuple((button or "").lower() for button in speaker.buttons))
    renumbered = isinstance(speaker, DiscreteActions) and not isinstance(speaker, _Meaningful)
    if action.kind not in ("discrete", "box") or renumbered:
        return ActionLabels(action)
    if isinstance(speaker, _Meaningful) and action.kind == "discrete":
        names = tuple(_spaced(name.lower()) for name in speaker.get_action_meanings())
    elif action.kind == "discrete":
        family = find_family(env_id)
        names = family.choices.get(bare_name(env_id), ())
        names = names if len(names) == action.nvec[0] else family.usual_choices
    else:
        return ActionLabels(action, name_dimensions(env_id, action))
    return ActionLabels(action, names if len(names) == action.nvec[0] else ())


def name_dimensions(env_id: str, action: ActionSpec) -> tuple[str, ...]:
    """Names of the dimensions of a box; empty when unknown."""
    names = find_family(env_id).dimensions.get(bare_name(env_id), ())
    return names if action.kind == "box" and len(names) == action.size else ()


def find_keys(env_id: str, labels: ActionLabels) -> dict[tuple[str, ...], int]:
    """Which keys, pressed together, stand for which choice of a Discrete action; empty when unknown.

    No key at all is a choice too, where the environment has one that does nothing.
    """
    names = labels.names if labels.discrete else ()
    family = find_family(env_id)
    keys = family.keys.get(bare_name(env_id), family.usual_keys)
    if names and len(keys) == len(names):
        return {(key,) if key else (): choice for choice, key in enumerate(keys)}
    known = key_words(env_id)
    choices = {}
    for choice, name in enumerate(names):
        words = name.split(" + ")
        if any(word not in known for word in words):
            words = name.split()
        if any(word not in known for word in words):
            return {}
        choices[tuple(known[word] for word in words if known[word])] = choice
    return choices


def key_words(env_id: str) -> dict[str, str]:
    """Which key stands for a word in the name of an action; "" for one that does nothing."""
    return {**_WORDS, **find_family(env_id).key_words(env_id)}


def _spaced(name: str) -> str:
    """A name without spaces, such as `uprightfire`, in words."""
    words = re.findall("up|down|left|right|fire|noop", name)
    return " ".join(words) if "".join(words) == name else name


def _speaker(env: gym.Env[Any, Any]) -> gym.Env[Any, Any]:
    """The layer that decides the choices: the outermost wrapper that names them, or the environment."""
    tellers = DiscreteActions | _Meaningful | _MeaningfulParts
    while isinstance(env, gym.Wrapper) and not isinstance(env, tellers):
        env = env.env
    return env
