"""Turns what people press into actions: keys for choices and buttons, keys and sliders for numbers.

Keys have plain names (`left`, `space`, `a`, `1`); a page may let other keys stand for them. `#3` is choice 3
of a Discrete action and `#2.1` choice 1 of part 2, for buttons on a screen and for choices without a key.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from gymsolve.envs.families import bare_name, find_family
from gymsolve.envs.labels import ActionLabels, find_keys, key_words
from gymsolve.spec import ActionSpec, Array

_SPARE = (*"1234567890", *"qwertyuiop", *"asdfghjkl", *"zxcvbnm")
"""Keys for actions whose names suggest none."""
_LEVERS = (("left", "right"), ("down", "up"))
_MANY_LEVERS = tuple(zip("asdfghjkl", "qwertyuio", strict=True))
"""Keys that push a number down and up: arrows for two of them, else rows of letters."""
_SAME = {"return": "enter"}


@dataclass(frozen=True)
class Binding:
    """Keys and what they do when they are held together."""

    keys: tuple[str, ...]
    label: str
    part: int
    """Which part of an action, or dimension of a box; 0 where there is one."""
    value: float
    """Which choice; or for a box, how far it moves: 1 is the upper end, -1 the lower one."""


@dataclass(frozen=True)
class Controls:
    """The bindings of one environment."""

    action: ActionSpec
    bindings: tuple[Binding, ...]

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"kind": self.action.kind, "bindings": list(map(asdict, self.bindings))}
        if self.action.kind == "box":
            low, neutral, high = self._range
            data["dimensions"] = [
                {"low": float(least), "neutral": float(rest), "high": float(most)}
                for least, rest, most in zip(low, neutral, high, strict=True)
            ]
        return data

    def read(
        self,
        pressed: Sequence[str],
        levels: Mapping[int, float] | None = None,
        strengths: Mapping[str, float] | None = None,
    ) -> Array | None:
        """The action [1, *shape] for keys in the order in which they went down.

        `levels` are where sliders stand, by dimension; `strengths` how far keys are pressed that a stick
        stands for. None where nothing is pressed and no action does nothing: the environment has to wait.
        """
        if self.action.kind == "box":
            return self._read_box(pressed, levels or {}, strengths or {})
        if self.action.kind == "discrete":
            choice = self._read_choice(pressed)
            return None if choice is None else np.array([choice + self.action.start[0]], self.action.dtype)
        chosen = np.zeros(self.action.size, np.int64)
        for key in pressed:  # of two keys for one part, the newer one counts
            for part, choice in self._switched(key):
                chosen[part] = choice
        counted: Array = chosen + np.asarray(self.action.start)
        return counted.reshape(1, *self.action.shape).astype(self.action.dtype)

    def forbidden(self, action: Array, masks: Array | None) -> bool:
        """Does a mask [1, mask_size] forbid this action [1, *shape]?"""
        if masks is None or self.action.kind == "box":
            return False
        chosen = np.ravel(action).astype(np.int64) - np.asarray(self.action.start)
        offsets = np.concatenate([[0], np.cumsum(self.action.nvec[:-1])]).astype(np.int64)
        return not bool(masks[0, offsets + chosen].all())

    def _read_choice(self, pressed: Sequence[str]) -> int | None:
        """The longest combination that is pressed; of equal ones that with the newest key."""
        age = {key: place for place, key in enumerate(pressed)}
        named = [int(key[1:]) for key in pressed if key[:1] == "#" and key[1:].isdecimal()]
        if named and named[-1] < self.action.nvec[0]:
            return named[-1]
        held = [binding for binding in self.bindings if all(key in age for key in binding.keys)]

        def rank(binding: Binding) -> tuple[int, int]:
            return len(binding.keys), max((age[key] for key in binding.keys), default=-1)

        return int(max(held, key=rank).value) if held else None

    def _switched(self, key: str) -> list[tuple[int, int]]:
        part, dot, choice = key[1:].partition(".")
        if key[:1] == "#" and dot and part.isdecimal() and choice.isdecimal():
            known = int(part) < self.action.size and int(choice) < self.action.nvec[int(part)]
            return [(int(part), int(choice))] if known else []
        return [(binding.part, int(binding.value)) for binding in self.bindings if binding.keys == (key,)]

    def _read_box(
        self, pressed: Sequence[str], levels: Mapping[int, float], strengths: Mapping[str, float]
    ) -> Array:
        low, neutral, high = self._range
        values = neutral.copy()
        for dimension, level in levels.items():
            if 0 <= dimension < values.size and np.isfinite(level):
                values[dimension] = level
        for binding in self.bindings:
            if binding.keys[0] in pressed:
                push = binding.value * strengths.get(binding.keys[0], 1.0)
                reach = high if push > 0 else low
                values[binding.part] += abs(push) * (reach - neutral)[binding.part]
        action: Array = np.clip(values, low, high).reshape(1, *self.action.shape).astype(self.action.dtype)
        return action

    @property
    def _range(self) -> tuple[Array, Array, Array]:
        """Lower end, rest and upper end of every dimension; an open end counts as 1."""
        if self.action.bounded:
            low, high = np.asarray(self.action.low), np.asarray(self.action.high)
        else:
            low, high = -np.ones(self.action.size), np.ones(self.action.size)
        return low, np.clip(np.zeros(self.action.size), low, high), high


def find_controls(env_id: str, labels: ActionLabels, action: ActionSpec) -> Controls:
    """Keys for the actions of an environment: its own, those that its names suggest, else spare ones."""
    if action.kind == "discrete":
        bindings = _for_choices(env_id, labels, action)
    elif action.kind == "box":
        bindings = _for_numbers(env_id, labels, action)
    else:
        bindings = _for_parts(env_id, labels, action)
    return Controls(action, tuple(bindings))


def _for_choices(env_id: str, labels: ActionLabels, action: ActionSpec) -> list[Binding]:
    names = labels.names or tuple(str(action.start[0] + choice) for choice in range(action.nvec[0]))
    known = find_keys(env_id, labels)
    if not known:
        counted = not labels.names and action.start[0] >= 0 and action.start[0] + action.nvec[0] <= 10
        spare = names if counted else _SPARE  # numbers are keys themselves
        known = {(key,): choice for choice, key in enumerate(spare[: action.nvec[0]])}
    by_choice = {choice: keys for keys, choice in known.items()}
    bindings = [Binding(_plain(keys), names[choice], 0, choice) for choice, keys in sorted(by_choice.items())]
    return bindings + _with_other_keys(env_id, bindings)


def _with_other_keys(env_id: str, bindings: Sequence[Binding]) -> list[Binding]:
    """The same choices by keys that also stand for their keys."""
    others = find_family(env_id).other_keys.get(bare_name(env_id), {})
    added = []
    for own, other in others.items():
        for binding in bindings:
            if other in binding.keys:
                keys = tuple(own if key == other else key for key in binding.keys)
                label = " ".join(own if word == other else word for word in binding.label.split())
                added.append(replace(binding, keys=keys, label=label))
    return added


def _for_parts(env_id: str, labels: ActionLabels, action: ActionSpec) -> list[Binding]:
    words = key_words(env_id)
    wanted = []
    for part, choices in enumerate(action.nvec):
        for choice in range(1, choices):
            name = _name_of(labels, part, choice, choices)
            if name:
                wanted.append((part, choice, name))
    taken = {words[name] for _, _, name in wanted if words.get(name)}
    spare = iter([key for key in _SPARE if key not in taken])
    bindings = []
    for part, choice, name in wanted:
        key = words.get(name) or next(spare, None)
        if key is not None:
            bindings.append(Binding(_plain((key,)), name, part, choice))
    return bindings


def _name_of(labels: ActionLabels, part: int, choice: int, choices: int) -> str:
    """The name of a choice of a part; "" for one that does nothing."""
    if labels.parts:
        return labels.parts[part][choice]
    if labels.names:
        return labels.names[part]
    return f"part {part}" if choices == 2 else f"part {part}: {choice}"


def _for_numbers(env_id: str, labels: ActionLabels, action: ActionSpec) -> list[Binding]:
    names = labels.names or tuple(f"number {dimension}" for dimension in range(action.size))
    own = find_family(env_id).levers.get(bare_name(env_id), {})
    if own and max(dimension for dimension, _ in own.values()) < action.size:
        return [
            Binding((key,), f"{names[dimension]} {_signed(value)}", dimension, value)
            for key, (dimension, value) in own.items()
        ]
    pairs = _LEVERS if action.size <= len(_LEVERS) else _MANY_LEVERS
    return [
        Binding((key,), f"{names[dimension]} {_signed(value)}", dimension, value)
        for dimension, pair in zip(range(action.size), pairs, strict=False)
        for key, value in zip(pair, (-1.0, 1.0), strict=True)
    ]


def _signed(value: float) -> str:
    return "+" if value > 0 else "−"


def _plain(keys: Iterable[str]) -> tuple[str, ...]:
    return tuple(_SAME.get(key, key) for key in keys)
