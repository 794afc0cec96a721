"""Running statistics and reward scaling against NumPy over all data."""

import json

import numpy as np
import pytest

from gymsolve.experience.moments import merge_moments
from gymsolve.extensions.scaling import RewardScaler


def test_merged_moments_are_those_of_all_the_data():
    rng = np.random.default_rng(0)
    data = rng.normal([1e4, -3.0], [2.0, 50.0], (1000, 2)).astype(np.float32)
    mean, var, count = np.zeros(2), np.ones(2), 0.0
    for part in np.split(data, [1, 3, 200, 200, 999]):  # one of them empty
        mean, var, count = merge_moments(mean, var, count, part)
    wide = data.astype(np.float64)
    assert count == 1000
    np.testing.assert_allclose(mean, wide.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(var, wide.var(axis=0), rtol=1e-9)


def brute_sums(rewards, done, gamma):
    """Discounted sum of all rewards of the episode so far, at every step."""
    out = np.zeros(rewards.shape)
    for n in range(rewards.shape[1]):
        begin = 0
        for t in range(len(rewards)):
            out[t, n] = sum(gamma ** (t - k) * rewards[k, n] for k in range(begin, t + 1))
            begin = t + 1 if done[t, n] else begin
    return out


@pytest.mark.parametrize("resumed", [False, True])
def test_rewards_are_divided_by_the_spread_of_discounted_sums_over_all_rollouts(resumed):
    rng = np.random.default_rng(1)
    rewards = (5 * rng.normal(1, 2, (60, 3))).astype(np.float32)
    done = rng.random((60, 3)) < 0.1
    valid = np.ones((60, 3), bool)
    sums = brute_sums(rewards.astype(np.float64), done, 0.97)
    scaler = RewardScaler(3)
    for begin in range(0, 60, 20):
        rows = slice(begin, begin + 20)
        found = scaler.scale(rewards[rows], done[rows], valid[rows], 0.97)
        spread = sums[: begin + 20].std()
        np.testing.assert_allclose(found, rewards[rows] / spread, rtol=1e-5)
        if resumed:
            state = json.loads(json.dumps(scaler.state()))
            scaler = RewardScaler(3)
            scaler.load({}, state)


def test_rewards_beyond_ten_spreads_are_limited():
    rewards = np.zeros((500, 1), np.float32)
    rewards[250] = 1000.0
    every = np.ones((500, 1), bool)
    found = RewardScaler(1).scale(rewards, every, every, 0.9)
    assert found[250, 0] == 10.0
    assert found.sum() == 10.0


def test_rows_spent_on_resets_do_not_count():
    rng = np.random.default_rng(2)
    rewards = rng.normal(size=(40, 2)).astype(np.float32)
    done = rng.random((40, 2)) < 0.2
    valid = np.ones((40, 2), bool)
    valid[1:] = ~done[:-1]
    done &= valid
    poisoned = np.where(valid, rewards, np.nan)
    clean = np.where(valid, rewards, 0.0).astype(np.float32)
    one, other = RewardScaler(2), RewardScaler(2)
    expected = one.scale(clean, done, valid, 0.9)
    found = other.scale(poisoned, done, valid, 0.9)
    np.testing.assert_array_equal(found[valid], expected[valid])
    assert one.state() == other.state()
    assert one.count == valid.sum()
