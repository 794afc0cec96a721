"""One seed, independent random streams.

Every source of randomness has a name and a NumPy generator of its own, spawned from one
SeedSequence; so adding draws to one (say, the minibatch order) never shifts another, and each can be
saved and restored as plain JSON.
"""

from typing import Any, Literal

import numpy as np

__all__ = ["Stream", "generator", "integer_seeds", "restore_generator", "save_generator"]

Stream = Literal["init", "policy", "minibatch", "env", "eval", "confirm", "torch"]
_KEYS: dict[Stream, int] = {
    "init": 0,
    "policy": 1,
    "minibatch": 2,
    "env": 3,
    "eval": 4,
    "confirm": 5,
    "torch": 6,
}


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
    """A generator that continues where `save_generator` looked at it."""
    bits = np.random.PCG64()
    bits.state = state  # type: ignore[assignment]  # NumPy types this as a TypedDict of its own
    return np.random.Generator(bits)


def _sequence(seed: int, stream: Stream, key: tuple[int, ...]) -> np.random.SeedSequence:
    return np.random.SeedSequence(entropy=seed, spawn_key=(_KEYS[stream], *key))
