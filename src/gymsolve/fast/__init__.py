"""The NumPy engine: small MLP policies without torch, trained by compiled kernels.

`algos/` and `nn/` are the reference and the place to extend; this package computes the same numbers
faster where networks are so small that the overhead of a framework is most of the time. Gradients are
written out in `kernels.c`; without it NumPy acts and evaluates, and torch trains.
"""

from gymsolve.fast.engine import FastAlgorithm, build, build_algorithm, set_blas_threads
from gymsolve.fast.policy import FastPolicy
from gymsolve.fast.support import covers, supports, why_not

__all__ = [
    "FastAlgorithm",
    "FastPolicy",
    "build",
    "build_algorithm",
    "covers",
    "set_blas_threads",
    "supports",
    "why_not",
]
