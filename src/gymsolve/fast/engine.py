"""Policy and algorithm of a run on the NumPy engine, and the threads that it computes with."""

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from gymsolve.fast.a2c import FastA2C
from gymsolve.fast.policy import FastPolicy
from gymsolve.fast.ppo import FastPPO
from gymsolve.fast.reinforce import FastReinforce
from gymsolve.settings.config import AnyAlgo, TrainConfig
from gymsolve.spec import EnvSpec

FastAlgorithm = FastPPO | FastA2C | FastReinforce

_CLASSES: dict[str, Callable[[Any, FastPolicy], FastAlgorithm]] = {
    "ppo": FastPPO,
    "a2c": FastA2C,
    "reinforce": FastReinforce,
}


def build(config: TrainConfig, spec: EnvSpec, rng: np.random.Generator) -> FastAlgorithm:
    """The learner of a config that `supports` accepts, with its policy."""
    return build_algorithm(config.algo, FastPolicy(spec, config.net, rng))


def build_algorithm(config: AnyAlgo, policy: FastPolicy) -> FastAlgorithm:
    return _CLASSES[config.name](config, policy)


def set_blas_threads(count: int) -> bool:
    """Let NumPy's matrix products use so many threads; False when this NumPy has no OpenBLAS of its own.

    A second thread makes small products many times slower. The usual environment variable works only before
    NumPy is first imported. Later this function can still call the OpenBLAS that NumPy's wheels bring along.
    """
    folder = Path(np.__file__).parent
    places = (folder.parent / "numpy.libs", folder / ".dylibs")
    for path in (path for place in places for path in place.glob("*openblas*")):
        # Already loaded by NumPy, so this is the same library, not a second copy.
        library = ctypes.CDLL(str(path))
        for name in ("scipy_openblas_set_num_threads64_", "scipy_openblas_set_num_threads"):
            try:
                library[name](ctypes.c_int(count))
            except AttributeError:  # the other kind of build
                continue
            return True
    return False
