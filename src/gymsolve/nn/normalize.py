"""Normalisers as modules: their statistics are buffers, saved and loaded with the weights.

Statistics move only when a learner calls `observe` between rollouts, never during acting, evaluation or a
gradient pass.
"""

import numpy as np
import torch
from torch import Tensor, nn

from gymsolve.experience.moments import merge_moments
from gymsolve.spec import Array, ObsSpec


class RunningNorm(nn.Module):
    """(x − mean) / std with running statistics, limited to ±10."""

    mean: Tensor
    var: Tensor
    count: Tensor

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(shape, dtype=torch.float64))
        self.register_buffer("var", torch.ones(shape, dtype=torch.float64))
        self.register_buffer("count", torch.zeros((), dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        scale = torch.rsqrt(self.var + 1e-8).float()
        return ((x - self.mean.float()) * scale).clamp(-10.0, 10.0)

    def observe(self, batch: Array) -> None:
        """Take a batch [B, *shape] into the statistics."""
        mean, var, count = merge_moments(
            self.mean.cpu().numpy(), self.var.cpu().numpy(), float(self.count), batch
        )
        self.mean.copy_(torch.as_tensor(mean))
        self.var.copy_(torch.as_tensor(var))
        self.count.fill_(count)


class BoundsNorm(nn.Module):
    """Maps a bounded vector to [-1, 1]; one without finite bounds passes through."""

    low: Tensor
    span: Tensor

    def __init__(self, spec: ObsSpec) -> None:
        super().__init__()
        self.bounded = bool(spec.low)
        low = np.reshape(spec.low, spec.shape) if self.bounded else np.zeros(spec.shape)
        high = np.reshape(spec.high, spec.shape) if self.bounded else np.ones(spec.shape)
        span = np.where(high > low, high - low, 1.0)
        self.register_buffer("low", torch.as_tensor(low, dtype=torch.float32))
        self.register_buffer("span", torch.as_tensor(span, dtype=torch.float32))

    def forward(self, x: Tensor) -> Tensor:
        return (x - self.low) * (2.0 / self.span) - 1.0 if self.bounded else x


class ValueNorm(nn.Module):
    """Values in units of the returns' running spread.

    With `preserve` (PopArt) the value head is rewritten whenever the units move, so that its
    predictions in real units stay the same.
    """

    mean: Tensor
    square: Tensor
    weight: Tensor

    def __init__(self, *, preserve: bool, decay: float = 0.99) -> None:
        super().__init__()
        self.preserve, self.decay = preserve, decay
        for name in ("mean", "square", "weight"):
            self.register_buffer(name, torch.zeros((), dtype=torch.float64))

    def units(self) -> tuple[float, float]:
        """Mean and spread of the returns so far; (0, 1) before any."""
        weight = float(self.weight)
        if weight == 0.0:
            return 0.0, 1.0
        mean = float(self.mean) / weight
        return mean, max(float(self.square) / weight - mean**2, 1e-4) ** 0.5

    def normalize(self, values: Tensor, tasks: Tensor | None = None) -> Tensor:
        """Real values in these units; all `tasks` have the same ones."""
        mean, std = self.units()
        return (values - mean) / std

    def denormalize(self, values: Tensor, tasks: Tensor | None = None) -> Tensor:
        mean, std = self.units()
        return values * std + mean

    @torch.no_grad()
    def observe(self, returns: Array, head: nn.Linear, tasks: Array | None = None) -> None:
        """Take returns into the statistics; `head` is the layer that predicts in these units."""
        old_mean, old_std = self.units()
        keep = self.decay
        self.mean.mul_(keep).add_((1 - keep) * float(returns.mean(dtype=np.float64)))
        self.square.mul_(keep).add_((1 - keep) * float(np.square(returns, dtype=np.float64).mean()))
        self.weight.mul_(keep).add_(1 - keep)
        if self.preserve:
            mean, std = self.units()
            head.weight.mul_(old_std / std)
            head.bias.mul_(old_std).add_(old_mean - mean).div_(std)
