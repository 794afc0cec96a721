"""Action heads: the distributions of `nn/heads.py` with their slopes written out.

Everything is feature-major, with the batch as the last, contiguous axis. A head fills its work arrays
in `forward`; `log_prob`, `entropy` and `backward` read them.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from gymsolve.fast.parameters import Parameters
from gymsolve.spec import ActionSpec, Array

__all__ = ["CategoricalHead", "GaussianHead", "Head", "make_head"]

ILLEGAL = -1e9
"""Logit of an illegal choice: its probability underflows to exactly 0, and no NaN can arise."""


class Head(Protocol):
    """What the policy asks of a head; `work` is what `allocate` gave for the batch size."""

    def allocate(self, batch: int) -> Any: ...

    def illegal(self, masks: Array | None) -> Array | None:
        """Masks [B, M] in the form that `forward` takes, a row per sample."""

    def forward(self, features: Array, illegal: Array | None, work: Any) -> None:
        """Parameters of the distribution from features [width + 1, B]."""

    def noise(self, rng: np.random.Generator, count: int) -> Array:
        """The torch head's randomness: the same draws in the same shape."""

    def sample(self, work: Any, noise: Array) -> Array:
        """Actions [B, A]."""

    def mode(self, work: Any) -> Array:
        """Likeliest actions [B, A]."""

    def log_prob(self, work: Any, actions: Array) -> Array:
        """Of actions [B, A]: [B]."""

    def entropy(self, work: Any) -> Array:
        """[B]"""

    def backward(self, features: Array, work: Any, d_log_prob: Array, d_entropy: float, d: Array) -> None:
        """Slopes of the head's weights, and of the features [width, B] into `d`.

        For the actions of the last `log_prob`; `d_entropy` is the same for every row.
        """


def make_head(parameters: Parameters, action: ActionSpec) -> Head:
    return GaussianHead(parameters, action) if action.kind == "box" else CategoricalHead(parameters, action)


class _Linear:
    """The head's only layer; outputs lie [outputs, B]."""

    def __init__(self, parameters: Parameters) -> None:
        self.matrix = parameters.matrix(parameters.values, "_head.linear")  # [width + 1, outputs]
        self.grad = parameters.matrix(parameters.grads, "_head.linear")
        self.outputs = self.matrix.shape[1]

    def forward(self, features: Array, out: Array) -> None:
        np.matmul(self.matrix.T, features, out=out)

    def backward(self, features: Array, d_out: Array, d: Array) -> None:
        np.matmul(features, d_out.T, out=self.grad)
        np.matmul(self.matrix[:-1], d_out, out=d)


@dataclass
class _CategoricalWork:
    raw: Array  # [choices of all parts, B]
    log_p: Array  # [parts, choices, B]
    p: Array
    p_log_p: Array
    part_entropy: Array  # [parts, 1, B]
    d: Array  # [parts, choices, B]
    base: Array  # [parts, B] flat position of the first choice of each part and row
    chosen: Array  # [parts, B] flat position of the action
    illegal: Array | None = None


