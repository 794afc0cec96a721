"""Questions with known answers, learned within seconds by SAC, TD3 and TQC."""

import numpy as np
import pytest

from probes import CONTINUOUS, TARGET, ProbeEnvs, make_algorithm, make_continuous_policy, train

GAMMA = 0.5
SHARED = {
    "gamma": GAMMA,
    "learning_rate": 1e-2,
    "learning_starts": 200,
    "batch_size": 64,
    "gradient_steps": 0.5,
    "tau": 0.2,
    "policy_every": 1,
    "target_every": 1,
}
SOFT = {"ent_coef": 0.002}
OPTIONS = {"sac": SOFT, "tqc": SOFT | {"drop_quantiles": 0}, "td3": {"policy_noise": 0.05}}
STATES = {"delayed": [0.0, 1.0], "matched": [-1.0, 1.0]}


# `delayed` asks for targets, `matched` for an actor that follows its critics; the others are parts of them.
@pytest.mark.parametrize("probe", ["delayed", "matched"])
@pytest.mark.parametrize("algo", CONTINUOUS)
def test_probe(algo, probe):
    envs = ProbeEnvs(probe, "continuous", num_envs=4)
    policy = make_continuous_policy(
        algo,
        envs.spec,
        hidden=(32,),
        activation="relu",
        policy_gain=0.01,
        quantiles=5 if algo == "tqc" else None,
    )
    algorithm = make_algorithm(algo, policy, **SHARED, **OPTIONS[algo])
    train(algorithm, envs, 100, num_steps=8)
    obs = {"obs": np.float32(STATES[probe])[:, None]}
    values = policy.values(obs)
    if probe == "delayed":
        np.testing.assert_allclose(values, [GAMMA, 1.0], atol=0.06)
        return
    best = policy.spec.action.to_env(policy.greedy(obs, None))
    np.testing.assert_allclose(best[:, 0], TARGET * np.array(STATES[probe]), atol=0.1)
    np.testing.assert_allclose(values, 1.0, atol=0.06)
