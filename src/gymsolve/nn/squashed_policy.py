"""The policy of SAC and TQC: a Gaussian whose mean and spread depend on the observation, squashed by tanh.

Actions are the numbers before tanh; `ActionSpec.to_env` squashes and scales them. Log-probabilities and
entropies are those of the squashed actions, between -1 and 1.
"""

import math
from typing import ClassVar

import torch
from torch import Tensor

from gymsolve.nn.continuous_policy import ContinuousPolicy
from gymsolve.nn.heads import gauss_hermite, log_slope, mean_log_slope
from gymsolve.nn.init import Draws
from gymsolve.settings.config import NetConfig
from gymsolve.spec import EnvSpec

_LOG_STD = (-20.0, 2.0)
"""Bounds of log standard deviations, as in Haarnoja et al. (2018)."""


class SquashedPolicy(ContinuousPolicy):
    """A squashed Gaussian."""

    kind: ClassVar[str | None] = "squashed"
    per_action: ClassVar[int] = 2
    nodes: Tensor
    weights: Tensor

    def __init__(self, spec: EnvSpec, config: NetConfig, rng: Draws) -> None:
        super().__init__(spec.with_squash(True), config, rng)

    def _build(self, rng: Draws) -> None:
        super()._build(rng)
        with torch.no_grad():
            self.actor_head.bias[self.spec.action.size :] = self.config.log_std_init
        for name, numbers in zip(("nodes", "weights"), gauss_hermite(), strict=True):
            self.register_buffer(name, numbers, persistent=False)

    def gaussian(self, params: Tensor) -> tuple[Tensor, Tensor]:
        """Means and log standard deviations [B, A] before tanh."""
        mean, log_std = params.chunk(2, dim=-1)
        return mean, log_std.clamp(*_LOG_STD)

    def likeliest(self, params: Tensor) -> Tensor:
        return self.gaussian(params)[0]

    def sample(self, params: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        mean, log_std = self.gaussian(params)
        actions = mean + log_std.exp() * noise
        return actions, _density(noise, log_std, actions)

    def log_prob(self, params: Tensor, actions: Tensor) -> Tensor:
        mean, log_std = self.gaussian(params)
        return _density((actions - mean) * torch.exp(-log_std), log_std, actions)

    def entropy(self, params: Tensor) -> Tensor:
        mean, log_std = self.gaussian(params)
        gaussian = (log_std + 0.5 * math.log(2 * math.pi * math.e)).sum(dim=-1)
        return gaussian + mean_log_slope(mean, log_std.exp(), self.nodes, self.weights)


def _density(z: Tensor, log_std: Tensor, actions: Tensor) -> Tensor:
    """Log-density [B] of tanh(actions), whose distance from the mean is z standard deviations."""
    dense = -0.5 * z.square() - log_std - 0.5 * math.log(2 * math.pi)
    return (dense - log_slope(actions)).sum(dim=-1)