class CategoricalHead:
    """Independent categorical parts, padded with illegal choices to the widest."""

    def __init__(self, parameters: Parameters, action: ActionSpec) -> None:
        self._linear = _Linear(parameters)
        self._parts, self._widest = len(action.nvec), max(action.nvec)
        layout = np.zeros((self._parts, self._widest), np.intp)
        padding = np.ones((self._parts, self._widest), bool)
        start = 0
        for part, choices in enumerate(action.nvec):
            layout[part, :choices] = np.arange(start, start + choices)
            padding[part, :choices] = False
            start += choices
        self._layout, self._padding = layout, padding
        self._ragged = bool(padding.any())
        self._real = np.flatnonzero(~padding)  # where each choice of the layer sits in the padded layout

    def allocate(self, batch: int) -> _CategoricalWork:
        shape = (self._parts, self._widest, batch)
        raw = np.empty((self._linear.outputs, batch), np.float32)
        log_p = np.empty(shape, np.float32) if self._ragged else raw.reshape(shape)
        p, p_log_p, d = (np.empty(shape, np.float32) for _ in range(3))
        first = np.arange(self._parts)[:, None] * (self._widest * batch) + np.arange(batch)
        entropy = np.empty((self._parts, 1, batch), np.float32)
        return _CategoricalWork(raw, log_p, p, p_log_p, entropy, d, first, np.empty_like(first))

    def illegal(self, masks: Array | None) -> Array | None:
        if masks is None:
            return None
        padded = masks[:, self._layout.reshape(-1)]
        return ~padded | self._padding.reshape(-1)  # [B, parts × choices]

    def forward(self, features: Array, illegal: Array | None, work: _CategoricalWork) -> None:
        self._linear.forward(features, work.raw)
        log_p, p = work.log_p, work.p
        if self._ragged:
            np.take(work.raw, self._layout, axis=0, out=log_p, mode="clip")
            if illegal is None:
                log_p[self._padding] = ILLEGAL
        work.illegal = None
        if illegal is not None:
            work.illegal = illegal.T.reshape(log_p.shape)
            np.copyto(log_p, ILLEGAL, where=work.illegal)
        log_p -= np.maximum.reduce(log_p, axis=1, keepdims=True)
        np.exp(log_p, out=p)
        total = np.add.reduce(p, axis=1, keepdims=True)  # [parts, 1, B]
        p /= total
        log_p -= np.log(total)

    def noise(self, rng: np.random.Generator, count: int) -> Array:
        return rng.gumbel(size=(count, self._parts, self._widest)).astype(np.float32)

    def sample(self, work: _CategoricalWork, noise: Array) -> Array:
        # Gumbel-max: exact, and an illegal choice cannot win by rounding.
        return (work.log_p.transpose(2, 0, 1) + noise).argmax(axis=2)

    def mode(self, work: _CategoricalWork) -> Array:
        return work.log_p.transpose(2, 0, 1).argmax(axis=2)

    def log_prob(self, work: _CategoricalWork, actions: Array) -> Array:
        np.multiply(actions.T, len(actions), out=work.chosen)
        work.chosen += work.base
        picked = work.log_p.reshape(-1).take(work.chosen)  # [parts, B]
        found: Array = picked[0] if self._parts == 1 else np.add.reduce(picked, axis=0)
        return found

    def entropy(self, work: _CategoricalWork) -> Array:
        np.multiply(work.p, work.log_p, out=work.p_log_p)
        np.add.reduce(work.p_log_p, axis=1, keepdims=True, out=work.part_entropy)
        np.negative(work.part_entropy, out=work.part_entropy)
        total: Array = np.add.reduce(work.part_entropy, axis=(0, 1))
        return total

    def backward(
        self, features: Array, work: _CategoricalWork, d_log_prob: Array, d_entropy: float, d: Array
    ) -> None:
        """∂ log p(a) = [a] − p and ∂H = −p (log p + H), per part, with respect to the logits."""
        slope = work.d
        np.multiply(work.p, -d_log_prob, out=slope)
        flat = slope.reshape(-1)
        flat[work.chosen] += d_log_prob
        if d_entropy:
            spread = work.p * work.part_entropy
            spread += work.p_log_p
            spread *= -d_entropy
            slope += spread
        if work.illegal is not None:  # matters only where nothing at all is legal
            np.copyto(slope, 0.0, where=work.illegal)
        logits = slope.reshape(-1, slope.shape[2])
        self._linear.backward(features, logits.take(self._real, axis=0) if self._ragged else logits, d)


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
        self._linear = _Linear(parameters)
        slot = parameters.slot("_head.log_std")
        self._log_std, self._d_log_std = slot.view(parameters.values), slot.view(parameters.grads)
        self._squash = action.squash
        # Gauss–Hermite rule for E[log(1 − tanh²)], one dimension at a time.
        nodes, weights = np.polynomial.hermite_e.hermegauss(16)
        self._nodes = nodes.astype(np.float32)  # [K]
        self._weights = (weights / weights.sum()).astype(np.float32)

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

    def backward(
        self, features: Array, work: _GaussianWork, d_log_prob: Array, d_entropy: float, d: Array
    ) -> None:
        """∂ log p = z/σ for the mean and z² − 1 for log σ; squashing adds to the slope of the entropy."""
        # `work.slope` still holds z².
        self._d_log_std[...] = work.slope @ d_log_prob - np.add.reduce(d_log_prob) + d_entropy * len(d_log_prob)
        np.multiply(work.z, np.exp(-self._log_std)[:, None], out=work.slope)
        work.slope *= d_log_prob
        if d_entropy and work.pull is not None:
            reach = np.exp(self._log_std)[:, None] * self._nodes  # [A, K]
            along = np.add.reduce(work.pull, axis=2)  # [A, K]
            self._d_log_std -= d_entropy * np.add.reduce(along * reach * self._weights, axis=1)
            work.slope -= d_entropy * (self._weights @ work.pull)
        self._linear.backward(features, work.slope, d)


def _log_slope(u: Array) -> Array:
    """log(1 − tanh²(u)), stable for large |u|."""
    size = np.abs(u)
    slope: Array = 2.0 * (math.log(2.0) - size - np.log1p(np.exp(-2.0 * size)))
    return slope
