"""Policy and algorithm of a run on the NumPy engine."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gymsolve.config import AnyAlgo, TrainConfig
from gymsolve.fast.a2c import FastA2C
from gymsolve.fast.policy import FastPolicy
from gymsolve.fast.ppo import FastPPO
from gymsolve.fast.reinforce import FastReinforce
from gymsolve.spec import EnvSpec

__all__ = ["FastAlgorithm", "build", "build_algorithm"]

FastAlgorithm = FastPPO | FastA2C | FastReinforce

_CLASSES: dict[str, Any] = {"ppo": FastPPO, "a2c": FastA2C, "reinforce": FastReinforce}


def build(config: TrainConfig, spec: EnvSpec, rng: np.random.Generator) -> tuple[FastPolicy, FastAlgorithm]:
    """Policy and algorithm for a config that `supports` accepts."""
    policy = FastPolicy(spec, config.net, rng)
    return policy, build_algorithm(config.algo, policy)


def build_algorithm(config: AnyAlgo, policy: FastPolicy) -> FastAlgorithm:
    kind: Callable[[AnyAlgo, FastPolicy], FastAlgorithm] = _CLASSES[config.name]
    return kind(config, policy)
