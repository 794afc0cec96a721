"""Acting with a memory: carried from step to step, cleared at every end, looked at without being moved."""

import numpy as np
import pytest

from gymsolve.apps.playback import play
from gymsolve.envs.make import make_envs
from gymsolve.experience.agent import Acted, Agent, Chosen
from gymsolve.experience.collect import Collector
from gymsolve.settings.config import EnvConfig
from gymsolve.training.evaluation.episodes import Limits, play_episodes
from probes import RandomEnvs, make_policy, make_spec

STEPS = 60


class Counting:
    """A policy that remembers how many observations of the episode it has seen; its value is that number."""

    def __init__(self, spec):
        self.spec, self.looked = spec, []

    def first_memory(self, num_envs):
        return np.zeros((num_envs, 2), np.float32)

    def act(self, obs, masks, rng, memory=None):
        n = len(memory)
        return Acted(np.zeros((n, 1), np.int64), np.zeros(n, np.float32), memory[:, 0], memory + 1)

    def choose(self, obs, masks, memory=None):
        self.looked.append(memory[:, 0].copy())
        return Chosen(np.zeros((len(memory), 1), np.int64), memory + 1)

    def hear(self, memory, rewards):
        return memory

    def values(self, obs, memory=None):
        return memory[:, 0].copy()

    def seen(self, obs):
        return {}


def age_of_every_row(rollout):
    """Observations seen before each step of the episode it belongs to, counted by hand."""
    ages = np.zeros(rollout.rewards.shape)
    for n in range(ages.shape[1]):
        age = 0
        for t in range(len(ages)):
            ages[t, n] = age
            ended = rollout.terminated[t, n] or rollout.truncated[t, n] or not rollout.valid[t, n]
            age = 0 if ended else age + 1
    return ages


@pytest.mark.parametrize("next_step", [False, True])
def test_memory_is_carried_stored_and_cleared_at_every_end(next_step):
    envs = RandomEnvs(make_spec(), next_step=next_step)
    collector = Collector(envs, Counting(envs.spec), STEPS, 0)
    rollout = collector.collect(np.random.default_rng(0))
    assert rollout.terminated.any()
    assert rollout.truncated.any()
    ages = age_of_every_row(rollout)
    np.testing.assert_array_equal(rollout.memory[:, :, 0], ages)
    np.testing.assert_array_equal(rollout.values, ages)
    # The successor of a step is seen with what was remembered before an end clears it.
    alive = ~rollout.terminated & rollout.valid
    np.testing.assert_array_equal(rollout.next_values[alive], (ages + 1)[alive])


def test_memory_goes_on_over_rollouts_and_a_look_does_not_move_it():
    spec = make_spec()
    whole, parts = (Collector(RandomEnvs(spec), Counting(spec), steps, 0) for steps in (STEPS, STEPS // 4))
    wanted = whole.collect(np.random.default_rng(0)).memory
    found = [parts.collect(np.random.default_rng(0)).memory.copy() for _ in range(4)]
    np.testing.assert_array_equal(np.concatenate(found), wanted)


def test_a_policy_without_memory_has_no_place_for_it():
    spec = make_spec()
    collector = Collector(RandomEnvs(spec), make_policy(spec), 4, 0)
    rollout = collector.collect(np.random.default_rng(0))
    assert rollout.memory is None
    assert collector.agent.memory is None
    assert collector.arrays() == {}


def test_memory_is_saved_with_the_episodes_it_belongs_to():
    envs = make_envs(EnvConfig(id="CartPole-v1", num_envs=3), "train")
    policy = Counting(envs.spec)
    one, other = (Collector(envs, policy, 7, 0) for _ in range(2))
    one.collect(np.random.default_rng(0))
    saved = one.arrays(), one.state()
    wanted = one.collect(np.random.default_rng(1)).memory.copy()
    assert other.load(*saved) == []
    np.testing.assert_array_equal(other.collect(np.random.default_rng(1)).memory, wanted)
    assert wanted[0, :, 0].tolist() == [7, 7, 7]
    one.reseed(5, 14)  # new episodes remember nothing
    assert not one.agent.memory.any()
    envs.close()


def test_evaluation_remembers_within_an_episode_only():
    envs = make_envs(EnvConfig(id="CartPole-v1", num_envs=2, max_episode_steps=5), "eval")
    policy = Counting(envs.spec)
    limits = Limits(episodes=4, max_steps=100, max_seconds=60.0)
    play_episodes(policy, envs, seeds=[0, 1], rng=None, limits=limits)
    assert [row.tolist() for row in policy.looked] == [[k, k] for k in (0, 1, 2, 3, 4)] * 2
    envs.close()


def test_every_moment_of_play_has_the_memory_from_before_it(tmp_path):
    from gymsolve.envs.open_render_env import open_render_env

    stage = open_render_env(EnvConfig(id="CartPole-v1", max_episode_steps=4))
    policy = Counting(make_envs(EnvConfig(id="CartPole-v1", num_envs=1), "eval").spec)
    moments = list(play(policy, stage, seed=0, rng=None, episodes=2))
    assert [float(moment.memory[0, 0]) for moment in moments] == [0, 1, 2, 3, 4] * 2
    stage.close()


def test_forgetting_touches_the_rows_that_ended():
    agent = Agent(Counting(make_spec()), 3)
    agent.act({}, None, np.random.default_rng(0))
    agent.forget(np.array([False, True, False]))
    assert agent.memory[:, 0].tolist() == [1, 0, 1]
    assert agent.values({}, np.array([0, 1])).tolist() == [1, 0]


@pytest.mark.parametrize("kind", ["discrete", "multi_discrete", "multi_binary", "box", "squashed"])
def test_an_action_that_somebody_else_decided_is_remembered_as_if_it_had_been_chosen(kind):
    told = {"cell": "lstm", "size": 3, "inputs": ["action", "reward"]}
    policy = make_policy(make_spec(kind), memory=told, squash=kind == "squashed")
    obs = {"obs": np.ones((1, 3), np.float32)}
    agents = [Agent(policy, 1) for _ in range(2)]
    for seed in range(40):  # until one agent samples what the other did not
        for agent in agents:
            agent.forget(np.ones(1, bool))
        one, other = (
            agent.choose(obs, None, np.random.default_rng(seed + 100 * number))
            for number, agent in enumerate(agents)
        )
        if not np.array_equal(one, other):
            break
    assert not np.array_equal(agents[0].memory, agents[1].memory)
    agents[1].override_action(one)
    np.testing.assert_array_equal(agents[0].memory, agents[1].memory)


@pytest.mark.parametrize("kind", ["discrete", "multi_discrete", "multi_binary", "box", "squashed"])
def test_actions_come_back_from_the_environments_terms(kind):
    spec = make_policy(make_spec(kind), squash=kind == "squashed").spec.action
    rng = np.random.default_rng(0)
    if spec.kind == "box":
        chosen = rng.uniform(-0.99, 0.99, (50, spec.size)).astype(np.float32)
    else:
        chosen = rng.integers(0, spec.nvec, (50, spec.size))
    back = spec.from_env(spec.to_env(chosen))
    assert back.dtype == chosen.dtype
    np.testing.assert_allclose(back, chosen, atol=1e-6)
    for end in (spec.low, spec.high):
        if end:  # also the ends, which tanh never reaches
            ends = np.array([end], spec.dtype)
            np.testing.assert_allclose(spec.to_env(spec.from_env(ends)), ends, rtol=1e-6, atol=1e-6)
