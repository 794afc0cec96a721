"""Running mean and variance, merged batch by batch."""

from typing import Any

import numpy as np

from gymsolve.spec import Array


def merge_moments(mean: Array, var: Array, count: Any, batch: Array) -> tuple[Array, Array, Any]:
    """Mean, variance and count after seeing `batch` [B, …] too (Chan's parallel formula, float64)."""
    batch = batch.astype(np.float64, copy=False)
    size = len(batch)
    if size == 0:
        return mean, var, count
    total = count + size
    delta = batch.mean(axis=0) - mean
    spread = var * count + batch.var(axis=0) * size + delta**2 * (count * size / total)
    return mean + delta * (size / total), spread / total, total
