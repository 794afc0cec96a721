"""Quicker classes: whatever can be seen of an environment is what the stock class shows, to the last bit."""

import warnings
from collections.abc import Iterator
from typing import Any

import gymnasium as gym
import numpy as np
import pytest

from gymsolve.envs.build import build_env
from gymsolve.envs.families.box2d.family import FAMILY
from gymsolve.envs.lean import find_lean, fingerprint
from gymsolve.envs.make import make_envs
from gymsolve.errors import ConfigError
from gymsolve.settings.config import EnvConfig

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # Box2D's binding warns when it is loaded
    from gymnasium.envs.box2d import lunar_lander
    from gymnasium.envs.box2d.lunar_lander import LunarLander

    from gymsolve.envs.families.box2d.lander import LeanLander

ENTRY = "gymnasium.envs.box2d.lunar_lander:LunarLander"
KINDS: dict[str, dict[str, Any]] = {
    "discrete": {},
    "continuous": {"continuous": True},
    "wind": {"enable_wind": True},
    "weak gravity": {"gravity": -3.7},
    "everything": {
        "continuous": True,
        "enable_wind": True,
        "wind_power": 19.0,
        "turbulence_power": 1.9,
        "gravity": -11.0,
    },
}


def build(role: Any = "train", **settings: Any) -> gym.Env[Any, Any]:
    return build_env(EnvConfig.model_validate({"id": "LunarLander-v3", **settings}), role).env


def choose(env: gym.Env[Any, Any], obs: Any, rng: np.random.Generator, skill: float) -> Any:
    """Gymnasium's own pilot, which lands, or something at random, beyond the bounds too."""
    if rng.random() < skill:
        action = lunar_lander.heuristic(env.unwrapped, obs)
        return np.int64(action) if isinstance(action, int) else action.astype(np.float32)
    if isinstance(env.action_space, gym.spaces.Discrete):
        return rng.integers(4)
    return rng.uniform(-1.3, 1.3, 2).astype(np.float32)


def random_state(env: gym.Env[Any, Any]) -> Any:
    return env.unwrapped.np_random.bit_generator.state


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", KINDS)
def test_five_thousand_steps_are_the_stock_ones(kind: str, seed: int) -> None:
    lean = build(kwargs=KINDS[kind], max_episode_steps=400)
    stock = gym.make("LunarLander-v3", max_episode_steps=400, **KINDS[kind])
    assert type(lean.unwrapped) is LeanLander
    assert type(stock.unwrapped) is LunarLander
    rng, ends, ground = np.random.default_rng(seed), set(), 0.0
    obs, info = stock.reset(seed=seed)
    assert (lean.reset(seed=seed)[0].tobytes(), info) == (obs.tobytes(), {})
    for step in range(5000):
        action = choose(stock, obs, rng, skill=(0.97, 0.5, 0.0)[3 * step // 5000])
        obs, reward, terminated, truncated, info = stock.step(action)
        mine = lean.step(action)
        assert mine[0].dtype == obs.dtype
        assert mine[0].tobytes() == obs.tobytes()
        assert float(mine[1]).hex() == float(reward).hex()
        assert mine[2:] == (terminated, truncated, info)
        ground += obs[6] + obs[7]
        if terminated or truncated:
            ends.add(float(reward) if terminated else "limit")
            assert random_state(lean) == random_state(stock)
            obs, info = stock.reset()
            assert lean.reset()[0].tobytes() == obs.tobytes()
    assert random_state(lean) == random_state(stock)
    assert ends == {100.0, -100.0, "limit"}
    assert ground > 0


def test_a_time_limit_truncates_as_before() -> None:
    lean, stock = build(max_episode_steps=7), gym.make("LunarLander-v3", max_episode_steps=7)
    for env in (lean, stock):
        env.reset(seed=0)
        assert [env.step(0)[2:4] for _ in range(7)] == [(False, False)] * 6 + [(False, True)]


@pytest.mark.parametrize("action", [2, np.int64(2), np.int32(2), np.array(2)])
def test_whatever_stock_takes_for_an_action_is_taken(action: Any) -> None:
    lean, stock = build(), gym.make("LunarLander-v3")
    for env in (lean, stock):
        env.reset(seed=3)
    assert lean.step(action)[0].tobytes() == stock.step(action)[0].tobytes()


@pytest.mark.parametrize("action", [4, -1, 2.0, np.float64(1.0), None])
def test_what_stock_refuses_is_refused(action: Any) -> None:
    lean = build()
    lean.reset(seed=0)
    with pytest.raises(AssertionError, match="invalid"):
        lean.step(action)


def test_a_throttle_that_is_no_number_fires_nothing() -> None:
    lean, stock = build(id="LunarLanderContinuous-v3"), gym.make("LunarLanderContinuous-v3")
    for env in (lean, stock):
        env.reset(seed=0)
    action = np.float32([np.nan, np.nan])
    assert lean.step(action)[0].tobytes() == stock.step(action)[0].tobytes()


def test_options_are_checked_as_by_stock() -> None:
    with pytest.raises(ConfigError, match="gravity"):
        build(kwargs={"gravity": 1.0})
    with pytest.raises(ConfigError, match="colour"):
        build(kwargs={"colour": "red"})


# ------------------------------------------------------------------------------- when it is taken


@pytest.mark.parametrize("role", ["train", "eval"])
def test_training_and_judging_take_it(role: Any) -> None:
    assert type(build(role).unwrapped) is LeanLander
    assert type(build(role, id="LunarLanderContinuous-v3").unwrapped) is LeanLander


def test_it_can_be_switched_off() -> None:
    assert type(build(lean=False).unwrapped) is LunarLander


def test_pictures_are_drawn_by_stock() -> None:
    config = EnvConfig(id="LunarLander-v3")
    assert type(build_env(config, "eval", render=True).env.unwrapped) is LunarLander
    assert type(build(kwargs={"render_mode": "rgb_array"}).unwrapped) is LunarLander


@pytest.mark.parametrize(("lean", "words"), [(True, "sync, lean class"), (False, "sync")])
def test_the_run_says_which_class_steps(lean: bool, words: str) -> None:
    envs = make_envs(EnvConfig(id="LunarLander-v3", backend="sync", lean=lean, num_envs=1), "train")
    assert envs.backend == words


@pytest.fixture
def looked_at_anew() -> Iterator[None]:
    """Whether stock is as known is found out once per process."""
    find_lean.cache_clear()
    yield
    find_lean.cache_clear()


@pytest.mark.usefixtures("looked_at_anew")
@pytest.mark.parametrize("what", ["method", "constant"])
def test_changed_stock_code_is_stepped_itself(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def step(self: Any, action: Any) -> Any:
        raise NotImplementedError

    before = fingerprint(lunar_lander)
    if what == "method":
        monkeypatch.setattr(LunarLander, "step", step)
    else:
        monkeypatch.setattr(lunar_lander, "SIDE_ENGINE_POWER", 0.7)
    assert fingerprint(lunar_lander) != before
    assert find_lean(ENTRY, FAMILY.stand_ins[ENTRY]) is None
    assert type(build().unwrapped) is LunarLander


@pytest.mark.usefixtures("looked_at_anew")
def test_the_installed_stock_code_is_known() -> None:
    assert find_lean(ENTRY, FAMILY.stand_ins[ENTRY]) is LeanLander
