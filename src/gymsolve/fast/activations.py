"""Activations over whole arrays; the compiled kernels know them by their place in `ACTIVATIONS`."""

import math
from collections.abc import Callable

import numpy as np

from gymsolve.spec import Array


def _normal_share(z: Array) -> Array:
    """Φ(z) of the standard normal, exact to float32 rounding.

    NumPy has no erf; this is Abramowitz & Stegun 7.1.26, whose error stays below 1.5e-7.
    """
    x = np.abs(z) * math.sqrt(0.5)
    t = 1.0 / (1.0 + 0.3275911 * x)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    tail = 0.5 * series * np.exp(-x * x)  # P(Z > |z|)
    return np.where(z < 0, tail, 1.0 - tail)


ACTIVATIONS: dict[str, Callable[[Array], Array]] = {
    "tanh": np.tanh,
    "relu": lambda z: np.maximum(z, 0.0),
    "leaky_relu": lambda z: np.maximum(z, z * 0.01),
    "elu": lambda z: np.maximum(z, np.expm1(np.minimum(z, 0.0))),  # exp(z) − 1 ≥ z; it counts for negative z
    "silu": lambda z: z * (np.tanh(z * 0.5) * 0.5 + 0.5),  # the sigmoid by way of tanh: no overflow
    "gelu": lambda z: z * _normal_share(z),
}
