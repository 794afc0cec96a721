"""Compiled rules: a vector of them is a vector of the stock environments, to the last bit."""

import json
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.classic_control import acrobot, cartpole

from gymsolve.envs import lean as choice
from gymsolve.envs.contract import Envs, Step
from gymsolve.envs.families.classic_control.backend import CompiledEnvs
from gymsolve.envs.make import choose_backend, make_envs
from gymsolve.errors import ConfigError, EnvFaultError
from gymsolve.kernels import VARIABLE, load_kernels
from gymsolve.settings.config import EnvConfig

pytestmark = pytest.mark.skipif(load_kernels() is None, reason="there is no compiler here")

KINDS: dict[str, dict[str, Any]] = {
    "CartPole": {"id": "CartPole-v1", "max_episode_steps": 20},
    "CartPole, registered limit": {"id": "CartPole-v0"},
    "CartPole, Sutton and Barto": {"id": "CartPole-v1", "kwargs": {"sutton_barto_reward": True}},
    "Pendulum": {"id": "Pendulum-v1"},
    "Pendulum on the moon": {"id": "Pendulum-v1", "kwargs": {"g": 1.62}, "max_episode_steps": 33},
    "MountainCar": {"id": "MountainCar-v0"},
    "MountainCar, in a hurry": {
        "id": "MountainCar-v0",
        "kwargs": {"goal_velocity": 0.02},
    },
    "MountainCarContinuous": {"id": "MountainCarContinuous-v0", "max_episode_steps": 150},
    "Acrobot": {"id": "Acrobot-v1", "max_episode_steps": 200},
}
SEEDS = [5, 6, 7, 8, 9]


def both(settings: dict[str, Any]) -> tuple[Envs, Envs]:
    config = EnvConfig.model_validate({"num_envs": len(SEEDS), **settings})
    compiled = make_envs(config.model_copy(update={"backend": "compiled"}), "train")
    assert isinstance(compiled, CompiledEnvs)
    return compiled, make_envs(config.model_copy(update={"backend": "sync"}), "train")


def draw(envs: Envs, obs: Any, rng: np.random.Generator) -> Any:
    """Pushing along (which swings up cars and acrobats) and random actions, beyond the bounds too."""
    action, count = envs.spec.action, envs.num_envs
    speed = obs["obs"][:, 4 if envs.spec.id.startswith("Acrobot") else 1]
    along = np.sign(speed) * (-1.0 if envs.spec.id.startswith("Acrobot") else 1.0)
    if action.kind == "box":
        wild = rng.uniform(-1.3, 1.3, (count, 1))
        return (np.where(rng.random((count, 1)) < 0.7, along[:, None], wild)).astype(np.float32)
    top = action.nvec[0] - 1
    wise = np.where(along > 0, top, 0)[:, None]
    return np.where(rng.random((count, 1)) < 0.7, wise, rng.integers(0, top + 1, (count, 1)))


def assert_same(one: Step, other: Step) -> None:
    assert one.obs["obs"].tobytes() == other.obs["obs"].tobytes()
    assert one.rewards.tobytes() == other.rewards.tobytes()
    assert (one.terminated.tobytes(), one.truncated.tobytes()) == (
        other.terminated.tobytes(),
        other.truncated.tobytes(),
    )
    assert one.valid.all()
    assert one.episodes == other.episodes
    assert (one.final_obs is None) == (other.final_obs is None)
    if one.final_obs is not None and other.final_obs is not None:
        ended = one.terminated | one.truncated
        assert one.final_obs["obs"][ended].tobytes() == other.final_obs["obs"][ended].tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_four_thousand_steps_are_the_stock_ones(kind: str) -> None:
    compiled, stock = both(KINDS[kind])
    assert compiled.spec == stock.spec
    obs, _ = compiled.reset(SEEDS)
    assert obs["obs"].tobytes() == stock.reset(SEEDS)[0]["obs"].tobytes()
    rng, ends = np.random.default_rng(1), set()
    for _ in range(4000):
        actions = compiled.spec.action.to_env(draw(compiled, obs, rng))
        one, other = compiled.step(actions), stock.step(actions)
        assert_same(one, other)
        obs = one.obs
        ends |= {episode.truncated for episode in one.episodes}
    unlimited = ("CartPole, ",)  # nobody balances this long by such actions
    assert (True in ends) == (not kind.startswith(unlimited))
    assert (False in ends) == ("Pendulum" not in kind)


def test_each_step_has_arrays_of_its_own() -> None:
    envs, _ = both(KINDS["CartPole"])
    envs.reset(SEEDS)
    first = envs.step(np.ones(5, np.int64))
    kept = [first.obs["obs"].copy(), first.rewards.copy()]
    envs.step(np.zeros(5, np.int64))
    assert first.obs["obs"].tobytes() == kept[0].tobytes()
    assert first.rewards.tobytes() == kept[1].tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_state_goes_on_as_if_nothing_had_been(kind: str) -> None:
    envs, _ = both(KINDS[kind])
    fresh, _ = both(KINDS[kind])
    obs, _ = envs.reset(SEEDS)
    rng = np.random.default_rng(2)
    for before in (0, 37):  # right after a reset, and in the middle
        for _ in range(before):
            obs = envs.step(envs.spec.action.to_env(draw(envs, obs, rng))).obs
        seen, masks, anew = fresh.restore(json.loads(json.dumps(envs.capture())), [1, 2, 3, 4, 5])
        assert (masks, anew) == (None, [])
        assert seen["obs"].tobytes() == obs["obs"].tobytes()
        for _ in range(450):
            actions = envs.spec.action.to_env(draw(envs, obs, rng))
            one = envs.step(actions)
            assert_same(one, fresh.step(actions))
            obs = one.obs


