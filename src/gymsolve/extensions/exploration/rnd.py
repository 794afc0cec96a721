"""Random network distillation, and NovelD on top of it.

A network with fixed random weights turns observations into features; another one learns to predict them. The
error is large where it has learned little. RND (Burda et al. 2018) pays half the squared error of the
observation that a step leads to. NovelD (Zhang et al. 2021) pays where the error grows, at first visits only.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gymsolve.experience.successors import Transitions
from gymsolve.extensions.exploration.inputs import Inputs, Seen
from gymsolve.extensions.exploration.nets import Learner, Net, in_pieces, select
from gymsolve.extensions.exploration.novelty import LearnedNovelty
from gymsolve.extensions.exploration.visits import Visits
from gymsolve.settings.exploration import ExploreConfig
from gymsolve.spec import Array

_KEPT = 0.5
"""How much of the error of where a step began counts against it, in NovelD."""


class RandomDistillation(LearnedNovelty):
    """Pays half the squared error of predicting random features."""

    def __init__(
        self,
        settings: ExploreConfig,
        inputs: Inputs,
        cnn: str,
        device: torch.device,
        rng: np.random.Generator,
    ) -> None:
        self._settings, self._inputs = settings, inputs
        self.target = Net(inputs, cnn, settings.hidden, settings.features, rng).requires_grad_(False)
        # A layer deeper than what it has to imitate.
        deeper = (*settings.hidden, settings.hidden[-1] if settings.hidden else settings.features)
        self.predictor = Net(inputs, cnn, deeper, settings.features, rng)
        both = nn.ModuleDict({"target": self.target, "predictor": self.predictor})
        self.learner = Learner(both, device)
        self._seen: Seen | None = None
        self._features: Tensor | None = None

    def errors(self, seen: Transitions) -> Array:
        """Half the squared error [M] of every observation."""
        self._seen = self._inputs.of(seen)
        self._features = in_pieces(self.target, self._seen)
        predicted = in_pieces(self.predictor, self._seen)
        found: Array = (0.5 * (predicted - self._features).square().sum(dim=1)).cpu().numpy()
        return found

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
        found = self.learner.fit(places, loss, rate, passes, rng)
        self._seen = self._features = None
        return {"bonus/loss": found}


class NovelD(RandomDistillation):
    """Pays max(n(s′) − ½ n(s), 0) at first visits of an episode; n is the length of RND's error."""

    def __init__(
        self,
        settings: ExploreConfig,
        inputs: Inputs,
        cnn: str,
        device: torch.device,
        rng: np.random.Generator,
        visits: Visits,
    ) -> None:
        super().__init__(settings, inputs, cnn, device, rng)
        self._visits = visits
        self._first: Array | None = None

    def begin(self, rows: Sequence[int]) -> None:
        self._visits.begin(rows)

    def pay(self, seen: Transitions) -> Array:
        lengths = np.sqrt(2.0 * self.errors(seen))
        self._first = self._visits.first(seen)
        grown: Array = np.maximum(lengths[seen.there] - _KEPT * lengths[seen.here], 0.0)
        return grown * self._first

    def learn(self, seen: Transitions, rate: float, rng: np.random.Generator) -> dict[str, float]:
        assert self._first is not None
        self._visits.commit()
        share = float(self._first[seen.valid].mean()) if seen.valid.any() else 0.0
        return super().learn(seen, rate, rng) | {"bonus/first_visits": share}

    def arrays(self) -> dict[str, Array]:
        return super().arrays() | self._visits.arrays()

    def state(self) -> dict[str, Any]:
        return self._visits.state()

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        return self._visits.load(arrays, state) + super().load(arrays, state)

    def fits(self, arrays: dict[str, Array], state: dict[str, Any]) -> bool:
        return super().fits(arrays, state) and self._visits.fits(arrays)

    def rollback_point(self) -> Callable[[], None]:
        networks, visits = super().rollback_point(), self._visits.rollback_point()

        def put_back() -> None:
            networks()
            visits()

        return put_back

    def reseed(self, seed: int, env_steps: int) -> None:
        self._visits.forget()
