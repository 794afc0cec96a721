"""Tasks that memory solves and nothing else does, learned within seconds."""

import numpy as np
import pytest

from gymsolve.experience.agent import Agent
from memory_probes import FirstBit, RepeatPrevious
from probes import make_algorithm, make_policy, train

GAMMA = 0.9
LSTM, GRU = {"cell": "lstm", "size": 16}, {"cell": "gru", "size": 16}
OPTIONS = {
    "ppo": {"learning_rate": "1e-2 -> 2e-3", "ent_coef": 0.01, "num_minibatches": 2},
    "a2c": {"learning_rate": 1e-2, "normalize_advantages": "rollout", "optimizer": {"name": "adam"}},
    "reinforce": {"learning_rate": 2e-2},
}
UPDATES = {"ppo": 20, "a2c": 80, "reinforce": 30}


def learn(envs, algo, memory, updates):
    """Mean return of the last fifth of the episodes, and the policy."""
    policy = make_policy(envs.spec, hidden=(16,), cnn="small", memory=memory)
    algorithm = make_algorithm(algo, policy, gamma=GAMMA, **OPTIONS[algo])
    train(algorithm, envs, updates, num_steps=16 if algo == "a2c" else 24)
    return float(np.mean(envs.returns[-len(envs.returns) // 5 :])), policy


longer = pytest.mark.learn
"""Several seconds each, and more of the same."""


@pytest.mark.parametrize(
    ("algo", "memory"),
    [
        ("ppo", LSTM),
        ("a2c", LSTM),
        pytest.param("ppo", GRU, marks=longer),
        pytest.param("reinforce", LSTM, marks=longer),
    ],
)
def test_the_first_bit_is_remembered(algo, memory):
    envs = FirstBit(3)
    earned, policy = learn(envs, algo, memory, UPDATES[algo])
    assert earned > 0.95
    # The value of a step is the discount to the power of the steps that are left.
    agent, (obs, _) = Agent(policy, envs.num_envs), envs.reset([7])
    for left in range(4, -1, -1):
        np.testing.assert_allclose(agent.values(obs), GAMMA**left, atol=0.2)
        obs = envs.step(policy.spec.action.to_env(agent.choose(obs, None, None))).obs


def test_without_memory_the_first_bit_is_worth_nothing():
    envs = FirstBit(3)
    earned, policy = learn(envs, "ppo", None, UPDATES["ppo"])
    assert abs(earned) < 0.3
    asked = {"obs": np.float32([[0.0, 1.0]])}
    np.testing.assert_allclose(policy.values(asked), 0.0, atol=0.35)


def test_the_first_bit_is_remembered_from_a_picture_with_masks_and_a_dict():
    assert learn(FirstBit(2, dict_obs=True), "ppo", LSTM, 20)[0] > 0.95


@pytest.mark.parametrize(("memory", "least", "most"), [(LSTM, 0.9, 1.0), (None, -0.7, -0.3)])
def test_the_previous_category_is_repeated(memory, least, most):
    earned, _ = learn(RepeatPrevious(1, length=8), "ppo", memory, 30)
    assert least < earned <= most + 1e-6