def test_a_state_of_something_else_starts_anew() -> None:
    envs, stock = both(KINDS["CartPole"])
    other, _ = both(KINDS["MountainCar"])
    for one in (stock, other):
        one.reset(SEEDS[: one.num_envs])
        obs, _, anew = envs.restore(json.loads(json.dumps(one.capture())), SEEDS)
        assert anew == [0, 1, 2, 3, 4]
        assert obs["obs"].tobytes() == envs.reset(SEEDS)[0]["obs"].tobytes()


def test_a_state_of_fewer_copies_starts_the_others_anew() -> None:
    envs, _ = both(KINDS["CartPole"])
    fewer = make_envs(EnvConfig(id="CartPole-v1", num_envs=2), "train")
    fewer.reset(SEEDS[:2])
    saved = fewer.step(np.array([0, 1])).obs["obs"]
    obs, _, anew = envs.restore(json.loads(json.dumps(fewer.capture())), SEEDS)
    assert anew == [2, 3, 4]
    assert obs["obs"][:2].tobytes() == saved.tobytes()
    assert obs["obs"][2:].tobytes() == envs.reset(SEEDS)[0]["obs"][2:].tobytes()


def test_a_policy_that_diverged_is_named_with_its_place() -> None:
    envs, stock = both(KINDS["Pendulum"])
    told = []
    for one in (envs, stock):
        one.reset(SEEDS)
        actions = np.zeros((5, 1), np.float32)
        one.step(actions)
        actions[3] = np.nan
        with pytest.raises(EnvFaultError) as caught:
            one.step(actions)
        bad = caught.value.bad
        assert bad is not None
        told.append((bad.place, bad.env, bad.vec_steps))
    assert told[0] == told[1]


@pytest.mark.parametrize(
    "bad", [np.full(5, 2), np.full(5, -1), np.zeros(4, np.int64), np.zeros(5, np.float32)]
)
def test_what_is_no_action_is_refused(bad: Any) -> None:
    envs, _ = both(KINDS["CartPole"])
    envs.reset(SEEDS)
    with pytest.raises(ValueError, match="no actions"):
        envs.step(bad)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"id": "LunarLander-v3"}, "LunarLander-v3 has no backend of that name"),
        ({"id": "CartPole-v1", "lean": False}, "env.lean"),
        ({"id": "CartPole-v1", "frame_stack": 2}, "stack"),
        ({"id": "CartPole-v1", "wrappers": ["normalize_reward"]}, "wrappers"),
        ({"id": "MountainCar-v0", "legal_actions": [0, 2]}, "masks"),
        ({"id": "Pendulum-v1", "kwargs": {"g": "heavy"}}, "take g"),
        ({"id": "Acrobot-v1", "kwargs": {"render_mode": "rgb_array"}}, "render_mode"),
    ],
)
def test_what_stands_in_the_way_is_said_and_auto_steps_aside(settings: dict[str, Any], word: str) -> None:
    with pytest.raises(ConfigError) as caught:
        choose_backend(EnvConfig.model_validate({**settings, "backend": "compiled"}), "train")
    assert word in str(caught.value)
    assert choose_backend(EnvConfig.model_validate(settings), "train") == "sync"


def test_auto_takes_them_and_leaves_pictures_to_the_stock_class() -> None:
    for settings in KINDS.values():
        config = EnvConfig.model_validate(settings)
        assert choose_backend(config, "train") == choose_backend(config, "eval") == "compiled"
        assert choose_backend(config, "eval", render=True) == "sync"
        asked = config.model_copy(update={"backend": "compiled"})
        assert choose_backend(asked, "play", render=True) == "sync"


def test_without_kernels_gymnasium_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "numpy")
    assert choose_backend(EnvConfig(id="CartPole-v1"), "train") == "sync"
    assert choose_backend(EnvConfig(id="Acrobot-v1"), "train") == "sync"


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        (acrobot.AcrobotEnv, "book_or_nips", "nips"),
        (acrobot, "wrap", lambda x, low, high: x),
        (cartpole.CartPoleEnv, "step", lambda self, action: None),
    ],
)
def test_other_code_than_the_one_compared_with_is_left_alone(
    owner: Any, name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = acrobot if owner is not cartpole.CartPoleEnv else cartpole
    known = choice.fingerprint(module)
    monkeypatch.setattr(owner, name, value)
    assert choice.fingerprint(module) != known


def test_registrations_by_others_keep_their_class() -> None:
    class Mine(cartpole.CartPoleEnv):
        pass

    gym.register("MineCart-v0", Mine, max_episode_steps=20)
    assert choose_backend(EnvConfig(id="MineCart-v0"), "train") == "sync"
    gym.registry.pop("MineCart-v0")
