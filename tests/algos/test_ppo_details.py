"""The parts of PPO that a user can switch and watch."""

import numpy as np
import pytest
import torch

from gymsolve.settings.config import PPOConfig
from gymsolve.settings.schedules import Progress
from probes import (
    START,
    RandomEnvs,
    gather,
    make_algorithm,
    make_case,
    make_policy,
    make_spec,
    same_arrays,
    train,
)


def unique_rows(policy):
    """Observations of every call of `evaluate`, as they are made."""
    seen, inner = [], policy.evaluate

    def spy(minibatch):
        seen.append(minibatch.obs["obs"][:, 0].numpy().copy())
        return inner(minibatch)

    policy.evaluate = spy
    return seen


@pytest.mark.parametrize("num_minibatches", [1, 3, 7])
def test_minibatches_cover_every_valid_step_once_per_epoch(num_minibatches):
    envs, policy = make_case("discrete", envs={"next_step": True})
    rollout = gather(envs, policy, 15)
    assert not rollout.valid.all()
    seen = unique_rows(policy)
    algorithm = make_algorithm("ppo", policy, num_epochs=3, num_minibatches=num_minibatches)
    metrics = algorithm.update(rollout, START, np.random.default_rng(0))
    assert metrics["train/gradient_steps"] == len(seen) == 3 * num_minibatches
    expected = np.sort(rollout.obs["obs"][rollout.valid][:, 0])
    orders = []
    for epoch in range(3):
        parts = seen[epoch * num_minibatches : (epoch + 1) * num_minibatches]
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
        orders.append(np.concatenate(parts))
        np.testing.assert_array_equal(np.sort(orders[-1]), expected)
    assert not np.array_equal(orders[0], orders[1])


def test_more_minibatches_than_valid_steps_leave_none_empty():
    envs, policy = make_case("discrete", envs={"next_step": True, "ends": 0.5, "cuts": 0.4})
    rollout = gather(envs, policy, 4)
    assert rollout.env_steps < 16
    algorithm = make_algorithm("ppo", policy, num_minibatches=16, num_epochs=2)
    metrics = algorithm.update(rollout, START, np.random.default_rng(0))
    assert metrics["train/gradient_steps"] == 2 * rollout.env_steps
    assert all(np.isfinite(array).all() for array in policy.arrays().values())


@pytest.mark.parametrize("name", ["ppo", "a2c", "reinforce"])
def test_a_rollout_of_nothing_but_resets_teaches_nothing(name):
    envs, policy = make_case("discrete", normalize_obs="running", normalize_values="popart", batch_norm=True)
    rollout = gather(envs, policy, 1)
    rollout.valid[:] = False
    before = policy.arrays()
    make_algorithm(name, policy).update(rollout, START, np.random.default_rng(0))
    assert same_arrays(policy.arrays(), before)


def test_the_kl_limit_ends_the_current_update_and_no_other():
    envs, policy = make_case("discrete", envs={"num_envs": 16})
    algorithm = make_algorithm(
        "ppo", policy, target_kl=0.01, learning_rate=0.02, num_epochs=20, num_minibatches=4
    )
    found = train(algorithm, envs, updates=4, num_steps=16)
    for metrics in found:
        assert metrics["train/kl_stopped"] == 1.0
        assert 1 <= metrics["train/gradient_steps"] < 80
        assert metrics["train/first_ratio"] == pytest.approx(1.0, abs=1e-5)
        # What was measured and acted upon is what is reported, the last minibatch included.
        assert metrics["train/approx_kl"] > 0


def test_one_leap_beyond_the_kl_limit_is_not_reported_as_standing_still():
    envs, policy = make_case("discrete", envs={"num_envs": 16})
    options = {"target_kl": 0.01, "desired_kl": 0.01, "learning_rate": 3.0, "num_minibatches": 1}
    algorithm = make_algorithm("ppo", policy, **options)
    (metrics,) = train(algorithm, envs, updates=1, num_steps=16)
    assert metrics["train/gradient_steps"] == 1
    assert metrics["train/approx_kl"] > 0.01
    assert algorithm.rate_factor < 1.0


@pytest.mark.parametrize("passes", [{"num_epochs": 1, "num_minibatches": 1}, {"num_epochs": 4}])
@pytest.mark.parametrize(("rate", "direction"), [(1e-6, 1.5), (1.0, 1 / 1.5)])
def test_the_adaptive_rate_seeks_the_desired_kl(passes, rate, direction):
    envs, policy = make_case("discrete", envs={"num_envs": 16})
    algorithm = make_algorithm("ppo", policy, desired_kl=0.01, learning_rate=rate, **passes)
    first, second = train(algorithm, envs, updates=2, num_steps=16)
    assert first["hyper/learning_rate"] == pytest.approx(rate)
    assert second["hyper/learning_rate"] == pytest.approx(rate * direction)
    twin = make_algorithm("ppo", policy, desired_kl=0.01, learning_rate=rate)
    twin.load({}, algorithm.state())
    assert twin.rate_factor == algorithm.rate_factor != 1.0


def test_without_a_desired_kl_the_rate_is_the_scheduled_one():
    envs, policy = make_case("discrete")
    found = train(make_algorithm("ppo", policy, learning_rate="1e-3 -> 0"), envs, updates=4, num_steps=8)
    assert [m["hyper/learning_rate"] for m in found] == pytest.approx([1e-3, 7.5e-4, 5e-4, 2.5e-4])


def test_value_clipping_and_the_kl_limits_are_off_by_default():
    defaults = PPOConfig()
    assert (defaults.clip_value, defaults.target_kl, defaults.desired_kl) == (None, None, None)


def test_equal_advantages_do_not_move_the_policy():
    spec = make_spec()
    policy = make_policy(spec, shared=False, policy_gain=1.0)
    rollout = gather(RandomEnvs(spec), policy, 16)
    rollout.terminated[:] = True
    rollout.truncated[:] = False
    rollout.values[:] = 0.0
    rollout.rewards[:] = 0.1
    before = policy.arrays()
    options = {"vf_coef": 0.0, "optimizer": {"name": "sgd"}, "learning_rate": 1.0}
    make_algorithm("ppo", policy, **options).update(rollout, START, np.random.default_rng(0))
    after = policy.arrays()
    for name in before:
        np.testing.assert_allclose(after[name], before[name], atol=1e-6)


def test_the_number_of_epochs_can_be_scheduled():
    envs, policy = make_case("discrete")
    algorithm = make_algorithm("ppo", policy, num_epochs="4 -> 2", num_minibatches=2)
    rollout = gather(envs, policy, 8)
    counts = [
        algorithm.update(rollout, Progress(step, 100), np.random.default_rng(0))["train/gradient_steps"]
        for step in (0, 50, 100)
    ]
    assert counts == [8, 6, 4]


def test_a_gradient_is_never_longer_than_its_limit():
    envs, policy = make_case("discrete")
    options = {"max_grad_norm": 0.01, "optimizer": {"name": "sgd"}, "learning_rate": 1.0}
    algorithm = make_algorithm("ppo", policy, num_epochs=1, num_minibatches=1, **options)
    before = torch.cat([p.detach().flatten().clone() for p in policy.parameters()])
    metrics = algorithm.update(gather(envs, policy, 16), START, np.random.default_rng(0))
    after = torch.cat([p.detach().flatten() for p in policy.parameters()])
    assert float((after - before).norm()) == pytest.approx(0.01, rel=1e-3)
    assert metrics["train/grad_norm"] > 0.01  # before it was shortened
