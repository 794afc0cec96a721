"""Action heads: the distributions of `nn/heads.py` with their slopes written out.

Everything is feature-major, with the batch as the last, contiguous axis. A head fills its work arrays
in `forward`; `log_prob`, `entropy` and `backward` read them.
"""

from typing import Any, Protocol

import numpy as np

from gymsolve.fast.parameters import Parameters
from gymsolve.spec import Array


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
        """Log-probabilities [B] of actions [B, A]."""

    def entropy(self, work: Any) -> Array:
        """Entropies [B]."""

    def params(self, work: Any) -> Array:
        """The distribution: probabilities of all choices [B, M], or means [B, A]."""

    def backward(self, features: Array, work: Any, d_log_prob: Array, d_entropy: float, d: Array) -> None:
        """Slopes of the head's weights, and of the features [width, B] into `d`.

        They are for the actions of the last `log_prob`; `d_entropy` is the same for every row.
        """


class Linear:
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
