"""Credit by streams, and the true successor of every observation, against brute force."""

import numpy as np
import pytest

from gymsolve.experience.credit import TASK, actor_critic_credit
from gymsolve.experience.rollout import Stream
from gymsolve.settings.config import A2CConfig, PPOConfig
from probes import START, gather, make_case

STEPS = 30


def brute_force(rewards, values, next_values, terminated, done, gamma, lam):
    """A sum of discounted errors for every step, each computed on its own."""
    found = np.zeros(rewards.shape)
    for n in range(rewards.shape[1]):
        for t in range(len(rewards)):
            weight = 1.0
            for k in range(t, len(rewards)):
                future = 0.0 if terminated[k, n] else gamma * float(next_values[k, n])
                found[t, n] += weight * (float(rewards[k, n]) + future - float(values[k, n]))
                if done[k, n]:
                    break
                weight *= gamma * lam
    return found


@pytest.mark.parametrize("episodic", [True, False])
@pytest.mark.parametrize("config", [PPOConfig(gae_lambda=0.8), A2CConfig()])
def test_streams_have_advantages_of_their_own_and_are_summed_by_weight(config, episodic):
    rollout = gather(*make_case("discrete"), STEPS)
    rng = np.random.default_rng(0)
    mine = rng.normal(size=(3, *rollout.rewards.shape)).astype(np.float32)
    rollout.streams = {"curious": Stream(*mine, gamma=0.9, weight=0.25, episodic=episodic)}
    credit = actor_critic_credit(rollout, config, START)
    gamma, lam = config.gamma.at(START), config.gae_lambda.at(START)
    task = rollout.rewards, rollout.values, rollout.next_values
    own = brute_force(*task, rollout.terminated, rollout.done, gamma, lam)
    never = np.zeros_like(rollout.done)
    ends = (rollout.terminated, rollout.done) if episodic else (never, never)
    more = brute_force(*mine, *ends, 0.9, lam)
    np.testing.assert_allclose(credit.advantages, own + 0.25 * more, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(credit.targets[TASK], own + rollout.values, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(credit.targets["curious"], more + mine[1], rtol=1e-4, atol=1e-4)


def test_giving_credit_changes_nothing():
    rollout = gather(*make_case("discrete"), STEPS)
    before = rollout.values.copy(), rollout.rewards.copy()
    flat = actor_critic_credit(rollout, PPOConfig(), START).flat(rollout, normalized="rollout")
    flat.values[:] = 7.0
    np.testing.assert_array_equal(rollout.values, before[0])
    np.testing.assert_array_equal(rollout.rewards, before[1])


def test_a_rollout_without_a_reward_says_nothing_of_the_values():
    """Its targets come from values alone; a share of their variance raised a false alarm in sparse tasks."""
    rollout = gather(*make_case("discrete"), STEPS)
    values = np.random.default_rng(0).normal(size=rollout.values.shape).astype(np.float32)
    rollout.values[:] = values
    rollout.rewards[:] = 0.0
    flat = actor_critic_credit(rollout, PPOConfig(), START).flat(rollout, normalized="rollout")
    assert flat.returns.std() > 0
    assert np.isnan(flat.explained_variance())
    rollout.rewards[3, 0] = 1.0
    flat = actor_critic_credit(rollout, PPOConfig(), START).flat(rollout, normalized="rollout")
    expected = 1 - np.var(flat.returns - flat.values) / np.var(flat.returns)
    assert flat.explained_variance() == pytest.approx(expected, rel=1e-4)
