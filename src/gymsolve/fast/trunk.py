"""The hidden layers, forwards and backwards, for one trunk or for actor and critic side by side.

Two separate trunks have the same shapes, so they are computed together with a leading axis of 2.
Activations lie feature-major, [towers, width, B]: the batch is the contiguous axis, so every
elementwise operation runs over long rows, and one more row of ones carries the bias.
"""

from typing import Literal, NamedTuple

import numpy as np

from gymsolve.fast.activations import ACTIVATIONS
from gymsolve.fast.inputs import Features, Inputs
from gymsolve.fast.parameters import Parameters
from gymsolve.spec import Array

Loss = Literal["both", "policy", "value"]
"""Which outputs are wanted, or have a slope: that decides which towers take part."""
_TOWERS: dict[Loss, slice] = {"both": slice(None), "policy": slice(0, 1), "value": slice(-1, None)}


class _Layer(NamedTuple):
    """One layer's arrays in a pass; `t` is the number of towers taking part."""

    z: Array  # [t, width, B] before the activation
    h: Array  # [t, width, B] after it; the same memory as z where the slope does not need z
    ones_below: Array  # [t, width + 1, B] h with a row of ones: what the next layer takes
    d: Array  # [t, width, B] slope of the loss
    spare: Array  # [t, width, B]


class TrunkWork:
    """Arrays for one batch size, reused by every pass of that size."""

    def __init__(self, towers: int, widths: tuple[int, ...], batch: int, *, keeps_z: bool) -> None:
        layers = []
        for width in widths:
            extended = np.ones((towers, width + 1, batch), np.float32)
            h = extended[:, :width]
            shape = (towers, width, batch)
            z = np.empty(shape, np.float32) if keeps_z else h
            d, spare = np.empty(shape, np.float32), np.empty(shape, np.float32)
            layers.append(_Layer(z, h, extended, d, spare))
        self.layers: dict[Loss, list[_Layer]] = {
            loss: [_Layer(*(array[chosen] for array in layer)) for layer in layers]
            for loss, chosen in _TOWERS.items()
        }
        self.ones = np.ones(batch, np.float32)  # a product with it is the quickest sum
        self.out = layers[-1].ones_below  # [towers, width + 1, B]
        self.d_out = layers[-1].d  # [towers, width, B]
        self.spare = layers[-1].spare


class Trunk:
    """Fully connected layers with an activation after each."""

    def __init__(self, parameters: Parameters, inputs: Inputs, activation: str) -> None:
        self._inputs, self._activation = inputs, ACTIVATIONS[activation]
        self._towers, self._widths = parameters.towers, parameters.widths[1:]
        matrices = parameters.tower_matrices(parameters.values)
        grads = parameters.tower_matrices(parameters.grads)
        self._matrices = {loss: [m[chosen] for m in matrices] for loss, chosen in _TOWERS.items()}
        self._grads = {loss: [g[chosen] for g in grads] for loss, chosen in _TOWERS.items()}

    def allocate(self, batch: int) -> TrunkWork:
        return TrunkWork(self._towers, self._widths, batch, keeps_z=self._activation.keeps_z)

    def forward(self, x: Features, work: TrunkWork, loss: Loss = "both") -> None:
        """Fill `work.out` for the towers that `loss` needs."""
        activate = self._activation.forward
        below: Array | None = None
        for layer, matrix in zip(work.layers[loss], self._matrices[loss], strict=True):
            if below is None:
                self._inputs.forward(x, matrix, layer.z)
            else:
                np.matmul(matrix.transpose(0, 2, 1), below, out=layer.z)
            activate(layer.z, layer.h, layer.spare)
            below = layer.ones_below

    def activations(self, x: Features) -> list[Array]:
        """What every layer gives, [towers, width, B]: a pass forwards alone, without room for slopes."""
        found: list[Array] = []
        for width, matrix in zip(self._widths, self._matrices["both"], strict=True):
            shape = (self._towers, width, x.dense.shape[1])
            z, h, spare = (
                np.empty(shape, np.float32),
                np.empty(shape, np.float32),
                np.empty(shape, np.float32),
            )
            if found:
                np.matmul(matrix[:, :-1].transpose(0, 2, 1), found[-1], out=z)
                z += matrix[:, -1, :, None]
            else:
                self._inputs.forward(x, matrix, z)
            self._activation.forward(z, h, spare)
            found.append(h)
        return found

    def backward(self, x: Features, work: TrunkWork, loss: Loss = "both") -> None:
        """Compute the slopes of all weights from the slope in `work.d_out`, overwriting the old ones."""
        layers, matrices, grads = work.layers[loss], self._matrices[loss], self._grads[loss]
        for k in range(len(layers) - 1, -1, -1):
            d = layers[k].d
            self._activation.backward(d, layers[k].z, layers[k].h, layers[k].spare)
            if k == 0:
                self._inputs.backward(x, d, grads[0])
                return
            # The bias apart: 65 rows would miss the matrix kernels' block size, at twice the time.
            np.matmul(layers[k - 1].h, d.transpose(0, 2, 1), out=grads[k][:, :-1])
            np.matmul(d, work.ones, out=grads[k][:, -1])
            np.matmul(matrices[k][:, :-1], d, out=layers[k - 1].d)
