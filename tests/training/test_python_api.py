"""The Python API: objects for environments, arguments of other tools, policies that act in batches."""

import sys

import gymnasium as gym
import numpy as np
import pytest

import gymsolve
from gymsolve.errors import ConfigError, UsageError

MODULE = """import gymnasium as gym
import numpy as np


class Corridor(gym.Env):
    observation_space = gym.spaces.Box(0.0, 1.0, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def __init__(self, length=4):
        self.length = length

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at, self.count = 0, 0
        return self.look(), {}

    def look(self):
        return np.array([self.at / self.length], np.float32)

    def step(self, action):
        self.at, self.count = max(0, self.at + 2 * int(action) - 1), self.count + 1
        there = self.at >= self.length
        return self.look(), float(there) - 0.1, there, self.count >= 20, {}

    class Inner(gym.Env):
        pass


def make_corridor(length=5):
    return Corridor(length)


class Timed(Corridor):
    pass


gym.register("Timed-v0", entry_point=Timed, max_episode_steps=7)
"""
SMALL = {"video.enabled": False, "eval.episodes": 2, "env.num_envs": 2, "algo.num_steps": 32}


@pytest.fixture
def own(tmp_path, monkeypatch):
    """The module, importable from the working directory."""
    (tmp_path / "own_corridor.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    import own_corridor  # type: ignore[import-not-found]

    yield own_corridor
    sys.modules.pop("own_corridor", None)
    for name in ("own_corridor/Corridor", "own_corridor/make_corridor", "Timed-v0"):
        gym.registry.pop(name, None)


def train(env, **more):
    return gymsolve.train(env, SMALL | more, steps=256)


def config(outcome):
    return outcome.run.config_json()["config"]["env"]


def test_a_class_and_a_function_of_a_module_are_trained_in_and_resumed(own):
    outcome = train(own.Corridor, **{"env.backend": "async", "env.kwargs.length": 3})
    assert (config(outcome)["id"], config(outcome)["kwargs"]) == ("own_corridor:Corridor", {"length": 3})
    assert gymsolve.resume(outcome.run, steps=512).env_steps == 512
    assert config(train(own.make_corridor))["id"] == "own_corridor:make_corridor"
    assert train("own_corridor:Corridor").env_steps == 256


def test_an_environment_stands_for_its_id_and_its_arguments(own):
    made = config(train(gym.make("CartPole-v1", sutton_barto_reward=True)))
    assert (made["id"], made["kwargs"]) == ("CartPole-v1", {"sutton_barto_reward": True})
    assert config(train(gym.make("CartPole-v1", max_episode_steps=50)))["max_episode_steps"] == 50
    plain = config(train(gym.make("CartPole-v1")))
    assert (plain["kwargs"], plain["max_episode_steps"]) == ({}, None)
    timed = config(train(gym.make("Timed-v0", length=6)))
    assert (timed["id"], timed["kwargs"]) == ("own_corridor:Timed-v0", {"length": 6})


def local():
    class Local(gym.Env):
        pass

    return Local


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda own: gym.make_vec("CartPole-v1", 2), "env: a vector environment cannot be trained in."),
        (lambda own: own.Corridor(), "a Corridor made by hand does not say with which arguments"),
        (
            lambda own: gym.wrappers.FlattenObservation(gym.make("CartPole-v1")),
            "the wrapper FlattenObservation around this environment would be lost",
        ),
        (
            lambda own: local(),
            "is defined in another function or class, where no other process can import it",
        ),
        (lambda own: own.Corridor.Inner, "Corridor.Inner is defined in another function or class"),
        (lambda own: lambda: own.Corridor(), "is defined in another function or class"),
        (lambda own: 5, "'int' names no environment. Give an id, a recipe, or a class of gymnasium.Env."),
        (lambda own: own.Timed, "Timed is registered as Timed-v0: use own_corridor:Timed-v0."),
    ],
)
def test_what_no_run_can_make_again_is_refused_in_one_sentence(own, make, words):
    with pytest.raises(UsageError) as refused:
        train(make(own))
    assert words in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"total_timesteps": 5}, "there is no argument 'total_timesteps'. Here it is: steps=…"),
        ({"learning_rate": 5}, "It is a setting: overrides={'algo.learning_rate': …}."),
        ({"n_envs": 5}, "It is a setting: overrides={'env.num_envs': …}."),
        ({"sed": 5}, "Did you mean 'seed' or 'seeds'?"),
    ],
)
def test_arguments_of_other_tools_are_answered_with_ours(arguments, words):
    for function in (gymsolve.train, gymsolve.train_seeds):
        with pytest.raises(UsageError) as refused:
            function("CartPole-v1", **arguments)
        assert words in str(refused.value)


