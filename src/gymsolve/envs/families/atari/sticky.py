"""Which action sticks: the emulator keeps it from frame to frame, but neither tells nor saves it.

With sticky actions, every frame draws twice from the emulator's generator, once per player. Where the first
draw is large enough, the frame takes the action that it was asked for; otherwise it repeats the one that is
held. A saved state contains the generator, and the generator its latest draws. So what is held follows from
what the last frames were asked for, which `StickyAle` remembers. Draws out of reach (the generator makes
624 at a time and forgets those before) are replaced by trial: the emulator shows where it goes from here,
and an action that leads to the same states is held.
"""

import math
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

_MOST_FRAMES = 1000
_WORDS = 624
_INT = 4
"""Bytes of a number in a saved state."""
_RANGE = 2**32
_DIGITS = b"0123456789 "


class Held(NamedTuple):
    """An action by the emulator's own code, and how far a paddle goes with it."""

    action: int
    strength: float = 1.0


class StickyAle:
    """An `ALEInterface` with sticky actions that knows which action it holds.

    It offers whatever the emulator offers. A frame costs one entry in a list more.
    """

    def __init__(self, ale: Any) -> None:
        self._ale = ale
        self._act = ale.act
        self._chance: float = ale.getFloat("repeat_action_probability")
        # An action has been taken after so many frames, but for one chance in 10^12.
        self._surely = min(math.ceil(-12 / math.log10(self._chance)), _MOST_FRAMES)
        self._asked: deque[tuple[Any, float]] = deque(maxlen=self._surely)
        """For each of the last frames."""
        self._before = Held(0)
        """The action that was held before the first of them."""

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._ale, name)
        vars(self)[name] = value  # found without a detour from now on
        return value

    def act(self, action: Any, strength: float = 1.0) -> Any:
        self._asked.append((action, strength))
        return self._act(action, strength)

    def reset_game(self) -> None:
        self._ale.reset_game()
        self._begin(Held(0))

    def loadROM(self, path: Any) -> None:  # noqa: N802 - the emulator's own name
        self._ale.loadROM(path)
        self._begin(Held(0))

    def restoreState(self, state: Any) -> None:  # noqa: N802 - likewise
        held = self.find_held(self._ale.cloneState(include_rng=True))  # a state leaves it as it is
        self._ale.restoreState(state)
        self._begin(held)

    def find_held(self, state: Any) -> Held:
        """The action that is held in this state, which is the present one and stays so."""
        twister = read_twister(state.serialize())
        known = 0
        draws = () if twister is None else twister.past_draws()
        for draw, asked in zip(draws, reversed(self._asked), strict=False):
            if draw >= self._chance:
                return _held(asked)
            known += 1
        return self._before if known == len(self._asked) < self._surely else self._try_out(state)

    def go_to(self, state: Any, held: Held) -> None:
        """Be in a state in which this is held."""
        self._ale.restoreState(state)
        if sticking := self._sticking(state):
            for _ in range(sticking + 1):
                self._act(*held)
            self._ale.restoreState(state)
        self._begin(held)

    def _begin(self, held: Held) -> None:
        self._asked.clear()
        self._before = held

    def _sticking(self, state: Any) -> int:
        """How many frames from a state on repeat what is held, whatever they are asked for."""
        twister = read_twister(state.serialize())
        if twister is None:
            return self._surely
        taken = [draw >= self._chance for draw in twister.coming_draws(self._surely)]
        return taken.index(True) if True in taken else self._surely

    def _try_out(self, state: Any) -> Held:
        asked, before = [_held(action) for action in reversed(self._asked)], self._before
        frames = self._sticking(state)

        def go_on() -> list[bytes]:
            seen = []
            for _ in range(frames):
                self._act(0)
                seen.append(self._ale.cloneState(include_rng=True).serialize())
            return seen

        true = go_on()
        held = before
        for held in dict.fromkeys([*asked, before]):
            self.go_to(state, held)
            if go_on() == true:
                break
        self.go_to(state, held)
        return held


class Twister(NamedTuple):
    """The emulator's generator, a Mersenne Twister, as its saved state has it."""

    words: list[bytes]
    """In digits; only few of them are looked at."""
    place: int
    """How many of them have been drawn."""

    def past_draws(self) -> Iterator[float]:
        """Those of the first player since the words were made, the latest first."""
        for place in range(self.place - 2, -1, -2):
            yield _temper(int(self.words[place])) / _RANGE

    def coming_draws(self, frames: int) -> list[float]:
        """Those of the first player in the frames to come."""
        bits = np.random.MT19937(0)
        key = np.array(list(map(int, self.words)), np.uint32)
        bits.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": self.place}}
        drawn: list[float] = (bits.random_raw(2 * frames)[::2] / _RANGE).tolist()
        return drawn


def read_twister(saved: bytes) -> Twister | None:
    """The generator in a state of the emulator; None where it is not written as libstdc++ does.

    That library writes the words and how many of them have been drawn, in digits with a blank between. The
    length of this text stands before it, two other numbers after it.
    """
    end = len(saved) - 2 * _INT
    head, *others = saved[: max(end, 0)].rsplit(b" ", _WORDS)
    for digits in range(1, 11) if len(others) == _WORDS else ():
        start = len(head) - digits
        text = saved[start:end]
        length = int.from_bytes(saved[start - _INT : start], "little")
        if length == len(text) and not text.translate(None, _DIGITS):
            return Twister([head[start:], *others[:-1]], int(others[-1]))
    return None


def _temper(word: int) -> int:
    word ^= word >> 11
    word ^= (word << 7) & 0x9D2C5680
    word ^= (word << 15) & 0xEFC60000
    return word ^ (word >> 18)


def _held(asked: tuple[Any, float]) -> Held:
    action, strength = asked
    return Held(int(getattr(action, "value", action)), float(strength))
