"""Weights at the start, drawn from a NumPy generator: a seed means one network, on any engine."""

import numpy as np

from gymsolve.spec import Array


def orthogonal(rows: int, columns: int, gain: float, rng: np.random.Generator) -> Array:
    """A matrix whose rows (or columns, whichever are fewer) are orthonormal, times `gain`."""
    draw = rng.standard_normal((max(rows, columns), min(rows, columns)))
    q, r = np.linalg.qr(draw)
    q *= np.sign(np.diag(r))  # makes the draw uniform over orthogonal matrices
    weight: Array = gain * (q if rows >= columns else q.T)
    return weight
