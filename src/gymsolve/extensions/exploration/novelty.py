"""What a bonus has to know to pay: how new each step of a rollout is."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from gymsolve.experience.successors import Transitions
from gymsolve.parts import Part
from gymsolve.spec import Array

if TYPE_CHECKING:
    from gymsolve.extensions.exploration.nets import Learner


class Novelty(Part, Protocol):
    """One way of telling how new something is. It changes in `learn` alone, after the policy has learned."""

    def begin(self, rows: Sequence[int]) -> None:
        """Between two rollouts, these environments began other episodes."""
        return

    def pay(self, seen: Transitions) -> Array:
        """How new each step is [T, N], never below 0; steps that are not valid may get anything."""
        ...

    def learn(self, seen: Transitions, rate: float, rng: np.random.Generator) -> dict[str, float]:
        """Take the rollout that was paid for into account; returns metrics by name."""
        ...

    def fits(self, arrays: dict[str, Array], state: dict[str, Any]) -> bool:
        """Can `load` continue from these?"""
        return True

    def rollback_point(self) -> Callable[[], None]:
        """A function that puts the novelty back to where it is now."""
        ...


class LearnedNovelty(Novelty):
    """Novelty by networks that learn: its state is theirs and their optimizer's."""

    learner: "Learner"

    def arrays(self) -> dict[str, Array]:
        return self.learner.arrays()

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        return self.learner.load(arrays, state)

    def fits(self, arrays: dict[str, Array], state: dict[str, Any]) -> bool:
        return self.learner.fits(arrays)

    def rollback_point(self) -> Callable[[], None]:
        return self.learner.rollback_point()
