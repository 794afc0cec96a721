"""The catalogue: every name once, bounds that follow from settings and spaces, strangers refused."""

import dataclasses
import math

import numpy as np
import pytest
from stories import make_config, make_spec

from gymsolve.errors import UndeclaredMetricError
from gymsolve.extensions.scaling import RewardScaler
from gymsolve.metrics.catalog import (
    CATALOG,
    GROUPS,
    by_priority,
    chart_bounds,
    derived_bounds,
    find_metric,
    hard_bounds,
    max_entropy,
    require_declared,
    undeclared,
)
from gymsolve.spec import ActionSpec, EnvSpec, ObsSpec


def test_names_are_unique_and_prefixed_by_topic():
    names = [metric.name for group in GROUPS for metric in group.metrics]
    assert len(names) == len(set(names))
    plain = {"env_steps", "vec_steps", "updates", "progress", "solved"}
    assert {name for name in names if "/" not in name} == plain


def test_a_stranger_is_refused_with_the_nearest_name():
    require_declared({"env_steps": 1, "train/loss": 0.5, "action/share_3": 0.2, "reward/survival": 0.4})
    require_declared({"reward_share/survival": 0.1})
    with pytest.raises(UndeclaredMetricError, match=r"'train/aprox_kl' is not in the .*'train/approx_kl'"):
        require_declared({"env_steps": 1, "train/aprox_kl": 0.5})
    assert undeclared(["train/loss", "foo", "train/foo"]) == ["foo", "train/foo"]


def test_patterns_stand_for_all_names_with_their_prefix():
    found = find_metric("action/share_17")
    assert found is not None
    assert found.name == "action/share_<k>"
    assert find_metric("action/sharp") is None


def test_what_matters_most_is_shown_first():
    shown = by_priority(["hyper/gamma", "train/value_loss", "unknown", "rollout/ep_rew_mean", "env_steps"])
    assert shown == ["env_steps", "rollout/ep_rew_mean", "train/value_loss", "hyper/gamma", "unknown"]


def test_hard_bounds_are_sane():
    assert hard_bounds()["progress"] == (0, 1)
    assert hard_bounds()["train/explained_variance"] == (-math.inf, 1)
    assert all(low < high for low, high in hard_bounds().values())
    assert set(hard_bounds()) <= set(CATALOG)


def test_the_spread_of_scaled_rewards_is_bounded_by_what_the_scaler_clips_to():
    limit = derived_bounds(make_config(algo={"normalize_rewards": True}), make_spec())["rollout/reward_std"][
        1
    ]
    scaler = RewardScaler(1)
    scaler.count = 1e12  # of so many rewards that a burst hardly moves the statistics
    burst = np.where(np.arange(64) % 2, 1e6, -1e6)[:, None]  # [T, 1]
    scaled = scaler.scale(burst, np.zeros((64, 1), bool), np.ones((64, 1), bool), 0.0)
    assert np.std(scaled) == pytest.approx(limit)
    assert "rollout/reward_std" not in derived_bounds(make_config(), make_spec())


def test_the_largest_entropy_counts_legal_choices_only():
    assert max_entropy(make_spec()) == pytest.approx(math.log(4))
    assert max_entropy(make_spec(legal=(True, True, False, False))) == pytest.approx(math.log(2))
    assert max_entropy(make_spec("box")) is None
    parts = EnvSpec("x", {}, ActionSpec("multi_discrete", (2,), nvec=(3, 5), start=(0, 0)))
    assert max_entropy(parts) == pytest.approx(math.log(15))


def test_bounds_follow_from_settings_and_spaces():
    bounds = derived_bounds(make_config(), make_spec())
    assert bounds["train/entropy"][1] == pytest.approx(math.log(4), rel=0.01)
    assert bounds["rollout/ep_len_mean"] == bounds["eval/mean_ep_length"] == (0.0, 500.0)
    assert bounds["action/mean"] == pytest.approx((0.0, 3.0), abs=1e-3)
    box = derived_bounds(make_config(), make_spec("box"))
    assert "train/entropy" not in box
    assert box["action/mean"] == pytest.approx((-1.0, 1.0), abs=1e-3)
    assert box["action/std"] == pytest.approx((0.0, 1.0), abs=1e-3)


def test_a_time_limit_in_training_alone_does_not_bound_evaluation():
    config = make_config(env={"wrappers": [{"time_limit": {"max_steps": 500, "roles": ["train"]}}]})
    bounds = derived_bounds(config, make_spec())
    assert "rollout/ep_len_mean" in bounds
    assert "eval/mean_ep_length" not in bounds


def test_without_spaces_little_is_known():
    assert derived_bounds(make_config(), None) == {}
    limited = derived_bounds(make_config(env={"max_episode_steps": 50}), None)
    assert limited == {"rollout/ep_len_mean": (0.0, 50.0)}


@pytest.mark.parametrize(
    ("kind", "net", "obs", "expected"),
    [
        ("discrete", "none", "vector", {"train/entropy": (0.0, math.log(4)), "action/mean": (0.0, 3.0)}),
        ("box", "none", "vector", {"action/mean": (-1.0, 1.0)}),
        ("box", "running", "vector", {"action/mean": (-1.0, 1.0), "obs/mean": (-10.0, 10.0)}),
        ("box", "none", "image", {"action/mean": (-1.0, 1.0), "obs/mean": (0.0, 1.0)}),
    ],
)
def test_charts_run_over_what_the_spaces_allow(kind, net, obs, expected):
    found = chart_bounds(make_config(net={"normalize_obs": net}), make_spec(kind, obs=obs))
    found.pop("policy/entropy_relative", None)
    assert found == expected


def test_a_declared_box_is_the_range_of_observations_unless_it_is_absurdly_large():
    for high, known in ((5.0, True), (3.4e38, False)):
        entry = ObsSpec("vector", (2,), "float32", low=(-1.0, -high), high=(1.0, high))
        spec = dataclasses.replace(make_spec(), obs={"obs": entry})
        assert chart_bounds(make_config(), spec).get("obs/mean") == ((-high, high) if known else None)
        scaled = chart_bounds(make_config(net={"normalize_obs": "bounds"}), spec)
        assert scaled["obs/mean"] == (-1.0, 1.0)
