"""Passes of a batch through the network, forwards and backwards, in NumPy.

`compiled.py` does the same with the compiled kernels.
"""

from typing import Any, Protocol

import numpy as np

from gymsolve.fast.heads import Head
from gymsolve.fast.inputs import Features, Inputs, Samples
from gymsolve.fast.parameters import Parameters
from gymsolve.fast.trunk import Loss, Trunk, TrunkWork
from gymsolve.spec import Array

_KEPT_SIZES = 8
"""Batch sizes whose work arrays are kept; rollouts of ever new sizes must not fill the memory."""


class Work(Protocol):
    """What a pass found, [B] each; valid until the next pass of its size."""

    log_probs: Array
    entropy: Array
    values: Array


class Passes(Protocol):
    """The passes that a policy needs; values are in the value head's units."""

    def act(self, x: Features, illegal: Array | None, noise: Array) -> tuple[Array, Array, Array]:
        """Sampled actions [N, A], their log-probabilities [N], values [N]."""

    def greedy(self, x: Features, illegal: Array | None) -> Array:
        """The likeliest actions [N, A]."""

    def values(self, x: Features) -> Array:
        """State values [N]."""

    def evaluate(self, samples: Samples) -> Any:
        """A `Work` with log-probabilities, entropies and values."""

    def critic_values(self, samples: Samples) -> Any:
        """A `Work` with values alone."""

    def backward(
        self, work: Any, d_log_probs: Array | None, d_entropy: float, d_values: Array | None
    ) -> None:
        """Gradients from the slopes; see `FastPolicy.backward`."""


class _NumpyWork:
    """Arrays for one batch size, and what the last pass of that size found."""

    def __init__(self, trunk: TrunkWork, head: Any, batch: int) -> None:
        self.trunk, self.head = trunk, head
        self.features: Features | None = None
        self.actor, self.critic = trunk.out[0], trunk.out[-1]  # [width + 1, B]
        self.d_actor, self.d_critic = trunk.d_out[0], trunk.d_out[-1]  # [width, B]
        self.values = np.empty(batch, np.float32)  # [B] in the value head's units
        self.log_probs = self.entropy = self.values  # until the first pass


class NumpyPasses:
    """Trunk and heads over whole arrays."""

    def __init__(self, head: Head, parameters: Parameters, inputs: Inputs, activation: str) -> None:
        self._trunk, self._head = Trunk(parameters, inputs, activation), head
        self._shared = parameters.towers == 1
        self._value_row = parameters.matrix(parameters.values, "value_head")[:, 0]  # [width + 1]
        self._d_value_row = parameters.matrix(parameters.grads, "value_head")[:, 0]
        self._kept: dict[int, _NumpyWork] = {}

    def _work(self, batch: int) -> _NumpyWork:
        found = self._kept.get(batch)
        if found is None:
            if len(self._kept) >= _KEPT_SIZES:
                del self._kept[next(iter(self._kept))]
            found = _NumpyWork(self._trunk.allocate(batch), self._head.allocate(batch), batch)
            self._kept[batch] = found
        return found

    def _look(self, x: Features, loss: Loss) -> _NumpyWork:
        """Pass features through the towers that `loss` needs."""
        work = self._work(x.dense.shape[1])
        work.features = x
        self._trunk.forward(x, work.trunk, loss)
        if loss != "policy":
            np.matmul(self._value_row, work.critic, out=work.values)
        return work

    def act(self, x: Features, illegal: Array | None, noise: Array) -> tuple[Array, Array, Array]:
        work = self._look(x, "both")
        self._head.forward(work.actor, illegal, work.head)
        actions = self._head.sample(work.head, noise)
        return actions, self._head.log_prob(work.head, actions), work.values.copy()

    def greedy(self, x: Features, illegal: Array | None) -> Array:
        work = self._look(x, "policy")
        self._head.forward(work.actor, illegal, work.head)
        return self._head.mode(work.head)

    def values(self, x: Features) -> Array:
        return self._look(x, "value").values.copy()

    def evaluate(self, samples: Samples) -> _NumpyWork:
        work = self._look(samples.features, "both")
        self._head.forward(work.actor, samples.illegal, work.head)
        work.log_probs = self._head.log_prob(work.head, samples.actions)
        work.entropy = self._head.entropy(work.head)
        return work

    def critic_values(self, samples: Samples) -> _NumpyWork:
        return self._look(samples.features, "value")

    def backward(
        self, work: _NumpyWork, d_log_probs: Array | None, d_entropy: float, d_values: Array | None
    ) -> None:
        assert work.features is not None
        loss: Loss = "policy" if d_values is None else "value" if d_log_probs is None else "both"
        if d_log_probs is not None:
            self._head.backward(work.actor, work.head, d_log_probs, d_entropy, work.d_actor)
        if d_values is not None:
            np.matmul(work.critic, d_values, out=self._d_value_row)
            weight = self._value_row[:-1, None]
            if self._shared and loss == "both":
                work.d_critic += np.multiply(weight, d_values, out=work.trunk.spare[-1])
            else:
                np.multiply(weight, d_values, out=work.d_critic)
        self._trunk.backward(work.features, work.trunk, loss)
