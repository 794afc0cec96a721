"""Random network distillation, and NovelD on top of it.

A network with fixed random weights turns observations into features; another one learns to predict them. The
error is large where it has learned little. RND (Burda et al. 2018) pays half the squared error of the
observation that a step leads to. NovelD (Zhang et al. 2021) pays where the error grows, at first visits only.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from torch import Tensor, nn

from gymsolve.experience.successors import Transitions
from gymsolve.extensions.exploration.inputs import Seen
from gymsolve.extensions.exploration.nets import Learned, Learner, NetSetup, in_pieces, select
from gymsolve.extensions.exploration.novelty import Novelty
from gymsolve.extensions.exploration.visits import Visits
from gymsolve.parts import rollback_all
from gymsolve.spec import Array

_KEPT = 0.5
"""The share of the error at a step's beginning that NovelD subtracts."""


class RandomDistillation(Learned, Novelty):
    """Pays half the squared error of predicting random features."""

    def __init__(self, setup: NetSetup) -> None:
        settings = self._settings = setup.settings
        self._inputs = setup.inputs
        self.target = setup.net(settings.hidden, settings.features).requires_grad_(False)
        # One layer deeper than the target.
        deeper = (*settings.hidden, settings.hidden[-1] if settings.hidden else settings.features)
        self.predictor = setup.net(deeper, settings.features)
        both = nn.ModuleDict({"target": self.target, "predictor": self.predictor})
        self.learner = Learner(both, setup.device)
        self._seen: Seen | None = None
        self._features: Tensor | None = None

    def errors(self, seen: Transitions) -> Array:
        """Half the squared error [M] of every observation."""
        self._seen = self._inputs.of(seen)
        self._features = in_pieces(self.target, self._seen)
        predicted = in_pieces(self.predictor, self._seen)
        errors: Array = (0.5 * (predicted - self._features).square().sum(dim=1)).cpu().numpy()
        return errors

    def pay(self, seen: Transitions) -> Array:
        paid: Array = self.errors(seen)[seen.there]
        return paid

    def learn(self, seen: Transitions, rate: float, rng: np.random.Generator) -> dict[str, float]:
        rows, features = self._seen, self._features
        assert rows is not None
        assert features is not None
        places = seen.there[seen.valid]
        if self._settings.share < 1.0:
            places = places[rng.random(len(places)) < self._settings.share]

        def loss(some: Tensor) -> Tensor:
            wrong: Tensor = self.predictor(select(rows, some)) - features[some]
            return 0.5 * wrong.square().sum(dim=1).mean()

        passes = self._settings.num_epochs, self._settings.num_minibatches
        self._seen = self._features = None
        return {"bonus/loss": self.learner.fit(places, loss, rate, passes, rng)}


class NovelD(RandomDistillation):
    """Pays max(n(s′) − ½ n(s), 0) at first visits of an episode; n is the length of RND's error."""

    def __init__(self, setup: NetSetup, visits: Visits) -> None:
        super().__init__(setup)
        self._visits = visits

    def begin(self, rows: Sequence[int]) -> None:
        self._visits.begin(rows)

    def pay(self, seen: Transitions) -> Array:
        lengths = np.sqrt(2.0 * self.errors(seen))
        grown: Array = np.maximum(lengths[seen.there] - _KEPT * lengths[seen.here], 0.0)
        return grown * self._visits.first(seen)

    def learn(self, seen: Transitions, rate: float, rng: np.random.Generator) -> dict[str, float]:
        return super().learn(seen, rate, rng) | self._visits.commit(seen)

    def arrays(self) -> dict[str, Array]:
        return super().arrays() | self._visits.arrays()

    def state(self) -> dict[str, Any]:
        return self._visits.state()

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        return self._visits.load(arrays, state) + super().load(arrays, state)

    def fits(self, arrays: dict[str, Array], state: dict[str, Any]) -> bool:
        return super().fits(arrays, state) and self._visits.fits(arrays, state)

    def rollback_point(self) -> Callable[[], None]:
        return rollback_all((self.learner, self._visits))

    def reseed(self, seed: int, env_steps: int) -> None:
        self._visits.reseed(seed, env_steps)
