"""The value function of the bonus.

It has weights of its own, so the policy's network and file are the same with and without a bonus, and either
engine can train the policy. It values rollouts after they were collected: its weights have not moved since.
"""

import numpy as np
import torch
from torch import Tensor

from gymsolve.experience.successors import Transitions
from gymsolve.extensions.exploration.inputs import Seen
from gymsolve.extensions.exploration.nets import Learned, Learner, NetSetup, in_pieces, select
from gymsolve.spec import Array


class Critic(Learned):
    """Values of the bonus."""

    def __init__(self, setup: NetSetup) -> None:
        self._settings, self._inputs, self._device = setup.settings, setup.inputs, setup.device
        self.net = setup.net(setup.settings.hidden, 1)
        self.learner = Learner(self.net, setup.device)
        self._seen: Seen | None = None

    def values(self, seen: Transitions) -> Array:
        """Values [M] of all observations."""
        self._seen = self._inputs.of(seen)
        values: Array = in_pieces(self.net, self._seen).squeeze(-1).cpu().numpy()
        return values

    def learn(self, places: Array, targets: Array, rate: float, rng: np.random.Generator) -> float:
        """Learn targets [B] at places [B]; returns the mean loss."""
        rows = self._seen
        assert rows is not None
        wanted = np.zeros(int(places.max()) + 1 if len(places) else 0, np.float32)
        wanted[places] = targets
        goal = torch.from_numpy(wanted).to(self._device)

        def loss(some: Tensor) -> Tensor:
            wrong: Tensor = self.net(select(rows, some)).squeeze(-1) - goal[some]
            return 0.5 * wrong.square().mean()

        passes = self._settings.num_epochs, self._settings.num_minibatches
        self._seen = None
        return self.learner.fit(places, loss, rate, passes, rng)
