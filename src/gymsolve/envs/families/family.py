"""Defines `Family`: one record of all that gymsolve knows about environments of one origin.

A fact belongs here when it follows from where an environment comes from and not from its spaces: which
package it needs, which backends step it, how many fit into a process, what its actions are called. Every
other module asks the record and names no family.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import gymnasium as gym

from gymsolve.envs.contract import Envs
from gymsolve.envs.lean import StandIn
from gymsolve.settings.config import EnvConfig, Role

AnyEnv: TypeAlias = gym.Env[Any, Any]


class Extra(NamedTuple):
    """A package that has to be installed."""

    package: str
    name: str
    """Name of the extra: `pip install 'gymsolve[name]'`; empty where gymsolve has none for the package."""
    module: str
    """The module that the package is imported as; errors about its absence mention it."""


class Clone(NamedTuple):
    """Copies of the state of a running environment, without its wrappers."""

    save: Callable[[AnyEnv], Any]
    """JSON-ready; generators included. None for a class of the family that it does not know."""
    load: Callable[[AnyEnv, Any], None]
    """Into an environment that has been reset; an `EnvFaultError` where it does not fit."""
    resumes: bool = False
    """A resumed run goes by it, and no actions are kept for a replay: it holds all that decides what follows
    and takes less room than they do."""


IMAGES = Extra("opencv-python-headless", "images", "cv2")
"""Some wrappers and environments of any family need it."""


def _not_certain(config: EnvConfig) -> bool:
    return False


@dataclass(frozen=True)
class Backend:
    """Steps whole vectors of a family's environments, in code that serves this family alone."""

    obstacle: Callable[[EnvConfig, Role], str | None]
    """Why it cannot serve these settings, to follow "cannot be used:"; None where it can."""
    make: Callable[[EnvConfig, Role, int], Envs]
    """Builds so many environments, for settings without an obstacle."""
    jumps: bool = False
    """Its environments can be put into an earlier state (`Envs.jump`)."""
    slow_start: bool = False
    """Starting an environment takes long, and the vector knows its spaces without: none is started just to
    look at it."""
    seeds_certain: Callable[[EnvConfig], bool] = _not_certain
    """Is it certain without a trial that copies differ, that seeds repeat and that a resume is exact?"""


def declared_fps(env: AnyEnv) -> float | None:
    """Steps per second of an environment's own time, as its metadata say."""
    fps = env.metadata.get("render_fps")
    return None if fps is None else float(fps)


def _as_it_is(env: AnyEnv) -> AnyEnv:
    return env


def _nothing() -> None: ...


def _drawable() -> str | None:
    return None


def _no_limit(env: AnyEnv) -> int | None:
    return None


def _as_given(options: dict[str, Any]) -> dict[str, Any]:
    return options


def _unknown(env_id: str) -> str | None:
    return None


def _any_arguments(kwargs: Mapping[str, Any]) -> bool:
    return True


def _never_drawn(state: int) -> int:
    return state


def _no_words(env_id: str) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True)
class Family:
    """Everything known about environments of one origin; the defaults are those of an unknown environment."""

    name: str
    owns: Callable[[str], bool]
    """Is this id (as `env.id` has it) one of them?"""
    register: Callable[[], None] = _nothing
    """Make its ids known to Gymnasium; doing so again changes nothing."""
    extra: Extra | None = None
    """The package to install; None where nothing optional is needed."""
    exclusive: bool = False
    """A process can hold one environment, and no second one ever: each gets a process of its own."""
    meant: Callable[[str], str | None] = _unknown
    """Advice for an id that does not exist but looks like an older one of theirs; None for all others."""
    recipe: str | None = None
    """Family of recipes (`zoo/_<name>.yaml`) that serves whichever of them has no recipe of its own."""
    recipe_fits: Callable[[Mapping[str, Any]], bool] = _any_arguments
    """Does that recipe fit an environment with these `env.kwargs`?"""
    backends: Mapping[str, str] = field(default_factory=dict)
    """Backends of its own, quickest first: by the value of `env.backend`, `module:attribute` of a `Backend`,
    which is imported on use."""
    stand_ins: Mapping[str, StandIn] = field(default_factory=dict)
    """Quicker classes with the same results, by the entry point of the registered class (`env.lean`)."""
    envpool: tuple[str, ...] = ()
    """Ids whose EnvPool version was compared with the registered one and agrees."""
    clone: Clone | None = None
    """Native snapshots; None where only a replay of the actions leads back to a state."""
    state: Callable[[AnyEnv], bytes] | None = None
    """The full state as bytes, for bonuses that count states; None where only the observation is known."""
    arguments: Callable[[dict[str, Any]], dict[str, Any]] = _as_given
    """Turns `env.kwargs` into what their classes take, and refuses what they would take without a word."""
    prepare: Callable[[AnyEnv], AnyEnv] = _as_it_is
    """Mends what an environment needs, right above `gym.make`, if its class is one of the family's."""
    drawing_fault: Callable[[], str | None] = _drawable
    """Why this machine cannot draw them, with the fix; None where it can."""
    fps: Callable[[AnyEnv], float | None] = declared_fps
    """Steps of the bare environment per second of its own time; None where it is unknown."""
    limit: Callable[[AnyEnv], int | None] = _no_limit
    """Steps after which the bare environment itself cuts an episode; None where none are known."""
    choices: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of Discrete actions, by id without namespace and version."""
    usual_choices: tuple[str, ...] = ()
    """The same where the names of an id are unknown or do not fit the number of actions."""
    dimensions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the dimensions of Box actions, likewise."""
    observed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the numbers of an observation, likewise."""
    turns: bool = False
    """Do they wait for a player, having no time of their own? So do those with few frames per second."""
    title: str = ""
    """Its name for people; the heading of its page."""
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Which key a person presses for each choice, likewise; "" for none. Missing where the names say it."""
    usual_keys: tuple[str, ...] = ()
    """The same for `usual_choices`."""
    key_words: Callable[[str], Mapping[str, str]] = _no_words
    """Which key stands for a word in a choice's name, by id; before words that are the same everywhere.

    Names may be made of parts such as `turn left + attack`; then these are the words.
    """
    other_keys: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Keys that also stand for a key, by id: arrows that point where the screen moves, not where a joystick
    was pushed."""
    drawn_before: Callable[[int], int] = _never_drawn
    """The first state that has to be drawn for the picture of this state to be as in a film of all of them:
    smoke fades, and beams sweep, with every picture that is drawn."""
    levers: Mapping[str, Mapping[str, tuple[int, float]]] = field(default_factory=dict)
    """Which dimension of a Box action a key moves, and how far: 1 is its upper end, -1 its lower one."""


def by_namespace(namespace: str) -> Callable[[str], bool]:
    """Owns ids like `namespace/Name-v0`, whether or not they are registered."""
    return lambda env_id: env_id.rpartition(":")[2].startswith(f"{namespace}/")


def by_code(package: str) -> Callable[[str], bool]:
    """Owns registered ids whose class comes from a package, under whatever name."""

    def owns(env_id: str) -> bool:
        registered = gym.registry.get(env_id.rpartition(":")[2])
        entry = None if registered is None else registered.entry_point
        place = entry.__module__ if isinstance(entry, type) else entry
        return isinstance(place, str) and f"{place}.".startswith(f"{package}.")

    return owns
