"""Layers with the weights of `gymsolve.initialize`."""

import numpy as np
import torch
from torch import nn

from gymsolve.initialize import orthogonal

__all__ = ["orthogonal_"]


@torch.no_grad()
def orthogonal_(layer: nn.Linear | nn.Conv2d, gain: float, rng: np.random.Generator) -> None:
    """Orthogonal weights times `gain`; biases zero."""
    rows = layer.weight.shape[0]
    columns = layer.weight[0].numel()
    weight = orthogonal(rows, columns, gain, rng)
    layer.weight.copy_(torch.from_numpy(weight).reshape(layer.weight.shape))
    if layer.bias is not None:
        layer.bias.zero_()
