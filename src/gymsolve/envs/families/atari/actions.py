"""Some of a game's actions, by the names that the emulator gives them."""

from typing import Any

from gymsolve.envs.wrappers.actions import AnyEnv, DiscreteActions
from gymsolve.errors import did_you_mean


class AtariActions(DiscreteActions):
    """Offers only some of an Atari game's actions, such as `[RIGHT, LEFT]`, by the emulator's names."""

    def __init__(self, env: AnyEnv, names: list[str]) -> None:
        game: Any = env.unwrapped
        made = game.spec.kwargs if game.spec else {}
        if "game" not in made or isinstance(env, DiscreteActions):
            raise ValueError("an Atari game is needed, whose actions nothing else has chosen.")
        known = game.get_action_meanings()
        super().__init__(env, choose_actions(known, names))
        self._names = [name.upper() for name in names]

    def get_action_meanings(self) -> list[str]:
        return self._names


def choose_actions(known: list[str], names: list[str]) -> list[int]:
    """The numbers of the named actions."""
    for name in names:
        if name.upper() not in known:
            hint = did_you_mean(name.upper(), known) or f"It has {', '.join(known)}."
            raise ValueError(f"the game has no action {name!r}. {hint}")
    if len({name.upper() for name in names}) < len(names):
        raise ValueError("an action is named twice.")
    return [known.index(name.upper()) for name in names]
