"""What the collector writes down is what happened."""

import numpy as np
import pytest

import late_resets
from gymsolve.envs.make import make_envs
from gymsolve.experience.collect import Collector
from gymsolve.settings.config import EnvConfig
from gymsolve.spec import ObsSpec
from probes import ACTIONS, RandomEnvs, make_policy, make_spec, vector

STEPS = 40


@pytest.fixture(params=[False, True], ids=["same_step", "next_step"])
def recorded(request):
    spec = make_spec(
        "multi_discrete", masked=True, obs={"a": vector(3), "b": ObsSpec("discrete", (), "int64", (7,))}
    )
    envs, policy = RandomEnvs(spec, next_step=request.param), make_policy(spec)
    collector = Collector(envs, policy, STEPS, 1)
    return envs, policy, collector.collect(np.random.default_rng(0))


def test_every_row_holds_the_observation_acted_on_and_what_came_of_it(recorded):
    envs, _, rollout = recorded
    for t, step in enumerate(envs.steps):
        for key in ("a", "b"):
            np.testing.assert_array_equal(rollout.obs[key][t], envs.given[t][key])
        for name in ("rewards", "terminated", "truncated", "valid"):
            np.testing.assert_array_equal(getattr(rollout, name)[t], getattr(step, name))
        if t:
            np.testing.assert_array_equal(rollout.masks[t], envs.steps[t - 1].masks)
    assert rollout.episodes == [episode for step in envs.steps for episode in step.episodes]
    assert rollout.env_steps == sum(int(step.valid.sum()) for step in envs.steps)
    assert rollout.vec_steps == STEPS


def test_values_are_those_of_the_state_and_of_its_true_successor(recorded):
    envs, policy, rollout = recorded
    assert rollout.truncated.any()
    assert rollout.terminated.any()
    for t, step in enumerate(envs.steps):
        np.testing.assert_allclose(rollout.values[t], policy.values(envs.given[t]), atol=1e-6)
        after = policy.values(step.obs)
        if step.truncated.any():
            after = np.where(step.truncated, policy.values(step.final_obs), after)
        alive = ~step.terminated
        np.testing.assert_allclose(rollout.next_values[t][alive], after[alive], atol=1e-6)


def test_nothing_of_an_earlier_rollout_shines_through(recorded):
    envs, policy, _ = recorded
    collector = Collector(envs, policy, 5, 5)
    for poison in (np.nan, 7.0):
        for array in (collector.rollout.next_values, collector.rollout.values, collector.rollout.rewards):
            array[:] = poison
        rollout = collector.collect(np.random.default_rng(1))
        assert np.isfinite(rollout.next_values).all()
        np.testing.assert_array_equal(rollout.episodes, [e for s in envs.steps[-5:] for e in s.episodes])


def test_the_next_rollout_continues_where_the_last_one_ended():
    def play(lengths):
        spec = make_spec("box")
        envs, policy, rng = RandomEnvs(spec), make_policy(spec), np.random.default_rng(0)
        collector = Collector(envs, policy, lengths[0], 1)
        parts = [collector.collect(rng) for _ in lengths]
        return envs.given, parts

    # Buffers are reused, so what was seen is compared through the environments.
    whole, _ = play([12])
    split, _ = play([4, 4, 4])
    for one, other in zip(whole, split, strict=True):
        np.testing.assert_array_equal(one["obs"], other["obs"])


def test_boxes_keep_the_action_whose_probability_is_known_and_send_one_within_bounds():
    spec = make_spec("box")
    envs = RandomEnvs(spec)
    policy = make_policy(spec, log_std_init=1.0)
    rollout = Collector(envs, policy, STEPS, 1).collect(np.random.default_rng(0))
    assert np.abs(rollout.actions).max() > 1.5  # the environment itself asserts that its bounds hold
    low, high = np.array(ACTIONS["box"].low), np.array(ACTIONS["box"].high)
    ends = policy.spec.action.to_env(np.array([[-9.0] * 3, [0.0] * 3, [9.0] * 3], np.float32))
    np.testing.assert_allclose(ends, [low, (low + high) / 2, high])


def test_progress_is_told_step_by_step():
    spec = make_spec()
    told = []
    Collector(RandomEnvs(spec), make_policy(spec), 3, 1).collect(
        np.random.default_rng(0), lambda done, total: told.append((done, total))
    )
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_rows_that_a_vector_class_spends_on_resets_are_marked():
    envs = make_envs(EnvConfig(id=late_resets.ID, num_envs=4), "train")
    policy = make_policy(envs.spec)
    rollout = Collector(envs, policy, 120, 1).collect(np.random.default_rng(0))
    np.testing.assert_array_equal(rollout.valid[1:], ~rollout.done[:-1])
    assert not rollout.valid.all()
    assert rollout.rewards[rollout.valid].all()
    lengths = sum(e.length for e in rollout.episodes)
    open_steps = sum(len(rollout.done) - 1 - np.flatnonzero(column)[-1] for column in rollout.done.T)
    resets_after_last = sum(bool(not rollout.done[-1, n]) for n in range(4))
    assert rollout.env_steps == lengths + open_steps - resets_after_last
    envs.close()
