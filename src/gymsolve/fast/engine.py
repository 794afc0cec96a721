"""Policy and algorithm of a run on the NumPy engine."""

import numpy as np

from gymsolve.config import A2CConfig, PPOConfig, ReinforceConfig, TrainConfig
from gymsolve.fast.a2c import FastA2C
from gymsolve.fast.policy import FastPolicy
from gymsolve.fast.ppo import FastPPO
from gymsolve.fast.reinforce import FastReinforce
from gymsolve.spec import EnvSpec

__all__ = ["FastAlgorithm", "build", "build_algorithm"]

FastAlgorithm = FastPPO | FastA2C | FastReinforce


def build(config: TrainConfig, spec: EnvSpec, rng: np.random.Generator) -> tuple[FastPolicy, FastAlgorithm]:
    """For a config that `supports` has nothing against."""
    policy = FastPolicy(spec, config.net, rng)
    return policy, build_algorithm(config.algo, policy)


def build_algorithm(config: PPOConfig | A2CConfig | ReinforceConfig, policy: FastPolicy) -> FastAlgorithm:
    if isinstance(config, PPOConfig):
        return FastPPO(config, policy)
    if isinstance(config, A2CConfig):
        return FastA2C(config, policy)
    return FastReinforce(config, policy)
