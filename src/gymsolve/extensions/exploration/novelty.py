"""The interface of a bonus: how new each step of a rollout is."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from gymsolve.experience.successors import Transitions
from gymsolve.parts import Part
from gymsolve.spec import Array


class Novelty(Part, Protocol):
    """A measure of how new steps are. It changes in `learn` alone, after the policy has learned."""

    def begin(self, rows: Sequence[int]) -> None:
        """Between two rollouts, these environments began other episodes."""
        return

    def pay(self, seen: Transitions) -> Array:
        """The bonus of each step [T, N], never below 0; steps that are not valid may get anything."""
        ...

    def learn(self, seen: Transitions, rate: float, rng: np.random.Generator) -> dict[str, float]:
        """Learn from the rollout that was paid for; metrics by name."""
        ...

    def fits(self, arrays: dict[str, Array], state: dict[str, Any]) -> bool:
        """True if `load` can continue from these."""
        return True

    def rollback_point(self) -> Callable[[], None]:
        """A function that restores the present state."""
        ...
