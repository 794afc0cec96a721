"""Layers with the weights of `gymsolve.first_weights`."""

import numpy as np
import torch
from torch import nn

from gymsolve.first_weights import orthogonal

Draws = np.random.Generator | None
"""The source of first weights; None when saved ones will be loaded over them."""


@torch.no_grad()
def orthogonal_(layer: nn.Linear | nn.Conv2d, gain: float, rng: Draws) -> None:
    """Orthogonal weights times `gain`; biases zero."""
    if rng is None:
        return
    rows = layer.weight.shape[0]
    columns = layer.weight[0].numel()
    weight = orthogonal(rows, columns, gain, rng)
    layer.weight.copy_(torch.from_numpy(weight).reshape(layer.weight.shape))
    if layer.bias is not None:
        layer.bias.zero_()
