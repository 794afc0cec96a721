"""Weights at the start: orthogonal, drawn from a NumPy generator so that a seed means one network."""

import numpy as np
import torch
from torch import nn

__all__ = ["orthogonal_"]


@torch.no_grad()
def orthogonal_(layer: nn.Linear | nn.Conv2d, gain: float, rng: np.random.Generator) -> None:
    """Rows (or columns, whichever are fewer) orthonormal times `gain`; biases zero."""
    rows = layer.weight.shape[0]
    columns = layer.weight[0].numel()
    draw = rng.standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(draw)
    q *= np.sign(np.diag(r))  # makes the draw uniform over orthogonal matrices
    weight = q if rows >= columns else q.T
    layer.weight.copy_(torch.from_numpy(gain * weight).reshape(layer.weight.shape))
    if layer.bias is not None:
        layer.bias.zero_()
