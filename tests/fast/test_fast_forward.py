"""The NumPy policy starts with torch's weights, draws torch's noise and gives torch's answers."""

import copy

import numpy as np
import pytest
from fast_pairs import NORMS, OBS, assert_close, make_pair, see

from probes import CASE_IDS, CASES, legal

pytestmark = pytest.mark.usefixtures("either_kernels")

every_case = pytest.mark.parametrize(("kind", "masked"), CASES, ids=CASE_IDS)
ACTIVATIONS = ("tanh", "relu", "elu", "gelu", "silu", "leaky_relu")
# Sums in another order: a few units in the last place of numbers around 1.
ROUNDING = {"rtol": 2e-6, "atol": 3e-6}


def feed_statistics(pair) -> None:
    """Running statistics that are not the neutral ones of the start."""
    for policy in pair:
        policy.observe(see(policy.spec, 50, seed=3)[0])
    returns = np.float32([3.0, -1.0, 8.0, 2.5])
    torchs, fast = pair
    if torchs.value_norm is not None:
        torchs.value_norm.observe(returns, torchs.value_head)
        fast.observe_returns(returns)


def assert_same_answers(pair, masked: bool) -> None:
    torchs, fast = pair
    obs, masks = see(torchs.spec, 64, seed=1)
    if not masked:
        masks = None
    theirs = torchs.act(obs, masks, np.random.default_rng(5))[:3]
    ours = fast.act(obs, masks, np.random.default_rng(5))[:3]
    for one, other in zip(theirs, ours, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(other, one, **ROUNDING)
    np.testing.assert_allclose(fast.greedy(obs, masks), torchs.greedy(obs, masks), **ROUNDING)
    np.testing.assert_allclose(fast.values(obs), torchs.values(obs), **ROUNDING)


@every_case
@pytest.mark.parametrize("obs", OBS)
@pytest.mark.parametrize("shared", [False, True])
def test_every_head_and_observation(kind, masked, obs, shared):
    assert_same_policy(make_pair(kind, masked, obs, shared=shared, **NORMS["popart"]), masked)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("obs", OBS)
@pytest.mark.parametrize("shared", [False, True])
def test_every_normaliser(norm, obs, shared):
    assert_same_policy(make_pair("squashed", False, obs, shared=shared, **NORMS[norm]), False)


def assert_same_policy(pair, masked: bool) -> None:
    assert pair[0].spec == pair[1].spec
    assert pair[0].metadata() == pair[1].metadata()
    assert_close(pair[0].arrays(), pair[1].arrays(), rtol=0, atol=0)
    feed_statistics(pair)
    assert_close(pair[0].arrays(), pair[1].arrays(), rtol=1e-6, atol=1e-7)
    assert_same_answers(pair, masked)


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("shared", [None, True])
@pytest.mark.parametrize("hidden", [(5,), (16, 12, 8)])
def test_every_activation_and_depth(activation, shared, hidden):
    pair = make_pair("multi_discrete", activation=activation, shared=shared, hidden=hidden)
    assert_same_answers(pair, masked=False)


@pytest.mark.parametrize("kind", ["discrete", "multi_discrete", "multi_binary"])
def test_illegal_actions_are_never_taken(kind):
    _, policy = make_pair(kind, True)
    rng = np.random.default_rng(0)
    for seed in range(50):
        obs, masks = see(policy.spec, 32, seed)
        for actions in (policy.act(obs, masks, rng)[0], policy.greedy(obs, masks)):
            assert legal(masks, actions, policy.spec.action.nvec).all()


def test_answers_are_copies_that_later_calls_do_not_touch():
    _, policy = make_pair("box", normalize_values="none")
    obs, other = see(policy.spec, 6, 1)[0], see(policy.spec, 6, 2)[0]
    rng = np.random.default_rng(0)
    first = (*policy.act(obs, None, rng)[:3], policy.values(obs), policy.greedy(obs, None))
    kept = [array.copy() for array in first]
    policy.act(other, None, rng)
    policy.values(other)
    policy.greedy(other, None)
    for array, copied in zip(first, kept, strict=True):
        np.testing.assert_array_equal(array, copied)


def test_many_batch_sizes_do_not_pile_up():
    _, policy = make_pair()
    for count in range(1, 60):
        policy.values(see(policy.spec, count)[0])
    assert len(policy._kept) <= 8


def test_observations_are_left_as_they_were():
    _, policy = make_pair(obs="dict", normalize_obs="running")
    obs = see(policy.spec, 9)[0]
    kept = copy.deepcopy(obs)
    policy.act(obs, None, np.random.default_rng(0))
    policy.observe(obs)
    assert_close(kept, obs, rtol=0, atol=0)


def test_weights_that_diverged_give_nan_and_no_warning():
    for kind in ("discrete", "squashed"):
        _, policy = make_pair(kind)
        policy.parameters.values[::3] = np.inf
        policy.parameters.values[1::3] = np.nan
        obs = see(policy.spec, 4)[0]
        assert np.isnan(policy.act(obs, None, np.random.default_rng(0))[1]).all()
        policy.greedy(obs, None)
        assert not np.isfinite(policy.values(obs)).any()
