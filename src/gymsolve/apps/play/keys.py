"""Keys that a person presses between two steps."""

import math
from collections import deque
from typing import Any

from gymsolve.envs.controls import Controls
from gymsolve.spec import Array

_MOST_KEYS = 32
_LONGEST_KEY = 32
_KEPT_WAITS = 2000


class Pressed:
    """Keys that are down, keys that were tapped since the last step, and levels of sliders."""

    def __init__(self) -> None:
        self.used = 0
        """The newest input that a step has used."""
        self._newest, self._since = 0, 0.0
        self._held: list[str] = []
        self._tapped: list[str] = []
        self._strengths: dict[str, float] = {}
        self._levels: dict[int, float] = {}
        self._waits: deque[float] = deque(maxlen=_KEPT_WAITS)

    @property
    def waits(self) -> list[float]:
        """Milliseconds from key presses to the steps that they decided."""
        return list(self._waits)

    def hear(self, message: dict[str, Any]) -> list[str]:
        """Take the keys that are down, in the order of pressing; returns the new ones."""
        held = keys_in(message)
        new = [key for key in held if key not in self._held]
        self._held = held
        self._tapped += [key for key in new if key not in self._tapped]
        self._strengths = {
            key: level for key, level in _numbers(message.get("strengths")).items() if level > 0
        }
        self._levels = levels_in(message)
        identity, pressed_at = message.get("id"), message.get("at")
        if isinstance(identity, int):
            self._newest = identity
        if new and not self._since and isinstance(pressed_at, int | float):
            self._since = float(pressed_at)
        return new

    def read(self, controls: Controls) -> Array | None:
        """The action [1, *shape] of the pressed keys; a key that was only tapped counts as the newest."""
        released = [key for key in self._tapped if key not in self._held]
        return controls.read([*self._held, *released], self._levels, self._strengths)

    def take(self, controls: Controls) -> Array | None:
        """The action for a step that is taken now; taps count for one step."""
        action = self.read(controls)
        if action is not None:
            self._tapped, self.used = [], self._newest
        return action

    def drop_taps(self) -> None:
        """Forget taps: a key that made a step at once counts no more."""
        self._tapped = []

    def note_latency(self, now: float) -> None:
        """Note how long the oldest new key waited for a step that begins at `now`, in seconds since 1970."""
        if self._since:
            self._waits.append(round(1000 * now - self._since, 2))
            self._since = 0.0


def keys_in(message: dict[str, Any]) -> list[str]:
    """The keys in a message that are down."""
    given = message.get("pressed")
    named = [key for key in given if isinstance(key, str)] if isinstance(given, list) else []
    return [key for key in named if len(key) <= _LONGEST_KEY][:_MOST_KEYS]


def levels_in(message: dict[str, Any]) -> dict[int, float]:
    """Levels of sliders in a message, by dimension."""
    named = _numbers(message.get("levels"))
    return {int(key): level for key, level in named.items() if key.isdecimal() and len(key) < 10}


def _numbers(value: Any) -> dict[str, float]:
    pairs = value.items() if isinstance(value, dict) else ()
    numbers = ((key, level) for key, level in pairs if type(level) in (int, float))
    return {str(key): float(level) for key, level in numbers if math.isfinite(level)}
