"""What the bonus is worth in the long run: a value function of its own, beside the policy's.

It has weights of its own, so the policy's network and file are the same with and without a bonus, and either
engine can train the policy. It values rollouts after they were collected: its weights have not moved since.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from gymsolve.experience.successors import Transitions
from gymsolve.extensions.exploration.inputs import Inputs, Seen
from gymsolve.extensions.exploration.nets import Learner, Net, in_pieces, select
from gymsolve.parts import Part
from gymsolve.settings.exploration import ExploreConfig
from gymsolve.spec import Array


class Critic(Part):
    """Values of the bonus."""

    def __init__(
        self,
        settings: ExploreConfig,
        inputs: Inputs,
        cnn: str,
        device: torch.device,
        rng: np.random.Generator,
    ) -> None:
        self._settings, self._inputs, self._device = settings, inputs, device
        self.net = Net(inputs, cnn, settings.hidden, 1, rng)
        self.learner = Learner(self.net, device)
        self._seen: Seen | None = None

    def values(self, seen: Transitions) -> Array:
        """Values [M] of all observations."""
        self._seen = self._inputs.of(seen)
        found: Array = in_pieces(self.net, self._seen).squeeze(-1).cpu().numpy()
        return found

    def learn(self, places: Array, targets: Array, rate: float, rng: np.random.Generator) -> float:
        """Come closer to targets [B] at places [B]; returns the mean loss."""
        rows = self._seen
        assert rows is not None
        wanted = np.zeros(int(places.max()) + 1 if len(places) else 0, np.float32)
        wanted[places] = targets
        goal = torch.from_numpy(wanted).to(self._device)

        def loss(some: Tensor) -> Tensor:
            wrong: Tensor = self.net(select(rows, some)).squeeze(-1) - goal[some]
            return 0.5 * wrong.square().mean()

        passes = self._settings.num_epochs, self._settings.num_minibatches
        found = self.learner.fit(places, loss, rate, passes, rng)
        self._seen = None
        return found

    def arrays(self) -> dict[str, Array]:
        return self.learner.arrays()

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        return self.learner.load(arrays, state)

    def fits(self, arrays: dict[str, Array]) -> bool:
        return self.learner.fits(arrays)

    def rollback_point(self) -> Callable[[], None]:
        return self.learner.rollback_point()
