"""Critics: several networks that value an observation together with an action, computed in one pass.

The weights of all critics lie in one tensor per layer, with the critic as the first axis. A batched product
of matrices then does for all of them what a loop over modules would do one after the other.
"""

import itertools

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from gymsolve.first_weights import orthogonal
from gymsolve.nn.bodies import ACTIVATIONS, Encoder
from gymsolve.nn.init import Draws
from gymsolve.settings.config import NetConfig
from gymsolve.spec import EnvSpec

_ROOT_TWO = float(np.sqrt(2.0))


class Critics(nn.Module):
    """N critics with an encoder of observations in common."""

    def __init__(self, spec: EnvSpec, config: NetConfig, rng: Draws) -> None:
        super().__init__()
        own = config.critics
        self.count, self.outputs = own.count, config.quantiles or 1
        self.encoder = Encoder(spec, config, rng)
        self.layer_norm = config.layer_norm if own.layer_norm is None else own.layer_norm
        self.activation = ACTIVATIONS[config.activation]()
        widths = [self.encoder.size + spec.action.size]
        widths += config.hidden if own.hidden is None else own.hidden
        self.weights, self.biases = nn.ParameterList(), nn.ParameterList()
        self.scales, self.shifts = nn.ParameterList(), nn.ParameterList()  # of layer normalisation
        for size, width in itertools.pairwise(widths):
            self._add_layer(size, width, _ROOT_TWO, rng)
            if self.layer_norm:
                self.scales.append(nn.Parameter(torch.ones(self.count, 1, width)))
                self.shifts.append(nn.Parameter(torch.zeros(self.count, 1, width)))
        self._add_layer(widths[-1], self.outputs, config.policy_gain, rng)

    def _add_layer(self, size: int, width: int, gain: float, rng: Draws) -> None:
        weight = np.zeros((self.count, size, width), np.float32)
        if rng is not None:
            for matrix in weight:
                matrix[:] = orthogonal(width, size, gain, rng).T
        self.weights.append(nn.Parameter(torch.from_numpy(weight)))
        self.biases.append(nn.Parameter(torch.zeros(self.count, 1, width)))

    def forward(self, features: Tensor, actions: Tensor) -> Tensor:
        """Values [N, B] of actions [B, A] between -1 and 1, or their quantiles [N, B, M] where M > 1."""
        out = self.passes(features, actions)[-1]  # [N, B, M]
        return out.squeeze(-1) if self.outputs == 1 else out

    def passes(self, features: Tensor, actions: Tensor) -> list[Tensor]:
        """The outputs [N, B, units] of every hidden layer after its activation, and of the last layer."""
        x = torch.cat([features, actions], dim=1).expand(self.count, -1, -1)  # [N, B, F + A]
        outputs: list[Tensor] = []
        last = len(self.weights) - 1
        for index, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            x = torch.baddbmm(bias, x, weight)
            if index < last:
                if self.layer_norm:
                    x = functional.layer_norm(x, x.shape[-1:]) * self.scales[index] + self.shifts[index]
                x = self.activation(x)
            outputs.append(x)
        return outputs
