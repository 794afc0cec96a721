"""Activations and their slopes, in place on whole arrays.

`forward` turns `z` into the activation `h`; `backward` multiplies the loss's slope `d` by the slope of
the activation. Where the slope can be told from `h` alone, `z` and `h` are one array.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gymsolve.spec import Array


class _Forward(Protocol):
    def __call__(self, z: Array, h: Array, spare: Array) -> None: ...


class _Backward(Protocol):
    def __call__(self, d: Array, z: Array, h: Array, spare: Array) -> None: ...


@dataclass(frozen=True)
class Activation:
    """A pair of functions; `spare` is an array of the same shape they may overwrite."""

    forward: _Forward
    backward: _Backward
    keeps_z: bool = False
    """Its slope needs the input, so `z` must not be overwritten."""


def _tanh(z: Array, h: Array, spare: Array) -> None:
    np.tanh(z, out=h)


def _tanh_slope(d: Array, z: Array, h: Array, spare: Array) -> None:
    np.multiply(h, h, out=spare)
    np.subtract(1.0, spare, out=spare)
    d *= spare


def _relu(z: Array, h: Array, spare: Array) -> None:
    np.maximum(z, 0.0, out=h)


def _relu_slope(d: Array, z: Array, h: Array, spare: Array) -> None:
    np.sign(h, out=spare)  # 0 or 1; unlike a comparison it passes a NaN on
    d *= spare


def _leaky_relu(z: Array, h: Array, spare: Array) -> None:
    np.multiply(z, 0.01, out=spare)
    np.maximum(z, spare, out=h)


def _leaky_relu_slope(d: Array, z: Array, h: Array, spare: Array) -> None:
    np.sign(h, out=spare)
    np.maximum(spare, 0.01, out=spare)
    d *= spare


def _elu(z: Array, h: Array, spare: Array) -> None:
    np.minimum(z, 0.0, out=spare)
    np.expm1(spare, out=spare)
    np.maximum(z, spare, out=h)  # exp(z) − 1 ≥ z, but only negative z count there


def _elu_slope(d: Array, z: Array, h: Array, spare: Array) -> None:
    np.minimum(h, 0.0, out=spare)
    spare += 1.0  # exp(z) is h + 1 below 0
    d *= spare


def _sigmoid(z: Array, out: Array) -> None:
    # By way of tanh: no overflow at either end.
    np.multiply(z, 0.5, out=out)
    np.tanh(out, out=out)
    out *= 0.5
    out += 0.5


def _silu(z: Array, h: Array, spare: Array) -> None:
    _sigmoid(z, spare)
    np.multiply(z, spare, out=h)


def _silu_slope(d: Array, z: Array, h: Array, spare: Array) -> None:
    _sigmoid(z, spare)  # σ + zσ(1 − σ) = σ + h − hσ
    d *= spare + h - h * spare


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


def _gelu(z: Array, h: Array, spare: Array) -> None:
    np.multiply(z, _normal_share(z), out=h)


def _gelu_slope(d: Array, z: Array, h: Array, spare: Array) -> None:
    density = np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
    d *= _normal_share(z) + z * density


ACTIVATIONS = {
    "tanh": Activation(_tanh, _tanh_slope),
    "relu": Activation(_relu, _relu_slope),
    "leaky_relu": Activation(_leaky_relu, _leaky_relu_slope),
    "elu": Activation(_elu, _elu_slope),
    "silu": Activation(_silu, _silu_slope, keeps_z=True),
    "gelu": Activation(_gelu, _gelu_slope, keeps_z=True),
}