def test_errors_speak_of_overrides_and_not_of_a_command_line():
    with pytest.raises(ConfigError) as refused:
        gymsolve.train("CartPole-v1", {"n_steps": 5})
    assert str(refused.value) == "n_steps: unknown key (from overrides). Did you mean 'algo.num_steps'?"
    with pytest.raises(ConfigError) as refused:
        gymsolve.train("CartPole-v1", ["algo.gamma"])
    assert str(refused.value).startswith("overrides: cannot read 'algo.gamma'.")
    assert "--set" not in str(refused.value)


def rows(policy, batch):
    """What the policy does with each observation alone."""
    return np.array([policy.act(obs) for obs in batch])


@pytest.mark.parametrize("env", ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "MiniGrid-Empty-5x5-v0"])
def test_a_batch_gets_the_actions_of_its_observations(env, tmp_path):
    outcome = gymsolve.train(env, SMALL, steps=128, runs_dir=tmp_path)
    policy = gymsolve.load_policy(outcome.run)
    envs = policy.make_envs(3)
    obs = envs.reset([1, 2, 3])[0]
    envs.close()
    batch = obs["obs"] if set(obs) == {"obs"} else obs
    single = [{name: array[i] for name, array in obs.items()} for i in range(3)]
    single = [entry["obs"] if set(entry) == {"obs"} else entry for entry in single]
    actions = policy.act(batch)
    assert len(actions) == 3
    np.testing.assert_allclose(actions, rows(policy, single), rtol=1e-5, atol=1e-6)
    values = policy.value(batch)
    np.testing.assert_allclose(values, [policy.value(one) for one in single], rtol=1e-4, atol=1e-5)
    action, state = policy.predict(batch, deterministic=True)
    assert state is None
    np.testing.assert_array_equal(action, actions)


def test_a_memory_of_a_batch_is_kept_by_environment(tmp_path):
    memory = {"net.memory": {"cell": "gru", "size": 8}, "algo.name": "ppo"}
    outcome = gymsolve.train("CartPole-v1", SMALL | memory, steps=128, runs_dir=tmp_path)
    policy = gymsolve.load_policy(outcome.run)
    rng = np.random.default_rng(0)
    shown = rng.normal(size=(4, 2, 4)).astype(np.float32)  # [T, N, …]
    alone = []
    for env in range(2):
        policy.reset()
        alone.append([(policy.value(obs), policy.act(obs)) for obs in shown[:, env]])
    policy.reset()
    together = [(policy.value(batch), policy.act(batch)) for batch in shown]
    for env in range(2):
        for step in range(4):
            assert together[step][0][env] == pytest.approx(alone[env][step][0], abs=1e-5)
            assert together[step][1][env] == alone[env][step][1]
    with pytest.raises(UsageError, match="remembers 2 episodes and was shown 1"):
        policy.act(shown[0, 0])
    policy.reset(np.array([True, False]))  # the first environment begins an episode, the second goes on
    values = policy.value(shown[0])
    assert values[0] == pytest.approx(alone[0][0][0], abs=1e-5)
    assert values[1] != pytest.approx(alone[1][0][0], abs=1e-5)
    policy.predict(shown[0], episode_start=[True, True], deterministic=True)
    with pytest.raises(UsageError, match="predict takes no state"):
        policy.predict(shown[0], state=())
