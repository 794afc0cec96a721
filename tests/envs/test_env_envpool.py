"""EnvPool behind the contract: the task of the stock environment, ends told apart, honest about the rest."""

from typing import Any

import envpool
import gymnasium as gym
import numpy as np
import pytest

from gymsolve.envs.backends.envpool import EnvPoolEnvs
from gymsolve.envs.make import choose_backend, make_envs
from gymsolve.errors import ConfigError
from gymsolve.settings.config import EnvConfig


def pool_of(env_id: str, **more: Any) -> EnvPoolEnvs:
    settings = {"num_envs": 4, "backend": "envpool", **more}
    envs = make_envs(EnvConfig.model_validate({"id": env_id, **settings}), "train")
    assert isinstance(envs, EnvPoolEnvs)
    return envs


@pytest.mark.parametrize("env_id", ["FrozenLake-v1", "FrozenLake8x8-v1", "CliffWalking-v1"])
def test_every_transition_is_one_of_the_stock_environment(env_id):
    stock = gym.make(env_id)
    table: Any = stock.unwrapped
    starts = {int(state) for state in np.flatnonzero(table.initial_state_distrib)}
    envs = pool_of(env_id, max_episode_steps=60)
    obs = envs.reset([1, 2, 3, 4])[0]["obs"]
    assert set(obs.tolist()) <= starts
    rng, ends = np.random.default_rng(0), 0
    for _ in range(300):
        actions = rng.integers(0, envs.spec.action.nvec[0], 4)
        step = envs.step(actions)
        arrived = step.obs["obs"] if step.final_obs is None else step.final_obs["obs"]
        for row in range(4):
            outcome = (int(arrived[row]), float(step.rewards[row]), bool(step.terminated[row]))
            possible = [
                (to, float(pay), over) for _, to, pay, over in table.P[int(obs[row])][int(actions[row])]
            ]
            assert outcome in possible
            if step.terminated[row] or step.truncated[row]:
                ends += 1
                assert int(step.obs["obs"][row]) in starts
        obs = step.obs["obs"]
    assert ends
    envs.close()


def test_cartpole_moves_as_the_stock_one_from_the_same_state():
    envs, stock = pool_of("CartPole-v1", num_envs=1), gym.make("CartPole-v1")
    obs, _ = envs.reset([5])
    stock.reset(seed=0)
    game: Any = stock.unwrapped
    game.state = obs["obs"][0].astype(np.float64)
    rng, over = np.random.default_rng(0), False
    while not over:
        action = rng.integers(0, 2)
        step = envs.step(np.array([action]))
        seen, reward, over, _, _ = stock.step(action)
        arrived = step.obs if step.final_obs is None else step.final_obs
        np.testing.assert_allclose(arrived["obs"][0], seen, atol=1e-6)
        assert (step.rewards[0], step.terminated[0]) == (reward, over)
    envs.close()


@pytest.mark.parametrize("env_id", ["LunarLander-v3", "Hopper-v5", "FrozenLake-v1"])
def test_it_tells_what_envpools_own_step_tells(env_id):
    envs, seeds = pool_of(env_id), [1, 2, 3, 4]
    own = envpool.make_gymnasium(env_id, num_envs=4, env_seed=seeds)
    seen, obs = own.reset()[0], envs.reset(seeds)[0]["obs"]
    rng, action, kept = np.random.default_rng(0), envs.spec.action, []
    while True:
        drawn = rng.uniform(-1, 1, (4, action.size)) if action.kind == "box" else rng.integers(0, 3, (4, 1))
        step = envs.step(action.to_env(drawn))
        np.testing.assert_array_equal(obs, seen.astype(obs.dtype))
        kept.append((obs, obs.copy(), step.rewards, step.rewards.copy()))
        seen, rewards, terminated, _, _ = own.step(action.to_env(drawn))
        np.testing.assert_array_equal(step.rewards, rewards)
        np.testing.assert_array_equal(step.terminated, terminated)
        if terminated.any():
            break  # the next step of EnvPool's own resets
        obs = step.obs["obs"]
    assert step.final_obs is not None
    np.testing.assert_array_equal(step.final_obs["obs"], seen.astype(obs.dtype))
    for array, copy, paid, copy_of_paid in kept:  # nothing is written over by later steps
        np.testing.assert_array_equal(array, copy)
        np.testing.assert_array_equal(paid, copy_of_paid)
    envs.close()
    own.close()


def fall(limit: int | None) -> tuple[int, bool]:
    """Length and truncation of CartPole's first episode under a constant push."""
    envs = pool_of("CartPole-v1", num_envs=1, max_episode_steps=limit)
    envs.reset([3])
    while not (step := envs.step(np.array([1]))).episodes:
        assert not step.terminated.any()
    envs.close()
    (episode,) = step.episodes
    assert (bool(step.terminated[0]), bool(step.truncated[0])) == (not episode.truncated, episode.truncated)
    return episode.length, episode.truncated


def test_a_fall_in_the_last_permitted_step_is_a_fall():
    length, truncated = fall(None)
    assert not truncated
    assert fall(length + 1) == fall(length) == (length, False)
    assert fall(length - 1) == (length - 1, True)


def test_its_state_cannot_be_captured_and_a_restore_starts_anew():
    envs = pool_of("CartPole-v1")
    first, _ = envs.reset([1, 2, 3, 4])
    assert envs.capture() is None
    obs, _, restarted = envs.restore({"kind": "replay"}, [1, 2, 3, 4])
    assert restarted == [0, 1, 2, 3]
    np.testing.assert_array_equal(obs["obs"], first["obs"])
    envs.close()


def test_it_trains_on_request_and_never_judges():
    config = EnvConfig(id="LunarLander-v3", backend="envpool")
    assert choose_backend(config, "train") == "envpool"
    assert choose_backend(config, "eval") == choose_backend(config, "play") == "sync"
    assert choose_backend(EnvConfig(id="CartPole-v1", backend="envpool"), "eval") == "compiled"
    assert choose_backend(EnvConfig(id="LunarLander-v3"), "train") == "sync"


def test_bounds_and_limits_are_those_of_the_stock_environment():
    envs, stock = pool_of("LunarLander-v3"), make_envs(EnvConfig(id="LunarLander-v3"), "train")
    assert envs.spec.obs == stock.spec.obs
    assert envs.spec.max_episode_steps == 1000
    assert "EnvPool" in envs.spec.notes[-1]
    envs.close()
    stock.close()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"id": "CartPole-v1", "wrappers": ["clip_reward"]}, "no wrappers"),
        ({"id": "CartPole-v1", "frame_stack": 2}, "stack frames"),
        ({"id": "CartPole-v1", "legal_actions": [0]}, "no action masks"),
        ({"id": "CartPole-v1", "kwargs": {"sutton_barto_reward": True}}, "sutton_barto_reward"),
        ({"id": "Taxi-v4"}, "no version of Taxi-v4"),
        ({"id": "Blackjack-v1"}, "no version of Blackjack-v1"),
        ({"id": "ALE/Pong-v5"}, "`ale`"),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(settings, words):
    with pytest.raises(ConfigError, match=words) as told:
        make_envs(EnvConfig.model_validate({**settings, "backend": "envpool"}), "train")
    assert told.value.where == "env.backend"
