"""Box actions: a diagonal Gaussian, squashed by tanh if asked."""

import math

import numpy as np

from gymsolve.fast.parameters import Parameters
from gymsolve.spec import ActionSpec, Array


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
