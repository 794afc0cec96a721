"""Turns combinations of a console's buttons into choices."""

from itertools import product
from typing import Any, Literal

import gymnasium as gym

from gymsolve.envs.wrappers.actions import AnyEnv, DiscreteActions
from gymsolve.errors import did_you_mean

_RIGHT_ONLY = ["", "RIGHT", "RIGHT A", "RIGHT B", "RIGHT A B"]
_SIMPLE = [*_RIGHT_ONLY, "A", "LEFT"]
SETS: dict[str, list[str]] = {
    "right_only": _RIGHT_ONLY,
    "simple": _SIMPLE,
    "complex": [*_SIMPLE, "LEFT A", "LEFT B", "LEFT A B", "DOWN", "UP"],
}
"""The sets that players of Super Mario Bros use; "" presses nothing."""


class ButtonActions(DiscreteActions):
    """Offers combinations of a console's buttons as one Discrete choice.

    `buttons` is `right_only`, `simple`, `complex`, `all` (whatever the game's integration allows, so never
    left with right), or a list such as `["", RIGHT, RIGHT A]`, where "" presses nothing.
    """

    def __init__(
        self, env: AnyEnv, buttons: Literal["right_only", "simple", "complex", "all"] | list[str] = "simple"
    ) -> None:
        pad = pad_of(env)
        if buttons == "all":
            names = _allowed(env, pad)
        else:
            names = SETS[buttons] if isinstance(buttons, str) else buttons
        super().__init__(env, [_press(pad, name) for name in names])
        self._names = [name.lower() or "noop" for name in names]

    def get_action_meanings(self) -> list[str]:
        return self._names


def pad_of(env: AnyEnv) -> list[str | None]:
    """The console's buttons, in the order in which the emulator takes them."""
    game: Any = env.unwrapped
    if not isinstance(env.action_space, gym.spaces.MultiBinary) or "buttons" not in vars(game):
        raise ValueError("a console game is needed, whose actions are its buttons.")
    pad: list[str | None] = game.buttons
    return pad


def _allowed(env: AnyEnv, pad: list[str | None]) -> list[str]:
    """Every combination of what each group of buttons allows: a direction, the other one, some others."""
    game: Any = env.unwrapped
    names = []
    for parts in product(*game.button_combos):
        held = sum(parts)
        names.append(" ".join(name for at, name in enumerate(pad) if name and held >> at & 1))
    return names


def _press(pad: list[str | None], name: str) -> list[int]:
    pressed = name.split()
    for button in pressed:
        if button not in pad:
            known = [other for other in pad if other]
            hint = did_you_mean(button, known) or f"It has {', '.join(known)}."
            raise ValueError(f"the console has no button {button!r}. {hint}")
    return [int(button is not None and button in pressed) for button in pad]
