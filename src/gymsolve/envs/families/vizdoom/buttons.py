"""Turns combinations of a Doom scenario's buttons into choices, without those that cancel out.

`doom_buttons` makes one choice of them, which suits scenarios with few buttons. `doom_axes` makes a choice
per direction, which suits whole games: a dozen numbers instead of a hundred combinations.
"""

from itertools import combinations
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from pydantic import Field

from gymsolve.envs.wrappers.actions import AnyEnv, DiscreteActions
from gymsolve.errors import did_you_mean
from gymsolve.spec import Array

_OPPOSITES = (
    ("MOVE_FORWARD", "MOVE_BACKWARD"),
    ("MOVE_LEFT", "MOVE_RIGHT"),
    ("TURN_LEFT", "TURN_RIGHT"),
    ("LOOK_UP", "LOOK_DOWN"),
    ("MOVE_UP", "MOVE_DOWN"),
    ("SELECT_NEXT_WEAPON", "SELECT_PREV_WEAPON"),
)
_LEFT_OUT = ("SPEED", "STRAFE", "SELECT_", "DROP_", "ACTIVATE_")
"""How buttons begin that are offered only on request: learning is slower with each of them."""


class DoomButtons(DiscreteActions):
    """Offers combinations of a Doom scenario's buttons as one Discrete choice.

    `buttons` lists them, such as `["", ATTACK, MOVE_LEFT ATTACK]`, where "" presses nothing. By default these
    are all combinations of up to `at_once` buttons without opposite ones; buttons that select weapons, run or
    strafe are left out. The environment needs `env.kwargs.max_buttons_pressed: 0`.
    """

    def __init__(
        self, env: AnyEnv, buttons: list[str] | None = None, at_once: Annotated[int, Field(gt=0)] = 2
    ) -> None:
        pad = _pad(env)
        chosen = _combine(_usual(pad), at_once) if buttons is None else [name.split() for name in buttons]
        super().__init__(_without_deltas(env), [_press(pad, names) for names in chosen])
        self._names = [pressed_names(names) for names in chosen]

    def get_action_meanings(self) -> list[str]:
        return self._names


class DoomAxes(gym.ActionWrapper[Any, Any, Any]):
    """Offers a Doom scenario's buttons as one choice per direction: forward, backward or neither, and so on.

    Opposite buttons share a choice, and so do all weapons; any other button is a choice of its own. `buttons`
    lists those to offer; by default, buttons that select weapons, run or strafe are left out. The environment
    needs `env.kwargs.max_buttons_pressed: 0`.
    """

    changes_reward = False

    def __init__(self, env: AnyEnv, buttons: list[str] | None = None) -> None:
        pad = _pad(env)
        offered = _usual(pad) if buttons is None else buttons
        _press(pad, offered, together=False)
        super().__init__(_without_deltas(env))
        self._parts = _axes(offered)
        choices = [np.array([_press(pad, [name] if name else []) for name in part]) for part in self._parts]
        self._choices: list[Array] = [choice.astype(np.int8) for choice in choices]  # [choices, buttons] each
        self.action_space = spaces.MultiDiscrete([len(part) for part in self._parts])

    def action(self, action: Any) -> Array:
        held = [rows[int(choice)] for rows, choice in zip(self._choices, action, strict=True)]
        pressed: Array = np.stack(held).sum(axis=0, dtype=np.int8)
        return pressed

    def get_part_meanings(self) -> list[list[str]]:
        """The buttons that each choice of each part presses; "" for none."""
        return [[pressed_names([name]) if name else "" for name in part] for part in self._parts]


class _WithoutDeltas(gym.ActionWrapper[Any, Any, Any]):
    """Buttons that are pressed by degrees stay as they are: nobody moves the mouse."""

    def __init__(self, env: AnyEnv) -> None:
        super().__init__(env)
        inner: Any = env.action_space
        self.action_space = inner["binary"]
        self._still = np.zeros(inner["continuous"].shape, np.float32)

    def action(self, action: Any) -> dict[str, Any]:
        return {"binary": action, "continuous": self._still}


def pressed_names(buttons: list[str]) -> str:
    """A combination in words."""
    return " + ".join(name.replace("_", " ").lower() for name in buttons) or "noop"


def _without_deltas(env: AnyEnv) -> AnyEnv:
    return _WithoutDeltas(env) if isinstance(env.action_space, spaces.Dict) else env


def _pad(env: AnyEnv) -> list[str]:
    """The scenario's buttons that are either down or up, in the order in which the engine takes them."""
    bare: Any = env.unwrapped
    if "num_binary_buttons" not in vars(bare):
        raise ValueError("a Doom scenario is needed.")
    space: Any = env.action_space
    space = space["binary"] if isinstance(space, spaces.Dict) else space
    if not isinstance(space, spaces.MultiBinary):
        raise ValueError("all buttons are needed at once: set env.kwargs.max_buttons_pressed=0.")
    return [button.name for button in bare.game.get_available_buttons()[bare.num_delta_buttons :]]


def _usual(pad: list[str]) -> list[str]:
    return [name for name in pad if not name.startswith(_LEFT_OUT)]


def _combine(names: list[str], at_once: int) -> list[list[str]]:
    """Every set of so many buttons at most, fewer first, without opposites."""
    sets = [list(chosen) for count in range(at_once + 1) for chosen in combinations(names, count)]
    return [chosen for chosen in sets if _cancelling(chosen) is None]


def _cancelling(names: list[str]) -> tuple[str, str] | None:
    return next((pair for pair in _OPPOSITES if set(pair) <= set(names)), None)


def _press(pad: list[str], names: list[str], *, together: bool = True) -> list[int]:
    for name in names:
        if name not in pad:
            hint = did_you_mean(name, pad) or f"It has {', '.join(pad)}."
            raise ValueError(f"the scenario has no button {name!r}. {hint}")
    pair = _cancelling(names)
    if together and pair is not None:
        raise ValueError(f"{pair[0]} and {pair[1]} cancel each other out: press one of them.")
    return [int(name in names) for name in pad]


def _axes(names: list[str]) -> list[list[str]]:
    """Choices by part; the first of each presses nothing."""
    rest, parts = list(names), []
    weapons = [name for name in rest if name.startswith("SELECT_")]
    for group in (*(list(pair) for pair in _OPPOSITES), weapons):
        offered = [name for name in group if name in rest]
        if len(offered) > 1:
            parts.append(["", *offered])
            rest = [name for name in rest if name not in offered]
    return parts + [["", name] for name in rest]
