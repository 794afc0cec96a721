"""A policy of action values: ε-greedy among what is legal, by the run's own random numbers."""

import numpy as np
import pytest
import torch

from gymsolve.errors import ConfigError
from gymsolve.nn.q_policy import QPolicy
from gymsolve.registry import POLICIES, lookup
from gymsolve.settings.config import NetConfig
from probes import RandomEnvs, make_q_case, make_spec, same_arrays


def looked(masked: bool, count: int = 4000, **net):
    envs, policy = make_q_case(masked, envs={"num_envs": count}, **net)
    return policy, *envs.reset([0])


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_it_acts_as_it_says(masked, epsilon):
    policy, obs, masks = looked(masked)
    policy.set_epsilon(epsilon)
    acted = policy.act(obs, masks, np.random.default_rng(1))
    told = policy.consider(obs, masks, acted.actions)
    legal = np.ones((4000, 5), bool) if masks is None else masks
    best = policy.greedy(obs, masks)[:, 0]
    values = policy(policy.tensors(obs), None).detach().numpy()
    np.testing.assert_array_equal(best, np.where(legal, values, -np.inf).argmax(axis=1))
    assert legal[np.arange(4000), acted.actions[:, 0]].all()
    np.testing.assert_allclose(acted.values, np.where(legal, values, -np.inf).max(axis=1), rtol=1e-6)
    np.testing.assert_allclose(told.values, acted.values)
    np.testing.assert_allclose(told.params.sum(axis=1), 1.0, rtol=1e-5)
    assert (told.params[~legal] == 0).all()
    chosen = told.params[np.arange(4000), acted.actions[:, 0]]
    np.testing.assert_allclose(acted.log_probs, np.log(chosen), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(told.log_probs, acted.log_probs)
    expected = epsilon / legal.sum(axis=1) + (1 - epsilon)
    assert (acted.actions[:, 0] == best).mean() == pytest.approx(expected.mean(), abs=0.03)
    safe = np.where(told.params > 0, told.params, 1.0)
    np.testing.assert_allclose(told.entropy, -(told.params * np.log(safe)).sum(axis=1), atol=1e-5)


def test_its_draws_come_from_the_given_stream_alone():
    policy, obs, masks = looked(True, 50)
    torch.manual_seed(0)
    one = policy.act(obs, masks, np.random.default_rng(3)).actions
    torch.manual_seed(1)
    np.testing.assert_array_equal(one, policy.act(obs, masks, np.random.default_rng(3)).actions)


def test_the_recipes_own_mask_always_counts():
    spec = make_spec()
    spec = type(spec)(spec.id, spec.obs, spec.action, legal=(False, True, False, True, False))
    policy = QPolicy(spec, NetConfig(hidden=(8,), policy_gain=1.0), np.random.default_rng(0))
    obs, _ = RandomEnvs(spec, 500).reset([0])
    policy.set_epsilon(1.0)
    assert set(policy.act(obs, None, np.random.default_rng(0)).actions.ravel()) == {1, 3}
    values = policy.q_head(policy.actor(policy.encoder(policy.tensors(obs)))).detach().numpy()
    np.testing.assert_allclose(policy.values(obs), values[:, [1, 3]].max(axis=1), rtol=1e-6)


def test_duelling_values_are_those_of_the_state_plus_what_actions_add():
    policy, obs, _ = looked(False, 50, duelling=True)
    features = policy.actor(policy.encoder(policy.tensors(obs)))
    values = policy.q_values(policy.tensors(obs), None)
    torch.testing.assert_close(values.mean(dim=1), policy.value_head(features)[:, 0])


@pytest.mark.parametrize("duelling", [False, True])
def test_it_is_rebuilt_from_its_file(duelling):
    policy, obs, masks = looked(True, 50, duelling=duelling, normalize_obs="running")
    policy.observe(obs)
    policy.set_epsilon(0.125)
    about = policy.metadata()
    twin = lookup(POLICIES, about["kind"], "policy").from_arrays(policy.arrays(), about)
    assert isinstance(twin, QPolicy)
    assert same_arrays(policy.arrays(), twin.arrays())
    assert float(twin.epsilon) == 0.125
    one, other = (each.act(obs, masks, np.random.default_rng(2)) for each in (policy, twin))
    np.testing.assert_array_equal(one.actions, other.actions)


@pytest.mark.parametrize(
    ("kind", "word"),
    [("multi_discrete", "MultiDiscrete"), ("multi_binary", "MultiBinary"), ("box", "Box")],
)
def test_other_action_spaces_are_refused_in_a_sentence(kind, word):
    with pytest.raises(ConfigError, match=rf"Discrete action space, and Random has {word}"):
        QPolicy(make_spec(kind), NetConfig(), None)


def test_its_first_values_are_near_zero():
    policy = QPolicy(make_spec(), NetConfig(), np.random.default_rng(0))
    obs, _ = RandomEnvs(policy.spec, 100).reset([0])
    assert np.abs(policy.values(obs)).max() < 0.05
