"""The bound's arithmetic, by hand."""

import pytest

from benchmarks.limit import bound, dense_products
from benchmarks.throughput import rates


def test_actor_and_critic_have_three_products_each():
    assert dense_products(4, 2) == [(4, 64), (64, 64), (64, 2), (4, 64), (64, 64), (64, 1)]


def test_the_bound_adds_environment_acting_and_learning():
    measured = {"env_seconds": 2e-5, "act_seconds": 8e-5, "minibatch_seconds": 2e-3}
    task = {"num_envs": 8, "num_epochs": 4, "batch_size": 256}
    # 10 µs on two cores, 10 µs of acting, 4 × 2 ms / 256 = 31.25 µs of learning
    assert bound(measured, task, cores=2) == pytest.approx(1 / 51.25e-6)


def test_the_environments_own_time_is_taken_off():
    told = rates({"env_steps": 1000, "seconds": 2.0, "env_step_seconds": 0.001})
    assert told["steps_per_second"] == 500.0
    assert told["without_env"] == 1000.0


def test_nothing_is_said_where_the_environments_time_is_unknown_or_all_of_it():
    assert rates({"env_steps": 10, "seconds": 1.0, "env_step_seconds": None})["without_env"] is None
    assert rates({"env_steps": 10, "seconds": 1.0, "env_step_seconds": 0.2})["without_env"] is None
    assert rates({"error": "no wheel"}) == {"error": "no wheel"}
