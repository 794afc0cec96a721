"""Losses, diagnostics and the averaging of metrics."""

import json
import math

import numpy as np
import pytest
import torch

from gymsolve.algos.losses import divergence, value_loss, value_targets
from gymsolve.experience.credit import Credited
from gymsolve.experience.learning import explained_variance, hyperparameters
from gymsolve.settings.config import PPOConfig
from gymsolve.settings.schedules import Progress
from gymsolve.training.records import Averager
from probes import START, gather, make_algorithm, make_case, make_policy, make_spec


def test_huber_is_quadratic_near_and_linear_far_and_meets_mse_near_zero():
    gaps = torch.linspace(-5, 5, 101)
    zero = torch.zeros(101)
    mse = value_loss(PPOConfig(), gaps, zero)
    torch.testing.assert_close(mse, 0.5 * gaps**2)
    huber = value_loss(PPOConfig(value_loss="huber", huber_delta=2.0), gaps, zero)
    near = gaps.abs() <= 2.0
    torch.testing.assert_close(huber[near], mse[near])
    torch.testing.assert_close(huber[~near], 2.0 * (gaps[~near].abs() - 1.0))


def test_explained_variance():
    target = np.random.default_rng(0).normal(5, 2, 400).astype(np.float32)
    assert explained_variance(target, target) == pytest.approx(1.0)
    assert explained_variance(np.full_like(target, 99.0), target) == pytest.approx(0.0, abs=1e-6)
    assert explained_variance(-target, target) == pytest.approx(-3.0, rel=1e-5)  # errors have 4× the variance
    assert explained_variance(target + 7, target) == pytest.approx(1.0, abs=1e-5)  # a constant is no variance


@pytest.mark.parametrize("value", [0.0, 0.1, -7.7])
def test_explained_variance_is_unknown_when_nothing_varies(value):
    target = np.full(37, value, np.float32)
    assert math.isnan(explained_variance(np.zeros(37, np.float32), target))
    assert math.isnan(explained_variance(target[:0], target[:0]))


def test_divergence_estimates_the_kl_and_counts_clipped_ratios():
    old, new = torch.distributions.Normal(0.0, 1.0), torch.distributions.Normal(0.3, 1.1)
    x = torch.from_numpy(np.random.default_rng(0).normal(size=400_000))
    kl, clipped = divergence(new.log_prob(x) - old.log_prob(x), 0.2)
    exact = torch.distributions.kl_divergence(old, new)
    assert float(kl) == pytest.approx(float(exact), rel=0.02)
    ratio = (new.log_prob(x) - old.log_prob(x)).exp()
    assert float(clipped) == pytest.approx(float(((ratio > 1.2) | (ratio < 0.8)).double().mean()), abs=1e-6)
    assert float(divergence(torch.zeros(5), 0.2)[0]) == 0.0


def test_targets_are_in_the_units_the_value_head_predicts_in():
    policy = make_policy(make_spec(), normalize_values="running")
    returns = np.random.default_rng(0).normal(300, 50, 200).astype(np.float32)
    targets = value_targets(policy, Credited(returns, returns, returns)).numpy()
    assert abs(targets.mean()) < 1e-4
    assert targets.std() == pytest.approx(1.0, rel=1e-4)
    np.testing.assert_allclose(policy.real_values(torch.from_numpy(targets), {}).numpy(), returns, rtol=1e-5)


def test_every_schedulable_value_in_force_is_reported():
    config = PPOConfig.model_validate({"learning_rate": "1 -> 0", "target_kl": 0.5})
    found = hyperparameters(config, Progress(25, 100))
    assert found["hyper/learning_rate"] == 0.75
    assert found["hyper/target_kl"] == 0.5
    assert "hyper/clip_value" not in found
    assert {"hyper/gamma", "hyper/gae_lambda", "hyper/ent_coef", "hyper/clip_coef"} < found.keys()


@pytest.mark.parametrize("name", ["a2c", "reinforce"])
def test_how_far_a_step_moved_the_policy_is_measured_before_the_normaliser_moves(name):
    envs, policy = make_case("discrete", normalize_obs="running", batch_norm=True, policy_gain=2.0)
    rollout = gather(envs, policy, 32)
    options = {"learning_rate": 0.0, "normalize_advantages": "none"}
    metrics = make_algorithm(name, policy, **options).update(rollout, START, np.random.default_rng(0))
    assert metrics["train/approx_kl"] == pytest.approx(0.0, abs=1e-6)
    assert metrics["train/clip_fraction"] == 0.0
    assert metrics["train/first_ratio"] == pytest.approx(1.0, abs=1e-5)


def test_averager_averages_updates_and_keeps_the_latest_of_the_rest():
    averager = Averager()
    averager.add({"train/loss": 1.0, "train/explained_variance": float("nan"), "hyper/gamma": 0.9})
    averager.add({"train/loss": 3.0, "train/explained_variance": 0.5, "hyper/gamma": 0.8, "time/fps": 7.0})
    copied = Averager()
    copied.load({}, json.loads(json.dumps(averager.state())))
    expected = {"train/loss": 2.0, "train/explained_variance": 0.5, "hyper/gamma": 0.8, "time/fps": 7.0}
    assert averager.take() == copied.take() == expected
    assert averager.take() == {}
    averager.add({"train/loss": 5.0})
    assert averager.take() == {"train/loss": 5.0}
    averager.add({"train/explained_variance": float("nan")})
    assert averager.take() == {}
