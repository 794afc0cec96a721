"""Activations over whole arrays; the compiled kernels know them by their place in `ACTIVATIONS`."""

import math
from collections.abc import Callable

import numpy as np

from gymsolve.spec import Array


def _tanh(z: Array) -> Array:
    h: Array = np.tanh(z)
    return h


def _relu(z: Array) -> Array:
    h: Array = np.maximum(z, 0.0)
    return h


def _leaky_relu(z: Array) -> Array:
    h: Array = np.maximum(z, z * 0.01)
    return h


def _elu(z: Array) -> Array:
    # exp(z) − 1 ≥ z, but only negative z count there.
    h: Array = np.maximum(z, np.expm1(np.minimum(z, 0.0)))
    return h


def _silu(z: Array) -> Array:
    # The sigmoid by way of tanh: no overflow at either end.
    return z * (np.tanh(z * 0.5) * 0.5 + 0.5)


def _gelu(z: Array) -> Array:
    return z * _normal_share(z)


def _normal_share(z: Array) -> Array:
    """Φ(z) of the standard normal, exact to float32 rounding.

    NumPy has no erf; this is Abramowitz & Stegun 7.1.26, whose error stays below 1.5e-7.
    """
    x = np.abs(z) * math.sqrt(0.5)
    t = 1.0 / (1.0 + 0.3275911 * x)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    tail = 0.5 * series * np.exp(-x * x)  # [P(Z > |z|)]
    share: Array = np.where(z < 0, tail, 1.0 - tail)
    return share


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": _tanh,
    "relu": _relu,
    "leaky_relu": _leaky_relu,
    "elu": _elu,
    "silu": _silu,
    "gelu": _gelu,
}
