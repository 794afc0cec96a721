"""Several tasks behind one pair of spaces: what the policy sees and does, and what each task makes of it.

Entries of observations are joined by name. Vectors of different lengths are filled up with zeros, categories
get the larger number of choices, an entry that a task does not have is zero there; pictures must be alike. An
action has all choices of all tasks, and a mask says which of them a task has. Box actions of different bounds
or lengths become [-1, 1], which each task scales to its own. The entry `task` is the number of the task.

Only spaces as plain data and arrays are dealt with here; `backends/joined.py` steps the environments.
"""

import math
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gymsolve.errors import ConfigError
from gymsolve.spec import TASK_ENTRY, ActionSpec, Array, EnvSpec, Obs, ObsSpec


@dataclass(frozen=True)
class Fit:
    """Translates between one task and the spaces that all tasks share."""

    number: int
    """Of the task."""
    own: EnvSpec
    joint: EnvSpec

    def write_obs(self, into: Obs, rows: Array, obs: Obs) -> None:
        """Put the task's observations [n, …] into `rows` of arrays that hold zeros there."""
        into[TASK_ENTRY][rows] = self.number
        for key, values in obs.items():
            target = into[key]
            if values.shape[1:] == target.shape[1:]:
                target[rows] = values
            else:
                flat = values.reshape(len(values), -1)
                target[rows, : flat.shape[1]] = flat

    def read_obs(self, obs: Obs, rows: Array) -> Obs:
        """The task's observations [n, …] in `rows` of those that all share, as `write_obs` was given them."""
        own: Obs = {}
        for key, entry in self.own.obs.items():
            flat = obs[key][rows].reshape(len(rows), -1)
            own[key] = flat[:, : math.prod(entry.shape)].reshape(len(rows), *entry.shape)
        return own

    def actions(self, actions: Array) -> Array:
        """Joint environment actions [n, …] as the task takes them."""
        own, joint = self.own.action, self.joint.action
        if own == joint:
            return actions
        return own.to_env(actions.reshape(len(actions), -1)[:, : own.size])

    def legal(self, count: int, masks: Array | None) -> Array:
        """Which choices of all are legal here [n, …]; `masks` [n, mask_size] are the task's own."""
        legal = np.zeros((count, self.joint.action.mask_size), bool)
        start = own_start = 0
        for index, size in enumerate(self.joint.action.nvec):
            own = self.own.action.nvec[index] if index < len(self.own.action.nvec) else 0
            if own:
                legal[:, start : start + own] = (
                    True if masks is None else masks[:, own_start : own_start + own]
                )
            else:
                legal[:, start] = True  # a part that the task does not have: it does not matter which
            start, own_start = start + size, own_start + own
        return legal

    def columns(self, own: tuple[str, ...], joint: tuple[str, ...]) -> Array:
        """Where the task's own named numbers stand among those of all."""
        return np.array([joint.index(name) for name in own])


@dataclass(frozen=True)
class Joint:
    """The spaces that all tasks share, and how each fits in."""

    spec: EnvSpec
    fits: dict[str, Fit]


def task_seed(name: str, seed: int) -> int:
    """The seed of a task's environment, where one with this number was asked for."""
    word = np.random.SeedSequence([seed, zlib.crc32(name.encode())]).generate_state(1)[0]
    return int(word) & 0x7FFFFFFF


def join_specs(specs: Mapping[str, EnvSpec], env_id: str) -> Joint:
    """The joint spaces of tasks by name; a ConfigError where they cannot be joined."""
    keys = dict.fromkeys(key for spec in specs.values() for key in spec.obs)
    if TASK_ENTRY in keys:
        raise _refuse(
            f"an observation has an entry {TASK_ENTRY!r} of its own, where that of the task stands",
            "Rename it with a wrapper of your own.",
        )
    obs = {key: _join_entry(key, {n: s.obs[key] for n, s in specs.items() if key in s.obs}) for key in keys}
    obs[TASK_ENTRY] = ObsSpec("discrete", (), "int64", nvec=(len(specs),), start=(0,))
    action = _join_actions({name: spec.action for name, spec in specs.items()})
    limits = [spec.max_episode_steps for spec in specs.values()]
    joint = EnvSpec(
        id=env_id,
        obs=obs,
        action=action,
        masked=action.kind != "box" and any(s.masked or s.action.nvec != action.nvec for s in specs.values()),
        max_episode_steps=None if None in limits else max(limit for limit in limits if limit is not None),
        components=tuple(dict.fromkeys(name for spec in specs.values() for name in spec.components)),
        watched=tuple(dict.fromkeys(name for spec in specs.values() for name in spec.watched)),
        notes=tuple(dict.fromkeys(note for spec in specs.values() for note in spec.notes)),
        tasks=tuple(specs),
        task_thresholds=tuple(spec.reward_threshold for spec in specs.values()),
    )
    return Joint(joint, {name: Fit(i, spec, joint) for i, (name, spec) in enumerate(specs.items())})


