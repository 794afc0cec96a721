"""The policy of TD3: one action per observation, and in training normal noise around it."""

import math
from typing import ClassVar

import torch
from torch import Tensor

from gymsolve.nn.continuous_policy import ContinuousPolicy
from gymsolve.nn.init import Draws
from gymsolve.settings.config import NetConfig
from gymsolve.spec import EnvSpec


class DeterministicPolicy(ContinuousPolicy):
    """tanh of the actor's output, between -1 and 1; `ActionSpec.to_env` clips what noise moves beyond."""

    kind: ClassVar[str | None] = "deterministic"
    noise: Tensor
    """Standard deviation of the noise; it is saved with the weights."""

    def __init__(self, spec: EnvSpec, config: NetConfig, rng: Draws) -> None:
        super().__init__(spec.with_squash(False), config, rng)

    def _build(self, rng: Draws) -> None:
        super()._build(rng)
        self.register_buffer("noise", torch.zeros(()))

    def likeliest(self, params: Tensor) -> Tensor:
        return params.tanh()

    def sample(self, params: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        actions = params.tanh() + self.noise * noise
        return actions, self._density(noise)

    def log_prob(self, params: Tensor, actions: Tensor) -> Tensor:
        away = actions - params.tanh()
        return self._density(away / self.noise if float(self.noise) else torch.zeros_like(away))

    def _density(self, z: Tensor) -> Tensor:
        """Log-density [B] of the noise, z standard deviations from 0; 0 where there is no noise."""
        if not float(self.noise):
            return z.new_zeros(len(z))
        return (-0.5 * z.square() - self.noise.log() - 0.5 * math.log(2 * math.pi)).sum(dim=-1)

    def entropy(self, params: Tensor) -> Tensor:
        each = self.noise.log() + 0.5 * math.log(2 * math.pi * math.e) if float(self.noise) else self.noise
        return (each * params.shape[-1]).expand(len(params))

    def set_noise(self, noise: float) -> None:
        """Act with noise of this standard deviation from here on."""
        self.noise.fill_(noise)
