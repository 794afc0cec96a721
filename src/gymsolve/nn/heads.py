"""Action heads: features → a distribution over actions, and the arithmetic on it.

Two heads serve every action space. `CategoricalHead` covers Discrete (one part), MultiDiscrete and
MultiBinary (parts of two); `GaussianHead` covers boxes. Randomness comes as NumPy noise, so that sampling
depends on the run's own stream alone.
"""

import math
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from gymsolve.nn.init import Draws, orthogonal_
from gymsolve.nn.tasks import pick
from gymsolve.settings.config import NetConfig
from gymsolve.spec import ActionSpec, Array

ILLEGAL = -1e9
"""Logit of an illegal choice: its probability underflows to exactly 0, and no NaN can arise."""


class Head(Protocol):
    """A distribution over actions; `params` [B, …] is the result of `forward`."""

    def __call__(self, features: Tensor, masks: Tensor | None, tasks: Tensor | None = None) -> Tensor:
        """Parameters from features; `tasks` [B] selects one of several heads per row."""

    def noise(self, rng: np.random.Generator, count: int) -> Array:
        """Randomness for `count` samples."""

    def sample(self, params: Tensor, noise: Tensor) -> Tensor: ...

    def mode(self, params: Tensor) -> Tensor: ...

    def log_prob(self, params: Tensor, actions: Tensor) -> Tensor: ...

    def entropy(self, params: Tensor) -> Tensor: ...


def make_head(size: int, action: ActionSpec, config: NetConfig, rng: Draws, tasks: int = 1) -> nn.Module:
    """The head of an action space; of several `tasks`, each has a last layer of its own."""
    if action.kind == "box":
        return GaussianHead(size, action, config, rng, tasks)
    return CategoricalHead(size, action.nvec, config.policy_gain, rng, tasks)


class CategoricalHead(nn.Module):
    """Independent categorical parts; log-probabilities [B, parts, choices], padded with illegal ones."""

    layout: Tensor
    padding: Tensor

    def __init__(self, size: int, nvec: tuple[int, ...], gain: float, rng: Draws, tasks: int = 1) -> None:
        super().__init__()
        self.nvec, self.tasks = nvec, tasks
        self.linear = nn.Linear(size, tasks * sum(nvec))
        orthogonal_(self.linear, gain, rng)
        widest = max(nvec)
        layout = np.zeros((len(nvec), widest), np.int64)
        padding = np.ones((len(nvec), widest), bool)
        start = 0
        for part, choices in enumerate(nvec):
            layout[part, :choices] = np.arange(start, start + choices)
            padding[part, :choices] = False
            start += choices
        self.ragged = bool(padding.any())
        self.register_buffer("layout", torch.from_numpy(layout), persistent=False)
        self.register_buffer("padding", torch.from_numpy(padding), persistent=False)

    def forward(self, features: Tensor, masks: Tensor | None, tasks: Tensor | None = None) -> Tensor:
        logits = self.linear(features)  # [B, sum(nvec)]
        if tasks is not None:
            logits = pick(logits, tasks, self.tasks)
        if masks is not None:
            logits = logits.masked_fill(~masks, ILLEGAL)
        if self.ragged:
            logits = logits[:, self.layout].masked_fill(self.padding, ILLEGAL)
        else:
            logits = logits.view(len(logits), *self.layout.shape)
        return torch.log_softmax(logits, dim=-1)  # [B, parts, choices]

    def choices(self, params: Tensor) -> Tensor:
        """Probabilities of all choices [B, sum(nvec)], without the padding."""
        return params.exp()[:, ~self.padding]

    def noise(self, rng: np.random.Generator, count: int) -> Array:
        return rng.gumbel(size=(count, *self.layout.shape)).astype(np.float32)

    def sample(self, params: Tensor, noise: Tensor) -> Tensor:
        # Gumbel-max: exact, and an illegal choice cannot win by rounding.
        return (params + noise).argmax(dim=-1)

    def mode(self, params: Tensor) -> Tensor:
        return params.argmax(dim=-1)

    def log_prob(self, params: Tensor, actions: Tensor) -> Tensor:
        return params.gather(-1, actions.unsqueeze(-1)).squeeze(-1).sum(dim=-1)

    def entropy(self, params: Tensor) -> Tensor:
        return -(params.exp() * params).sum(dim=(-1, -2))


class GaussianHead(nn.Module):
    """A diagonal Gaussian with a state-independent spread, the same in all tasks; `params` is the mean.

    Actions live in units of half the action range: 0 is its middle, ±1 its ends. With `squash` the
    environment gets tanh(action), and log-probability and entropy are those of the squashed one.
    """

    nodes: Tensor
    weights: Tensor

    def __init__(self, size: int, action: ActionSpec, config: NetConfig, rng: Draws, tasks: int = 1) -> None:
        super().__init__()
        self.squash, self.tasks = action.squash, tasks
        self.linear = nn.Linear(size, tasks * action.size)
        orthogonal_(self.linear, config.policy_gain, rng)
        self.log_std = nn.Parameter(torch.full((action.size,), config.log_std_init))
        for name, numbers in zip(("nodes", "weights"), gauss_hermite(), strict=True):
            self.register_buffer(name, numbers, persistent=False)

    def forward(self, features: Tensor, masks: Tensor | None, tasks: Tensor | None = None) -> Tensor:
        mean: Tensor = self.linear(features)
        return mean if tasks is None else pick(mean, tasks, self.tasks)

    def noise(self, rng: np.random.Generator, count: int) -> Array:
        return rng.standard_normal((count, len(self.log_std)), dtype=np.float32)

    def sample(self, params: Tensor, noise: Tensor) -> Tensor:
        return params + self.log_std.exp() * noise

    def mode(self, params: Tensor) -> Tensor:
        return params

    def log_prob(self, params: Tensor, actions: Tensor) -> Tensor:
        z = (actions - params) * torch.exp(-self.log_std)
        dense = -0.5 * z.square() - self.log_std - 0.5 * math.log(2 * math.pi)
        if self.squash:
            dense = dense - log_slope(actions)
        return dense.sum(dim=-1)

    def entropy(self, params: Tensor) -> Tensor:
        gaussian = (self.log_std + 0.5 * math.log(2 * math.pi * math.e)).sum().expand(len(params))
        if not self.squash:
            return gaussian
        return gaussian + mean_log_slope(params, self.log_std.exp(), self.nodes, self.weights)


def gauss_hermite() -> tuple[Tensor, Tensor]:
    """Nodes and weights [K] by which the mean of a function of a standard normal number is computed."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(16)
    total = torch.as_tensor(weights / weights.sum(), dtype=torch.float32)
    return torch.as_tensor(nodes, dtype=torch.float32), total


def mean_log_slope(mean: Tensor, std: Tensor, nodes: Tensor, weights: Tensor) -> Tensor:
    """E[log(1 − tanh²)] of Gaussians [B, A], summed over dimensions: what squashing adds to the entropy."""
    points = mean.unsqueeze(-1) + std.unsqueeze(-1) * nodes  # [B, A, K]
    return (log_slope(points) * weights).sum(dim=(-1, -2))


def log_slope(u: Tensor) -> Tensor:
    """log(1 − tanh²(u)), stable for large |u|."""
    return 2.0 * (math.log(2.0) - u - nn.functional.softplus(-2.0 * u))
