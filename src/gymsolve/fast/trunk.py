"""The hidden layers in NumPy, for one trunk or for actor and critic side by side.

Two separate trunks have the same shapes, so they are computed together with a leading axis of 2.
Activations lie feature-major, [towers, width, B]: the batch is the contiguous axis.
"""

import numpy as np

from gymsolve.fast.activations import ACTIVATIONS
from gymsolve.fast.inputs import Features, Inputs
from gymsolve.fast.parameters import Loss, Parameters
from gymsolve.spec import Array

_TOWERS: dict[Loss, slice] = {"both": slice(None), "policy": slice(0, 1), "value": slice(-1, None)}


class Trunk:
    """Fully connected layers with an activation after each."""

    def __init__(self, parameters: Parameters, inputs: Inputs, activation: str) -> None:
        self._inputs, self._activate = inputs, ACTIVATIONS[activation]
        matrices = parameters.tower_matrices(parameters.values)
        self._matrices = {loss: [m[chosen] for m in matrices] for loss, chosen in _TOWERS.items()}

    def activations(self, x: Features, loss: Loss = "both") -> list[Array]:
        """What every layer gives, [towers, width, B], of the towers that `loss` needs."""
        layers: list[Array] = []
        for matrix in self._matrices[loss]:
            z = linear(matrix, layers[-1]) if layers else self._inputs.forward(x, matrix)
            layers.append(self._activate(z))
        return layers


def linear(matrix: Array, below: Array) -> Array:
    """A layer's outputs [..., outputs, B]; its matrix [..., width + 1, outputs] ends with the bias."""
    outputs: Array = np.matmul(matrix[..., :-1, :].swapaxes(-1, -2), below)
    outputs += matrix[..., -1, :, None]
    return outputs
