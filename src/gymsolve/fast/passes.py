"""Passes of a batch through the network: the protocol, and those that act in NumPy.

`compiled.py` has all of them; only the compiled kernels learn. Two separate trunks have the same shapes, so
they are computed together with a leading axis of 2. Activations lie feature-major, [towers, width, B]: the
batch is the contiguous axis.
"""

from typing import Any, Protocol

import numpy as np

from gymsolve.fast.activations import ACTIVATIONS
from gymsolve.fast.heads import Head
from gymsolve.fast.inputs import Features, Inputs, Samples
from gymsolve.fast.parameters import Loss, Parameters
from gymsolve.spec import Array

_TOWERS: dict[Loss, slice] = {"both": slice(None), "policy": slice(0, 1), "value": slice(-1, None)}


class Passes(Protocol):
    """The passes that acting needs; values are in the value head's units."""

    def act(self, x: Features, illegal: Array | None, noise: Array) -> tuple[Array, Array, Array]:
        """Sampled actions [N, A], their log-probabilities [N], values [N]."""

    def greedy(self, x: Features, illegal: Array | None) -> Array:
        """The likeliest actions [N, A]."""

    def values(self, x: Features) -> Array:
        """State values [N]."""


class Trunk:
    """Fully connected layers with an activation after each."""

    def __init__(self, parameters: Parameters, inputs: Inputs, activation: str) -> None:
        self._inputs, self._activate = inputs, ACTIVATIONS[activation]
        matrices = parameters.tower_matrices(parameters.values)
        self._matrices = {loss: [m[chosen] for m in matrices] for loss, chosen in _TOWERS.items()}

    def activations(self, x: Features, loss: Loss = "both") -> list[Array]:
        """The output [towers, width, B] of every layer, of the towers that `loss` needs."""
        layers: list[Array] = []
        for matrix in self._matrices[loss]:
            z = _linear(matrix, layers[-1]) if layers else self._inputs.forward(x, matrix)
            layers.append(self._activate(z))
        return layers


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
        return self._head.forward(_linear(self._actions, features[0]), illegal)

    def _values(self, features: Array) -> Array:
        values: Array = _linear(self._value, features[-1])[0]
        return values


def _linear(matrix: Array, below: Array) -> Array:
    """A layer's outputs [..., outputs, B]; its matrix [..., width + 1, outputs] ends with the bias."""
    outputs: Array = np.matmul(matrix[..., :-1, :].swapaxes(-1, -2), below)
    outputs += matrix[..., -1, :, None]
    return outputs
