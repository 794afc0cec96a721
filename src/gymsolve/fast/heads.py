"""Action heads: the distributions of `nn/heads.py`, to act with.

Everything is feature-major, with the batch as the last, contiguous axis.
"""

from typing import Any, Protocol

import numpy as np

from gymsolve.spec import Array


class Head(Protocol):
    """What the policy asks of a head; `given` is what `forward` returned."""

    def illegal(self, masks: Array | None) -> Array | None:
        """Masks [B, M] in the form that `forward` and the compiled kernels take, a row per sample."""

    def noise(self, rng: np.random.Generator, count: int) -> Array:
        """The torch head's randomness: the same draws in the same shape."""

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
