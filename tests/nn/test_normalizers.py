"""Normalisers equal statistics over all data, move only when told, and keep what they must keep."""

import numpy as np
import pytest
import torch
from torch import nn

from gymsolve.nn.normalize import BoundsNorm, RunningNorm, ValueNorm
from probes import evaluate_steps, make_policy, make_spec, vector


def test_running_norm_is_numpys_mean_and_variance_over_all_data():
    data = np.random.default_rng(0).normal([500.0, -1.0, 0.0], [3.0, 0.01, 9.0], (999, 3)).astype(np.float32)
    norm = RunningNorm((3,))
    for part in np.split(data, [10, 400, 401]):
        norm.observe(part)
    wide = data.astype(np.float64)
    np.testing.assert_allclose(norm.mean.numpy(), wide.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(norm.var.numpy(), wide.var(axis=0), rtol=1e-9)
    expected = np.clip((wide - wide.mean(axis=0)) / wide.std(axis=0), -10, 10)
    np.testing.assert_allclose(norm(torch.from_numpy(data)).numpy(), expected, atol=5e-4)


def test_running_norm_changes_nothing_before_data_and_limits_outliers_after():
    norm = RunningNorm((2,))
    x = torch.tensor([[0.5, -3.0]])
    torch.testing.assert_close(norm(x), x)
    norm.observe(np.random.default_rng(0).normal(size=(100, 2)).astype(np.float32))
    torch.testing.assert_close(norm(torch.tensor([[1e9, -1e9]])), torch.tensor([[10.0, -10.0]]))


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("method", ["act", "greedy", "values", "evaluate"])
def test_only_observe_moves_statistics_and_moves_them_once(shared, method):
    policy = make_policy(make_spec(), normalize_obs="running", batch_norm=True, shared=shared)
    data = np.random.default_rng(0).normal(3, 2, (64, 3)).astype(np.float32)
    policy.observe({"obs": data})
    before = policy.arrays()
    policy.gradient_mode(True)
    if method == "evaluate":
        evaluate_steps(policy, policy.tensors({"obs": data}), torch.zeros(64, 1, dtype=torch.int64), None)
    elif method == "act":
        policy.act({"obs": data}, None, np.random.default_rng(0))
    else:
        getattr(policy, method)(*([{"obs": data}] if method == "values" else [{"obs": data}, None]))
    after = policy.arrays()
    assert all(np.array_equal(before[name], after[name]) for name in before)
    norms = [m for m in policy.modules() if isinstance(m, RunningNorm)]
    assert len(norms) == (1 if shared else 2)
    for norm in norms:  # actor and critic see the same statistics, counted once each
        assert float(norm.count) == 64
        np.testing.assert_allclose(norm.mean.numpy(), data.mean(axis=0, dtype=np.float64))


def test_bounds_map_to_plus_minus_one_and_missing_bounds_change_nothing():
    norm = BoundsNorm(vector(3, low=(-1.0, 0.0, 5.0), high=(3.0, 10.0, 5.0)))
    found = norm(torch.tensor([[-1.0, 0.0, 5.0], [3.0, 10.0, 5.0], [1.0, 5.0, 5.0]]))
    torch.testing.assert_close(found[:, :2], torch.tensor([[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0]]))
    assert torch.isfinite(found).all()
    x = torch.randn(4, 3)
    torch.testing.assert_close(BoundsNorm(vector(3))(x), x)


def test_value_norm_is_the_debiased_decaying_average_of_returns():
    norm, head = ValueNorm(preserve=False, decay=0.9), nn.Linear(4, 1)
    assert norm.units() == (0.0, 1.0)
    rng = np.random.default_rng(0)
    batches = [rng.normal(50, 7, 30).astype(np.float32) for _ in range(5)]
    for batch in batches:
        norm.observe(batch, head)
    weights = np.array([0.9**k for k in range(4, -1, -1)])
    weights /= weights.sum()
    mean = sum(w * b.mean(dtype=np.float64) for w, b in zip(weights, batches, strict=True))
    square = sum(w * np.square(b, dtype=np.float64).mean() for w, b in zip(weights, batches, strict=True))
    np.testing.assert_allclose(norm.units(), (mean, np.sqrt(square - mean**2)), rtol=1e-9)
    x = torch.tensor([1.0, 60.0])
    torch.testing.assert_close(norm.denormalize(norm.normalize(x)), x)


@pytest.mark.parametrize(("name", "stay"), [("popart", True), ("running", False)])
def test_popart_keeps_predictions_as_units_move(name, stay):
    policy = make_policy(make_spec(), normalize_values=name)
    obs = {"obs": np.random.default_rng(0).normal(size=(10, 3)).astype(np.float32)}
    for low, high in ((100, 130), (-900, 5000), (0, 0.1)):
        before = policy.values(obs)
        returns = np.random.default_rng(1).uniform(low, high, 50).astype(np.float32)
        policy.value_norm.observe(returns, policy.value_head)
        unchanged = np.allclose(policy.values(obs), before, rtol=1e-3, atol=1e-3)
        assert unchanged == stay


def test_batch_norm_acts_on_statistics_refreshed_between_rollouts_only():
    policy = make_policy(make_spec(), batch_norm=True)
    data = {"obs": np.random.default_rng(0).normal(5, 3, (256, 3)).astype(np.float32)}
    norm = next(m for m in policy.actor if isinstance(m, nn.BatchNorm1d))
    linear = policy.actor[0]
    for _ in range(200):
        policy.observe(data)
    with torch.no_grad():
        hidden = linear(torch.from_numpy(data["obs"]))
    torch.testing.assert_close(norm.running_mean, hidden.mean(dim=0), rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(norm.running_var, hidden.var(dim=0), rtol=1e-3, atol=1e-3)
    # A row's value does not depend on the rows beside it.
    one, all_ = policy.values({"obs": data["obs"][:1]}), policy.values(data)
    np.testing.assert_allclose(one[0], all_[0], atol=1e-5)
    policy.observe({"obs": data["obs"][:1]})  # a single row has no variance and is left out
    torch.testing.assert_close(norm.running_var, hidden.var(dim=0), rtol=1e-3, atol=1e-3)


def test_dropout_is_active_in_gradient_passes_only():
    policy = make_policy(make_spec(), dropout=0.5)
    obs = {"obs": np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)}
    np.testing.assert_array_equal(policy.values(obs), policy.values(obs))
    policy.gradient_mode(True)
    assert not np.array_equal(policy.values(obs), policy.values(obs))
    policy.gradient_mode(False)
    np.testing.assert_array_equal(policy.values(obs), policy.values(obs))
