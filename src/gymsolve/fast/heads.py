"""Action heads: the distributions of `nn/heads.py`, to act with.

Everything is feature-major, with the batch as the last, contiguous axis.
"""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from gymsolve.fast.parameters import Parameters
from gymsolve.spec import ActionSpec, Array

ILLEGAL = -1e9
"""Logit of an illegal choice: its probability underflows to exactly 0, and no NaN can arise."""


class Head(Protocol):
    """A distribution over actions; `given` is the result of `forward`."""

    def illegal(self, masks: Array | None) -> Array | None:
        """Masks [B, M] in the form that `forward` and the compiled kernels take, a row per sample."""

    def noise(self, rng: np.random.Generator, count: int) -> Array:
        """Randomness for `count` samples: the draws of the torch head, in the same shape."""

    def forward(self, outputs: Array, illegal: Array | None) -> Any:
        """The distribution from the outputs [outputs, B] of the head's layer."""

    def sample(self, given: Any, noise: Array) -> Array:
        """Actions [B, A]."""

    def mode(self, given: Any) -> Array:
        """Likeliest actions [B, A]."""

    def log_prob(self, given: Any, actions: Array) -> Array:
        """Log-probabilities [B] of actions [B, A]."""

    def entropy(self, given: Any) -> Array:
        """Entropies [B]."""

    def params(self, given: Any) -> Array:
        """The distribution: probabilities of all choices [B, M], or means [B, A]."""


class _Choices(NamedTuple):
    """Probabilities of every choice."""

    log_p: Array  # [parts, choices, B]
    p: Array  # [parts, choices, B]


class CategoricalHead:
    """Independent categorical parts, padded with illegal choices to the widest."""

    def __init__(self, action: ActionSpec) -> None:
        self._parts, self._widest = len(action.nvec), max(action.nvec)
        layout = np.zeros((self._parts, self._widest), np.intp)
        padding = np.ones((self._parts, self._widest), bool)
        start = 0
        for part, choices in enumerate(action.nvec):
            layout[part, :choices] = np.arange(start, start + choices)
            padding[part, :choices] = False
            start += choices
        self._layout, self._padding = layout, padding
        self._real = np.flatnonzero(~padding)  # where each choice of the layer sits in the padded layout

    def illegal(self, masks: Array | None) -> Array | None:
        if masks is None:
            return None
        padded = masks[:, self._layout.reshape(-1)]
        return np.ascontiguousarray(~padded | self._padding.reshape(-1))  # [B, parts × choices]

    def noise(self, rng: np.random.Generator, count: int) -> Array:
        return rng.gumbel(size=(count, self._parts, self._widest)).astype(np.float32)

    def forward(self, outputs: Array, illegal: Array | None) -> _Choices:
        log_p = outputs.take(self._layout, axis=0)
        log_p[self._padding] = ILLEGAL
        if illegal is not None:
            np.copyto(log_p, ILLEGAL, where=illegal.T.reshape(log_p.shape))
        log_p -= np.maximum.reduce(log_p, axis=1, keepdims=True)
        p = np.exp(log_p)
        total = np.add.reduce(p, axis=1, keepdims=True)  # [parts, 1, B]
        p /= total
        log_p -= np.log(total)
        return _Choices(log_p, p)

    def sample(self, given: _Choices, noise: Array) -> Array:
        # Gumbel-max: exact, and an illegal choice cannot win by rounding.
        actions: Array = (given.log_p.transpose(2, 0, 1) + noise).argmax(axis=2)
        return actions

    def mode(self, given: _Choices) -> Array:
        actions: Array = given.log_p.transpose(2, 0, 1).argmax(axis=2)
        return actions

    def log_prob(self, given: _Choices, actions: Array) -> Array:
        picked = np.take_along_axis(given.log_p, actions.T[:, None], axis=1)  # [parts, 1, B]
        total: Array = np.add.reduce(picked, axis=(0, 1))
        return total

    def entropy(self, given: _Choices) -> Array:
        parts = -np.add.reduce(given.p * given.log_p, axis=1)  # [parts, B]
        total: Array = np.add.reduce(parts, axis=0)
        return total

    def params(self, given: _Choices) -> Array:
        return given.p.reshape(-1, given.p.shape[2])[self._real].T.copy()


class GaussianHead:
    """A diagonal Gaussian with a state-independent spread; its distribution is the means [A, B].

    With `squash` the environment gets tanh(action), and log-probability and entropy are those of the
    squashed one.
    """

    def __init__(self, parameters: Parameters, action: ActionSpec) -> None:
        self._log_std = parameters.slot("_head.log_std").view(parameters.values)
        self._squash = action.squash
        self._nodes, self._weights = quadrature()

    def illegal(self, masks: Array | None) -> Array | None:
        return None

    def noise(self, rng: np.random.Generator, count: int) -> Array:
        return rng.standard_normal((count, len(self._log_std)), dtype=np.float32)

    def forward(self, outputs: Array, illegal: Array | None) -> Array:
        return outputs

    def sample(self, given: Array, noise: Array) -> Array:
        drawn: Array = noise * np.exp(self._log_std)
        drawn += given.T
        return drawn

    def mode(self, given: Array) -> Array:
        return given.T.copy()

    def log_prob(self, given: Array, actions: Array) -> Array:
        z = (actions.T - given) * np.exp(-self._log_std)[:, None]
        total: Array = np.add.reduce(z * z, axis=0)
        total *= -0.5
        total -= np.add.reduce(self._log_std) + 0.5 * math.log(2 * math.pi) * len(self._log_std)
        if self._squash:
            total -= np.add.reduce(_log_slope(actions.T), axis=0)
        return total

    def entropy(self, given: Array) -> Array:
        gaussian = np.add.reduce(self._log_std) + 0.5 * math.log(2 * math.pi * math.e) * len(self._log_std)
        total = np.full(given.shape[1], gaussian, np.float32)
        if self._squash:
            reach = np.exp(self._log_std)[:, None] * self._nodes  # [A, K]
            points = given[:, None] + reach[:, :, None]  # [A, K, B]
            total += np.add.reduce(self._weights @ _log_slope(points), axis=0)
        return total

    def params(self, given: Array) -> Array:
        return given.T.copy()


def quadrature() -> tuple[Array, Array]:
    """Nodes and weights [K] of the Gauss–Hermite rule for E[log(1 − tanh²)], one dimension at a time."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(16)
    return nodes.astype(np.float32), (weights / weights.sum()).astype(np.float32)


def _log_slope(u: Array) -> Array:
    """log(1 − tanh²(u)), stable for large |u|."""
    size = np.abs(u)
    slope: Array = 2.0 * (math.log(2.0) - size - np.log1p(np.exp(-2.0 * size)))
    return slope