def _join_entry(key: str, entries: Mapping[str, ObsSpec]) -> ObsSpec:
    """One entry of the observations of those tasks that have it."""
    (first_task, first), *others = entries.items()
    for task, entry in others:
        if (entry.kind, entry.dtype) != (first.kind, first.dtype):
            raise _refuse(
                f"the observation {key!r} is {_in_words(first)} in {first_task!r} and {_in_words(entry)} in "
                f"{task!r}, and one network cannot read both",
                "Give the tasks wrappers that make them alike.",
            )
        if entry.kind == "image" and entry.shape != first.shape:
            raise _refuse(
                f"the pictures {key!r} have shape {list(first.shape)} in {first_task!r} and "
                f"{list(entry.shape)} in {task!r}",
                "Make them alike with the wrappers `resize` and `grayscale`.",
            )
    alike = [*entries.values()]
    if first.kind == "discrete":
        return _join_categories(alike)
    if first.kind == "image" or all(entry.shape == first.shape for entry in alike):
        low, high = _outer_bounds(alike, len(first.low))
        return replace(first, low=low, high=high)
    size = max(math.prod(entry.shape) for entry in alike)
    low, high = _outer_bounds(alike, size)
    return ObsSpec("vector", (size,), first.dtype, low=low, high=high)


def _outer_bounds(entries: list[ObsSpec], size: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Bounds that hold in all tasks, filled up to `size` with zeros; none if one is open."""
    if not all(entry.low for entry in entries):
        return (), ()
    lows = [entry.low + (0.0,) * (size - len(entry.low)) for entry in entries]
    highs = [entry.high + (0.0,) * (size - len(entry.high)) for entry in entries]
    return tuple(map(min, zip(*lows, strict=True))), tuple(map(max, zip(*highs, strict=True)))


def _join_categories(entries: list[ObsSpec]) -> ObsSpec:
    nvec = _larger([entry.nvec for entry in entries])
    first = entries[0]
    if all(entry.nvec == nvec and entry.start == first.start for entry in entries):
        return first
    shape = () if all(entry.shape == () for entry in entries) else (len(nvec),)
    return ObsSpec("discrete", shape, first.dtype, nvec=nvec, start=(0,) * len(nvec))


def _join_actions(actions: Mapping[str, ActionSpec]) -> ActionSpec:
    (first_task, first), *others = actions.items()
    for task, action in others:
        if (action.kind == "box") != (first.kind == "box"):
            raise _refuse(
                f"{first_task!r} takes {_in_words(first)} and {task!r} {_in_words(action)}, and one policy "
                "cannot draw both",
                "Give one of them a wrapper that turns its actions into the other kind.",
            )
    every = [*actions.values()]
    if all(action == first for action in every):
        return first
    if first.kind == "box":
        return _join_boxes(actions)
    nvec = _larger([action.nvec for action in every])
    zeros = (0,) * len(nvec)
    if all(action.kind == "discrete" for action in every):
        return ActionSpec("discrete", (), nvec=nvec, start=zeros)
    if all(action.kind == "multi_binary" for action in every):
        return ActionSpec("multi_binary", (len(nvec),), nvec=nvec, start=zeros)
    return ActionSpec("multi_discrete", (len(nvec),), nvec=nvec, start=zeros)


def _join_boxes(actions: Mapping[str, ActionSpec]) -> ActionSpec:
    for task, action in actions.items():
        if not action.bounded:
            raise _refuse(
                f"the box actions of {task!r} have no bounds, so nothing can be scaled to them",
                "Bound them with a wrapper of your own.",
            )
    size = max(action.size for action in actions.values())
    return ActionSpec("box", (size,), low=(-1.0,) * size, high=(1.0,) * size, dtype="float32")


def _larger(several: list[tuple[int, ...]]) -> tuple[int, ...]:
    """Element by element, the largest number of choices; missing elements have one."""
    length = max(map(len, several))
    return tuple(max(nvec[i] if i < len(nvec) else 1 for nvec in several) for i in range(length))


def _in_words(space: ObsSpec | ActionSpec) -> str:
    kinds = {"vector": "numbers", "image": "a picture", "box": "numbers"}
    word = kinds.get(space.kind, "a choice")
    return f"{word} ({space.kind}, {space.dtype})" if isinstance(space, ObsSpec) else f"{word} ({space.kind})"


def _refuse(what: str, fix: str) -> ConfigError:
    return ConfigError(f"these tasks cannot be joined: {what}.", where="env.tasks", hint=fix)
