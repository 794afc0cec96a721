"""Passes of a batch through the network: which there are, and those to act with in NumPy.

`compiled.py` has all of them; only the compiled kernels learn.
"""

from typing import Any, Protocol

from gymsolve.fast.heads import Head
from gymsolve.fast.inputs import Features, Inputs, Samples
from gymsolve.fast.parameters import Parameters
from gymsolve.fast.trunk import Trunk, linear
from gymsolve.spec import Array


class Passes(Protocol):
    """The passes that acting needs; values are in the value head's units."""

    def act(self, x: Features, illegal: Array | None, noise: Array) -> tuple[Array, Array, Array]:
        """Sampled actions [N, A], their log-probabilities [N], values [N]."""

    def greedy(self, x: Features, illegal: Array | None) -> Array:
        """The likeliest actions [N, A]."""

    def values(self, x: Features) -> Array:
        """State values [N]."""


class NumpyPasses:
    """Trunk and heads over whole arrays."""

    def __init__(self, head: Head, parameters: Parameters, inputs: Inputs, activation: str) -> None:
        self.trunk, self._head = Trunk(parameters, inputs, activation), head
        self._actions = parameters.matrix(parameters.values, "_head.linear")  # [width + 1, outputs]
        self._value = parameters.matrix(parameters.values, "value_head")  # [width + 1, 1]

    def act(self, x: Features, illegal: Array | None, noise: Array) -> tuple[Array, Array, Array]:
        features = self.trunk.activations(x)[-1]  # [towers, width, B]
        given = self._distribution(features, illegal)
        actions = self._head.sample(given, noise)
        return actions, self._head.log_prob(given, actions), self._values(features)

    def greedy(self, x: Features, illegal: Array | None) -> Array:
        return self._head.mode(self._distribution(self.trunk.activations(x, "policy")[-1], illegal))

    def values(self, x: Features) -> Array:
        return self._values(self.trunk.activations(x, "value")[-1])

    def consider(self, samples: Samples) -> tuple[Array, Array, Array, Array]:
        """The distribution, log-probabilities [B] of the actions, entropies [B], values [B]."""
        head, features = self._head, self.trunk.activations(samples.features)[-1]
        given = self._distribution(features, samples.illegal)
        log_probs = head.log_prob(given, samples.actions)
        return head.params(given), log_probs, head.entropy(given), self._values(features)

    def _distribution(self, features: Array, illegal: Array | None) -> Any:
        return self._head.forward(linear(self._actions, features[0]), illegal)

    def _values(self, features: Array) -> Array:
        values: Array = linear(self._value, features[-1])[0]
        return values
