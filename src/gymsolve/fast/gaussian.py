"""Box actions: a diagonal Gaussian, squashed by tanh if asked."""

import math
from dataclasses import dataclass

import numpy as np

from gymsolve.fast.heads import Linear
from gymsolve.fast.parameters import Parameters
from gymsolve.spec import ActionSpec, Array


@dataclass
class _GaussianWork:
    mean: Array  # [A, B]
    z: Array  # [A, B] distance of the actions from the mean, in standard deviations
    slope: Array  # [A, B]
    pull: Array | None = None  # [A, K, B] 2 tanh(u): how fast squashing loses entropy at each node


class GaussianHead:
    """A diagonal Gaussian with a state-independent spread.

    With `squash` the environment gets tanh(action), and log-probability and entropy are those of the
    squashed one.
    """

    def __init__(self, parameters: Parameters, action: ActionSpec) -> None:
        self._linear = Linear(parameters)
        slot = parameters.slot("_head.log_std")
        self._log_std, self._d_log_std = slot.view(parameters.values), slot.view(parameters.grads)
        self._squash = action.squash
        self._nodes, self._weights = quadrature()

    def allocate(self, batch: int) -> _GaussianWork:
        mean, z, slope = np.empty((3, self._linear.outputs, batch), np.float32)
        return _GaussianWork(mean, z, slope)

    def illegal(self, masks: Array | None) -> Array | None:
        return None

    def forward(self, features: Array, illegal: Array | None, work: _GaussianWork) -> None:
        self._linear.forward(features, work.mean)

    def noise(self, rng: np.random.Generator, count: int) -> Array:
        return rng.standard_normal((count, len(self._log_std)), dtype=np.float32)

    def sample(self, work: _GaussianWork, noise: Array) -> Array:
        drawn: Array = noise * np.exp(self._log_std)
        drawn += work.mean.T
        return drawn

    def mode(self, work: _GaussianWork) -> Array:
        return work.mean.T.copy()

    def log_prob(self, work: _GaussianWork, actions: Array) -> Array:
        np.subtract(actions.T, work.mean, out=work.z)
        work.z *= np.exp(-self._log_std)[:, None]
        np.multiply(work.z, work.z, out=work.slope)
        found: Array = np.add.reduce(work.slope, axis=0)
        found *= -0.5
        found -= np.add.reduce(self._log_std) + 0.5 * math.log(2 * math.pi) * len(self._log_std)
        if self._squash:
            found -= np.add.reduce(_log_slope(actions.T), axis=0)
        return found

    def entropy(self, work: _GaussianWork) -> Array:
        gaussian = np.add.reduce(self._log_std) + 0.5 * math.log(2 * math.pi * math.e) * len(self._log_std)
        found = np.full(work.mean.shape[1], gaussian, np.float32)
        if self._squash:
            reach = np.exp(self._log_std)[:, None] * self._nodes  # [A, K]
            points = work.mean[:, None] + reach[:, :, None]  # [A, K, B]
            found += np.add.reduce(self._weights @ _log_slope(points), axis=0)
            work.pull = 2.0 * np.tanh(points)
        return found

    def params(self, work: _GaussianWork) -> Array:
        return work.mean.T.copy()

    def backward(
        self, features: Array, work: _GaussianWork, d_log_prob: Array, d_entropy: float, d: Array
    ) -> None:
        """∂ log p = z/σ for the mean and z² − 1 for log σ; squashing adds to the slope of the entropy."""
        # `work.slope` still holds z².
        self._d_log_std[...] = (
            work.slope @ d_log_prob - np.add.reduce(d_log_prob) + d_entropy * len(d_log_prob)
        )
        np.multiply(work.z, np.exp(-self._log_std)[:, None], out=work.slope)
        work.slope *= d_log_prob
        if d_entropy and work.pull is not None:
            reach = np.exp(self._log_std)[:, None] * self._nodes  # [A, K]
            along = np.add.reduce(work.pull, axis=2)  # [A, K]
            self._d_log_std -= d_entropy * np.add.reduce(along * reach * self._weights, axis=1)
            work.slope -= d_entropy * (self._weights @ work.pull)
        self._linear.backward(features, work.slope, d)


def quadrature() -> tuple[Array, Array]:
    """Nodes and weights [K] of the Gauss–Hermite rule for E[log(1 − tanh²)], one dimension at a time."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(16)
    return nodes.astype(np.float32), (weights / weights.sum()).astype(np.float32)


def _log_slope(u: Array) -> Array:
    """log(1 − tanh²(u)), stable for large |u|."""
    size = np.abs(u)
    slope: Array = 2.0 * (math.log(2.0) - size - np.log1p(np.exp(-2.0 * size)))
    return slope
