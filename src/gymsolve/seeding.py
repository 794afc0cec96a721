"""One seed, independent random streams.

Every source of randomness has a name and a NumPy generator of its own, spawned from one SeedSequence. So
further draws from one (say, the minibatch order) never shift another, and each can be saved and restored as
plain JSON.
"""

from typing import Any, Literal, get_args

import numpy as np

from gymsolve.parts import Part
from gymsolve.spec import Array

Stream = Literal[
    "init", "policy", "minibatch", "env", "eval", "confirm", "torch", "bonus", "held_out", "curriculum"
]
_KEYS: dict[Stream, int] = dict(zip(get_args(Stream), (0, 1, 2, 3, 4, 5, 6, 7, 8, 10), strict=True))
"""Numbers of the streams; another number would change every run."""


def generator(seed: int, stream: Stream, *key: int) -> np.random.Generator:
    """The generator of a named stream; `key` makes further independent ones (a round, a worker)."""
    return np.random.Generator(np.random.PCG64(_sequence(seed, stream, key)))


def integer_seeds(seed: int, stream: Stream, count: int, *key: int) -> list[int]:
    """`count` seeds for things that want plain integers, such as environments."""
    words = _sequence(seed, stream, key).generate_state(count, np.uint32)
    return [int(word) & 0x7FFFFFFF for word in words]


def save_generator(rng: np.random.Generator) -> dict[str, Any]:
    """The state of a generator as JSON-ready data."""
    return dict(rng.bit_generator.state)


def restore_generator(state: dict[str, Any]) -> np.random.Generator:
    """A generator that continues from a state of `save_generator`."""
    bits = np.random.PCG64()
    bits.state = state  # type: ignore[assignment]  # NumPy types this as a TypedDict of its own
    return np.random.Generator(bits)


class RandomStreams(Part):
    """Generators that live as long as a run, by the name of their stream."""

    def __init__(self, seed: int, names: tuple[Stream, ...]) -> None:
        self._named = {name: generator(seed, name) for name in names}

    def __getitem__(self, name: Stream) -> np.random.Generator:
        return self._named[name]

    def state(self) -> dict[str, Any]:
        return {name: save_generator(rng) for name, rng in self._named.items()}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        self._named |= {name: restore_generator(state[name]) for name in self._named if name in state}
        return []

    def reseed(self, seed: int, env_steps: int) -> None:
        self._named = {name: generator(seed, name, env_steps) for name in self._named}


def _sequence(seed: int, stream: Stream, key: tuple[int, ...]) -> np.random.SeedSequence:
    return np.random.SeedSequence(entropy=seed, spawn_key=(_KEYS[stream], *key))
