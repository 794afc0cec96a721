"""Advantages and returns against sums written out by hand, for ends of every kind anywhere."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gymsolve.experience.returns import finished, gae, monte_carlo, standardize
from gymsolve.spec import Array


@st.composite
def recordings(draw: st.DrawFn) -> dict[str, Any]:
    """A rollout in which every step may end, cut or continue its episode."""
    steps, envs = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = np.array(draw(st.lists(st.sampled_from("...te"), min_size=steps * envs, max_size=steps * envs)))
    kinds = kinds.reshape(steps, envs)
    rewards, values, next_values = rng.normal(size=(3, steps, envs))
    found = {"rewards": rewards, "values": values, "next_values": next_values}
    return found | {"terminated": kinds == "e", "truncated": kinds == "t"}


shares = st.floats(0.0, 1.0)


def brute_gae(r: dict[str, Any], gamma: float, lam: float) -> Array:
    steps, envs = r["rewards"].shape
    out = np.zeros((steps, envs))
    for n in range(envs):
        for t in range(steps):
            for k in range(t, steps):
                future = 0.0 if r["terminated"][k, n] else gamma * r["next_values"][k, n]
                delta = r["rewards"][k, n] + future - r["values"][k, n]
                out[t, n] += (gamma * lam) ** (k - t) * delta
                if r["terminated"][k, n] or r["truncated"][k, n]:
                    break
    return out


def brute_returns(r: dict[str, Any], gamma: float) -> Array:
    steps, envs = r["rewards"].shape
    out = np.zeros((steps, envs))
    for n in range(envs):
        for t in range(steps):
            for k in range(t, steps):
                out[t, n] += gamma ** (k - t) * r["rewards"][k, n]
                if r["terminated"][k, n]:
                    break
                if r["truncated"][k, n] or k == steps - 1:
                    out[t, n] += gamma ** (k - t + 1) * r["next_values"][k, n]
                    break
    return out


@given(recordings(), shares, shares)
def test_gae_is_the_discounted_sum_of_errors_up_to_the_episodes_end(r, gamma, lam):
    np.testing.assert_allclose(gae(**r, gamma=gamma, gae_lambda=lam), brute_gae(r, gamma, lam), atol=1e-12)


@given(recordings(), shares)
def test_returns_are_the_discounted_sum_of_rewards_up_to_the_episodes_end(r, gamma):
    ends = {"terminated": r["terminated"], "truncated": r["truncated"]}
    found = monte_carlo(r["rewards"], r["next_values"], **ends, gamma=gamma)
    np.testing.assert_allclose(found, brute_returns(r, gamma), atol=1e-12)


@given(recordings(), shares)
def test_with_lambda_one_a_consistent_critic_drops_out_of_advantage_plus_value(r, gamma):
    # Consistent: the successor's value is the next row's, wherever the episode goes on.
    goes_on = ~(r["terminated"] | r["truncated"])[:-1]
    r["next_values"][:-1] = np.where(goes_on, r["values"][1:], r["next_values"][:-1])
    found = gae(**r, gamma=gamma, gae_lambda=1.0) + r["values"]
    np.testing.assert_allclose(found, brute_returns(r, gamma), atol=1e-12)


@given(recordings(), shares, shares)
def test_one_trajectory_alone_gives_the_same_numbers_as_in_a_batch(r, gamma, lam):
    batch = gae(**r, gamma=gamma, gae_lambda=lam)
    ends = {"terminated": r["terminated"], "truncated": r["truncated"]}
    returns = monte_carlo(r["rewards"], r["next_values"], **ends, gamma=gamma)
    for n in range(r["rewards"].shape[1]):
        single = {key: array[:, n] for key, array in r.items()}
        np.testing.assert_array_equal(gae(**single, gamma=gamma, gae_lambda=lam), batch[:, n])
        single_ends = {key: array[:, n] for key, array in ends.items()}
        alone = monte_carlo(single["rewards"], single["next_values"], **single_ends, gamma=gamma)
        np.testing.assert_array_equal(alone, returns[:, n])


@given(recordings(), shares, shares, st.data())
def test_what_follows_a_reset_changes_nothing_before_it(r, gamma, lam, data):
    steps = len(r["rewards"])
    boundary = data.draw(st.integers(0, steps - 1))
    kind = data.draw(st.sampled_from(["terminated", "truncated"]))
    r["terminated"][boundary] = r["truncated"][boundary] = False
    r[kind][boundary] = True
    ends = ("terminated", "truncated")
    other = {key: array.copy() for key, array in r.items()}
    for key in ("rewards", "values", "next_values"):
        other[key][boundary + 1 :] += 1e6
    for key in ends:
        other[key][boundary + 1 :] = False
    if kind == "terminated":
        other["next_values"][boundary] = 1e6  # nor does the value of a state that nobody was in
    one, two = (gae(**x, gamma=gamma, gae_lambda=lam)[: boundary + 1] for x in (r, other))
    np.testing.assert_array_equal(one, two)
    one, two = (
        monte_carlo(x["rewards"], x["next_values"], x["terminated"], x["truncated"], gamma=gamma)
        for x in (r, other)
    )
    np.testing.assert_array_equal(one[: boundary + 1], two[: boundary + 1])


@given(recordings())
def test_finished_means_an_end_comes_at_or_after_the_step(r):
    done = r["terminated"] | r["truncated"]
    found = finished(r["terminated"], r["truncated"])
    for t, n in np.ndindex(done.shape):
        assert found[t, n] == done[t:, n].any()


def test_whole_numbered_rewards_keep_their_fractions():
    none = np.zeros(2, bool)
    found = monte_carlo(np.array([1, 1]), np.zeros(2), none, none, gamma=0.5)
    np.testing.assert_array_equal(found, [1.5, 1.0])


def test_float32_rollouts_give_float32_targets_of_double_quality():
    rng = np.random.default_rng(0)
    rewards, values, next_values = rng.normal(100, 1, (3, 2000, 2)).astype(np.float32)
    none = np.zeros(rewards.shape, bool)
    args = (none, none)
    found = gae(rewards, values, next_values, *args, gamma=0.999, gae_lambda=0.98)
    wide = (a.astype(np.float64) for a in (rewards, values, next_values))
    exact = gae(*wide, *args, gamma=0.999, gae_lambda=0.98)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, exact, rtol=1e-4)


def test_standardize_gives_mean_zero_and_spread_one():
    values = np.random.default_rng(0).normal(1000, 3, 501).astype(np.float32)
    found = standardize(values)
    assert found.dtype == np.float32
    exact = (values.astype(np.float64) - values.mean(dtype=np.float64)) / values.std(dtype=np.float64)
    np.testing.assert_allclose(found, exact, atol=1e-6)


@pytest.mark.parametrize("value", [0.0, 0.1, -0.3, 7.7, 1e3])
@pytest.mark.parametrize("count", [1, 2, 37, 1000])
def test_equal_advantages_become_zeros_and_not_magnified_rounding(value, count):
    assert np.abs(standardize(np.full(count, value, np.float32))).max() < 1e-4
