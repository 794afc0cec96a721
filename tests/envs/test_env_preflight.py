"""Looking at environments: determinism, preflight, derived recipes, the bundled bandit, debuggers."""

import json
import sys
from typing import Any

import numpy as np
import pytest
import sample_envs

from gymsolve.envs.derive import derive_recipe
from gymsolve.envs.determinism import check_determinism
from gymsolve.envs.make import debugger_attached, make_envs
from gymsolve.envs.preflight import preflight
from gymsolve.settings.config import EnvConfig, TrainConfig

assert sample_envs.Hidden


@pytest.mark.parametrize(
    ("env_id", "kwargs", "identical"),
    [
        ("FrozenLake-v1", {"is_slippery": False}, True),
        ("FrozenLake-v1", {}, False),
        ("CartPole-v1", {}, False),
        ("Bandit-v0", {}, False),
        ("Sample/Counter-v0", {}, True),
        ("Taxi-v4", {}, False),
    ],
)
def test_identical_copies_are_noticed(env_id: str, kwargs: dict[str, Any], identical: bool) -> None:
    config = EnvConfig(id=env_id, kwargs=kwargs)
    assert check_determinism(config).copies_identical is identical
    assert check_determinism(config).seed_reproduces
    assert check_determinism(config).resumes_exactly


def test_seeds_without_effect_are_noticed() -> None:
    assert not check_determinism(EnvConfig(id="Sample/Hidden-v0")).seed_reproduces
    assert not check_determinism(EnvConfig(id="Sample/Stubborn-v0")).seed_reproduces


def test_a_generator_that_only_seeds_reach_is_noticed_in_episodes_of_any_length() -> None:
    for length in (5, 100_000):
        found = check_determinism(EnvConfig(id="Sample/Emulated-v0", kwargs={"length": length}))
        assert found.seed_reproduces
        assert not found.resumes_exactly


def test_sticky_actions_make_copies_differ() -> None:
    config = EnvConfig.model_validate({"id": "Sample/Counter-v0", "wrappers": ["sticky_actions"]})
    assert not check_determinism(config).copies_identical


def test_preflight_of_a_sound_environment() -> None:
    report = preflight(EnvConfig(id="FrozenLake-v1"))
    assert report.problems == ()
    assert [census.policy for census in report.census] == ["random", "first", "repeat"]
    assert report.census[0].nonzero_rewards < 0.02
    assert report.spec.max_episode_steps == 100
    assert report.has_time_limit
    assert set(report.steps_per_second) == {"sync", "async"}
    json.loads(json.dumps(report.to_json(), allow_nan=False))


@pytest.mark.parametrize(
    ("env_id", "kwargs", "words"),
    [
        ("Sample/Faulty-v0", {"how": "nan"}, "NaN"),
        ("Sample/Faulty-v0", {"how": "raise"}, "engine on fire"),
        ("Sample/Faulty-v0", {"how": "reward"}, "reward"),
        ("Sample/Faulty-v0", {"how": "reset"}, "no power"),
        ("Sample/Masked-v0", {"forget": True}, "gave no info"),
    ],
)
def test_preflight_says_what_is_wrong(env_id: str, kwargs: dict[str, Any], words: str) -> None:
    report = preflight(EnvConfig(id=env_id, kwargs=kwargs, num_envs=1))
    assert any(words in problem for problem in report.problems), report.problems


@pytest.mark.parametrize(
    ("env_id", "kwargs", "words"),
    [
        ("Sample/Hidden-v0", {}, "same seed"),
        ("Sample/Aging-v0", {}, "a resumed run will drift"),
        ("Sample/Counter-v0", {}, "no variety"),
        ("Sample/Counter-v0", {"length": 10**9}, "no episode ended"),
        ("Sample/Counter-v0", {"actions": 1}, "no reward other than 0"),
    ],
)
def test_preflight_cautions_where_learning_will_be_hard(
    env_id: str, kwargs: dict[str, Any], words: str
) -> None:
    report = preflight(EnvConfig(id=env_id, kwargs=kwargs, num_envs=1))
    assert any(words in caution for caution in report.cautions), report.cautions


@pytest.mark.parametrize(
    ("env_id", "expected"),
    [
        ("CartPole-v1", {"env.num_envs": 16, "net.normalize_obs": "running", "algo.gamma": 0.99}),
        ("FrozenLake-v1", {"algo.ent_coef": 0.02, "algo.num_steps": 128}),
        ("LunarLander-v3", {"algo.gamma": 0.995, "algo.normalize_rewards": True}),
        ("Pendulum-v1", {"algo.ent_coef": 0.0, "algo.gamma": 0.95}),
        ("Bandit-v0", {"algo.gamma": 1.0}),
        ("Sample/Pictures-v0", {"net.cnn": "small", "env.num_envs": 8}),
        ("Sample/Mixed-v0", {"net.cnn": "small"}),
    ],
)
def test_derived_recipes_are_valid_and_explained(env_id: str, expected: dict[str, Any]) -> None:
    recipe, reasons = derive_recipe(env_id)
    config = TrainConfig.model_validate(recipe)
    assert config.env.id == env_id
    for path, value in expected.items():
        section, name = path.split(".")
        assert recipe[section][name] == value
    assert len(reasons) >= 4
    make_envs(config.env, "train", num_envs=1).close()


def test_a_derived_recipe_gives_endless_environments_a_time_limit() -> None:
    recipe, reasons = derive_recipe("Sample/Counter-v0", {"kwargs": {"length": 10**9}})
    assert recipe["env"]["max_episode_steps"] == 1000
    assert recipe["env"]["kwargs"] == {"length": 10**9}
    assert any("max_episode_steps" in reason for reason in reasons)


def test_bandit_pays_its_arms() -> None:
    envs = make_envs(EnvConfig(id="Bandit-v0", num_envs=10), "train")
    envs.reset(list(range(10)))
    rewards = np.stack([envs.step(np.arange(10)).rewards for _ in range(400)])
    np.testing.assert_allclose(rewards.mean(axis=0), np.arange(10), atol=0.25)
    np.testing.assert_allclose(rewards.std(axis=0), 1.0, atol=0.15)
    assert envs.spec.reward_threshold == 8.8


def test_under_a_debugger_everything_is_one_environment_in_this_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = EnvConfig(id="Sample/Counter-v0", num_envs=8, backend="async")
    monkeypatch.setitem(sys.modules, "debugpy", sys)
    assert debugger_attached()
    envs = make_envs(config, "train")
    assert envs.num_envs == 1
    envs.reset([1])
    assert make_envs(config, "train", num_envs=2).num_envs == 2
