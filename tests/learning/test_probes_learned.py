"""Five questions with known answers, learned within seconds by every algorithm."""

import numpy as np
import pytest

from probes import ALGORITHMS, PROBES, TARGET, ProbeEnvs, make_algorithm, make_policy, train

GAMMA = 0.5
OPTIONS = {
    "ppo": {"learning_rate": "2e-2 -> 1e-3", "num_epochs": 4, "num_minibatches": 2},
    "a2c": {"learning_rate": "2e-2 -> 1e-3", "normalize_advantages": "rollout"},
    "reinforce": {"learning_rate": "3e-2 -> 1e-3", "value_epochs": 4},
}
UPDATES = {"ppo": 50, "a2c": 150, "reinforce": 100}


# Where actions change nothing only the critic learns, whatever the actions are: each question is asked once
# with continuous ones, of another algorithm.
CASES = [
    *((probe, "discrete", algo) for probe in PROBES for algo in ALGORITHMS),
    *((probe, "continuous", algo) for probe in ("acted", "matched") for algo in ALGORITHMS),
    *(
        ("constant", "continuous", "ppo"),
        ("observed", "continuous", "a2c"),
        ("delayed", "continuous", "reinforce"),
    ),
]


@pytest.mark.parametrize(("probe", "actions", "algo"), CASES)
def test_probe(probe, actions, algo):
    envs = ProbeEnvs(probe, actions)
    policy = make_policy(envs.spec, hidden=(16,))
    algorithm = make_algorithm(algo, policy, gamma=GAMMA, **OPTIONS[algo])
    train(algorithm, envs, UPDATES[algo], num_steps=16)

    states = {
        "constant": [0.0],
        "observed": [-1.0, 1.0],
        "delayed": [0.0, 1.0],
        "acted": [0.0],
        "matched": [-1.0, 1.0],
    }[probe]
    obs = {"obs": np.float32(states)[:, None]}
    values = policy.values(obs)
    if probe in ("constant", "observed", "delayed"):
        known = {"constant": [1.0], "observed": [-1.0, 1.0], "delayed": [GAMMA, 1.0]}[probe]
        np.testing.assert_allclose(values, known, atol=0.05)
        return
    signs = np.array(states) if probe == "matched" else np.ones(1)
    best = policy.spec.action.to_env(policy.greedy(obs, None))
    if actions == "discrete":
        np.testing.assert_array_equal(best, signs > 0)
    else:
        np.testing.assert_allclose(best[:, 0], TARGET * signs, atol=0.1)
    # The critic values the policy as it is, noise included.
    for state, value in zip(states, values, strict=True):
        many = np.full(20_000, state, np.float32)
        drawn = policy.act({"obs": many[:, None]}, None, np.random.default_rng(0))[0]
        expected = envs.reward(many, policy.spec.action.to_env(drawn)).mean()
        assert value == pytest.approx(expected, abs=0.1)
        assert expected > 0.75
