"""Observations other than the screen: the console's memory, or the objects in it.

The emulator draws either way, but nobody fetches, pools and scales the picture; and networks for so few
numbers are small.
"""

from typing import Annotated, Any

import gymnasium as gym
import numpy as np
from pydantic import Field

from gymsolve.envs.families.atari.objects import GAMES, HEIGHT, WIDTH, Place, Seen, Thing
from gymsolve.envs.wrappers.actions import AnyEnv, Stepped
from gymsolve.spec import Array

_NOOP, _FIRE = 0, 1
"""The emulator's own codes."""
_LEAP = 40
"""Pixels; a ball that is farther away than this after a step is another one."""


class AtariRam(gym.Wrapper[Any, Any, Any, Any]):
    """Starts a game after idle frames and FIRE; what is observed stays the console's memory.

    A game starts after a random number of idle frames below `noop_max`; needs `env.kwargs` with
    `obs_type: ram`.
    """

    changes_reward = False

    def __init__(
        self, env: AnyEnv, noop_max: Annotated[int, Field(ge=0)] = 30, fire_reset: bool = True
    ) -> None:
        super().__init__(env)
        made = env.unwrapped.spec.kwargs if env.unwrapped.spec else {}
        if made.get("obs_type") != "ram" or "game" not in made:
            raise ValueError("an Atari game with env.kwargs {'obs_type': 'ram'} is needed.")
        if made.get("sound_obs"):
            raise ValueError("an Atari game without sound is needed; leave out env.kwargs.sound_obs.")
        game: Any = env.unwrapped
        self._ale, self._noop_max = game.ale, noop_max
        self._fire = fire_reset and "FIRE" in game.get_action_meanings()

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        _, info = self.env.reset(seed=seed, options=options)
        idle = int(self.np_random.integers(self._noop_max)) if self._noop_max else 0
        # Frames and not steps: there are four times as many ways to begin.
        for code in [_NOOP] * idle + [_FIRE] * self._fire:
            self._ale.act(code)
            if self._ale.game_over():
                self._ale.reset_game()
        return self._ale.getRAM(), info


class AtariObjects(AtariRam):
    """Places, speeds and presence of the objects in Pong or Breakout, read from the console's memory.

    Starts a game as `atari_ram` does. Places are pixels of the screen, speeds are pixels per step; a missing
    object rests in the middle of the screen. Of Breakout's bricks the numbers per row and column are given.
    Needs `env.kwargs` with `obs_type: ram`.
    """

    def __init__(
        self, env: AnyEnv, noop_max: Annotated[int, Field(ge=0)] = 30, fire_reset: bool = True
    ) -> None:
        super().__init__(env, noop_max, fire_reset)
        rom = env.unwrapped.spec.kwargs["game"] if env.unwrapped.spec else ""
        if rom not in GAMES:
            known = " and ".join(sorted(name.capitalize() for name in GAMES))
            raise ValueError(
                f"objects of {rom!r} cannot be read, only those of {known}; take the wrapper atari_ram (the "
                "whole memory) or atari (the screen) instead."
            )
        self._game = GAMES[rom]
        self._before: Seen = ()
        self.names = _names(self._game.things) + self._game.rest_names
        """Names of the numbers of the observation."""
        low, high = _bounds(self._game.things)
        rest = self._game.rest_high
        self.observation_space = gym.spaces.Box(
            np.array(low + [0.0] * len(rest), np.float32), np.array([*high, *rest], np.float32)
        )

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        ram, info = super().reset(seed=seed, options=options)
        self._before = (None,) * len(self._game.things)
        return self._look(ram), info

    def step(self, action: Any) -> Stepped:
        ram, reward, terminated, truncated, info = self.env.step(action)
        return self._look(ram), reward, terminated, truncated, info

    def _look(self, ram: Array) -> Array:
        seen = self._game.find(ram.tobytes())
        numbers: list[float] = []
        for thing, now, before in zip(self._game.things, seen, self._before, strict=True):
            numbers += _describe(thing, now, before)
        self._before = seen
        if self._game.rest is not None:
            numbers += self._game.rest(ram)
        return np.array(numbers, np.float32)


def _describe(thing: Thing, now: Place | None, before: Place | None) -> list[float]:
    """Places, then speeds, then presence."""
    if now is None:
        middle = {"x": WIDTH / 2, "y": HEIGHT / 2}
        return [*(middle[axis] for axis in thing.axes), *([0.0] * len(thing.axes)), 0.0]
    if before is None:
        before = now
    (x, y), (x_before, y_before) = now, before
    if thing.axes == "y":
        return [y, y - y_before, 1.0]
    if thing.axes == "x":
        return [x, x - x_before, 1.0]
    across, down = x - x_before, y - y_before
    if max(abs(across), abs(down)) > _LEAP:
        across = down = 0
    return [x, y, across, down, 1.0]


def _names(things: tuple[Thing, ...]) -> tuple[str, ...]:
    return tuple(
        f"{thing.name} {what}"
        for thing in things
        for what in (*thing.axes, *(f"speed {axis}" for axis in thing.axes), "present")
    )


def _bounds(things: tuple[Thing, ...]) -> tuple[list[float], list[float]]:
    """The smallest and largest values of what `_describe` gives."""
    low: list[float] = []
    high: list[float] = []
    for thing in things:
        ends = {"x": (0, WIDTH), "y": (thing.top - thing.height, HEIGHT)}
        widest = _LEAP if len(thing.axes) == 2 else HEIGHT
        for axis in thing.axes:
            low.append(ends[axis][0])
            high.append(ends[axis][1])
        low += [-widest] * len(thing.axes) + [0.0]
        high += [widest] * len(thing.axes) + [1.0]
    return low, high
