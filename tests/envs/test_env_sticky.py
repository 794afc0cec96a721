"""Snapshots of Atari games with sticky actions: exact wherever they are taken, and they change nothing."""

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from same_steps import assert_same_step

from gymsolve.envs.build import build_env
from gymsolve.envs.families.atari import sticky
from gymsolve.envs.families.atari.sticky import Held, StickyAle, read_twister
from gymsolve.envs.family_state import load_native, save_native
from gymsolve.envs.make import make_envs
from gymsolve.settings.config import EnvConfig

RAM = {"obs_type": "ram", "frameskip": 4, "repeat_action_probability": 0.25}
PIXELS = {**RAM, "obs_type": "grayscale", "frameskip": 1}


def config_of(game: str, **kwargs: Any) -> EnvConfig:
    wrapper = "atari" if kwargs.get("obs_type") == "grayscale" else "atari_ram"
    settings = {"id": f"ALE/{game}-v5", "num_envs": 2, "wrappers": [wrapper], "kwargs": {**RAM, **kwargs}}
    return EnvConfig.model_validate(settings)


def assert_exact(config: EnvConfig, draw: Callable[[np.random.Generator], Any], snapshots: int) -> None:
    """A game of which snapshots are taken, one that is left alone and one that goes to each of them agree."""
    played, alone, restored = (build_env(config, "train").env for _ in range(3))
    rng = np.random.default_rng(0)
    for seed, env in enumerate((played, alone, restored)):
        env.reset(seed=seed // 2)
    for _ in range(snapshots):
        over = False
        for _ in range(int(rng.integers(1, 6))):
            action = draw(rng)
            obs, _, over, *_ = played.step(action)
            alone.step(action)
            if over:
                break
        saved = json.loads(json.dumps(save_native(config.id, played, obs)))
        np.testing.assert_array_equal(load_native(config.id, restored, saved), obs)
        for _ in range(0 if over else 3):
            action = draw(rng)
            one, two, three = (env.step(action) for env in (alone, played, restored))
            for other in (two, three):
                np.testing.assert_array_equal(other[0], one[0])
                assert other[1:4] == one[1:4]
            if one[2]:
                break
        if one[2] or over:
            for env in (played, alone):
                env.reset()
    for env in (played, alone, restored):
        env.close()


def pad(rng: np.random.Generator) -> Any:
    return rng.integers(4)


@pytest.mark.parametrize("game", ["Pong", "Breakout"])
def test_hundreds_of_snapshots_are_exact_and_change_nothing(game: str) -> None:
    assert_exact(config_of(game), pad, 150)


@pytest.mark.parametrize("chance", [0.6, 0.95])
def test_an_action_that_sticks_for_long_is_known(chance: float) -> None:
    assert_exact(config_of("Breakout", repeat_action_probability=chance), pad, 40)


def test_how_far_a_paddle_goes_sticks_too() -> None:
    def stick(rng: np.random.Generator) -> Any:
        return np.array([rng.uniform(0.5, 1), rng.choice([0.0, np.pi]), rng.uniform()], np.float32)

    assert_exact(config_of("Breakout", continuous=True, repeat_action_probability=0.5), stick, 40)


def test_what_sticks_is_found_by_trial_where_a_generator_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sticky, "read_twister", lambda saved: None)  # other libraries write it otherwise
    assert_exact(config_of("Breakout"), pad, 25)


@pytest.mark.parametrize(("game", "backend"), [("Pong", "sync"), ("Breakout", "async")])
def test_jumps_are_exact_on_every_backend_that_takes_them(game: str, backend: str) -> None:
    config = config_of(game, **PIXELS).model_copy(update={"backend": backend})
    envs, elsewhere = make_envs(config, "train"), make_envs(config, "train")
    envs.reset([1, 2])
    elsewhere.reset([3, 4])
    rng = np.random.default_rng(1)
    for _ in range(30):
        for _ in range(int(rng.integers(1, 10))):
            envs.step(rng.integers(0, 4, 2))
        assert elsewhere.jump([0, 1], json.loads(json.dumps(envs.snapshots([0, 1]))), [5, 6])[2] == []
        for _ in range(3):
            actions = rng.integers(0, 4, 2)
            one, two = envs.step(actions), elsewhere.step(actions)
            if one.terminated.any():
                break
            assert_same_step(one, two)
    envs.close()
    elsewhere.close()


def test_the_generator_in_a_state_is_the_emulators() -> None:
    env: Any = build_env(config_of("Pong"), "train").env.unwrapped
    env.reset(seed=0)
    ale = env.ale
    assert isinstance(ale, StickyAle)
    ale.setInt("random_seed", 77)
    env.load_game()
    ale.reset_game()
    expected = np.random.RandomState(77).randint(0, 2**32, 2000, np.uint64)[::2] / 2**32
    frames = 0
    for count in (0, 1, 5, 306, 1, 30):  # the 313th frame draws from words of its own
        for _ in range(count):
            ale.act(0)
        frames += count
        twister = read_twister(ale.cloneState(include_rng=True).serialize())
        assert twister is not None
        assert twister.coming_draws(400) == expected[frames : frames + 400].tolist()
        told = list(twister.past_draws()) if frames else []
        assert told == expected[:frames][::-1][: len(told)].tolist()
        assert len(told) == ((frames - 1) % 312 + 1 if frames else 0)
    assert read_twister(ale.cloneState(include_rng=False).serialize()) is None
    assert read_twister(b"") is None


def test_a_state_that_anybody_restores_leaves_what_sticks_as_it_is() -> None:
    env: Any = build_env(config_of("Pong", repeat_action_probability=0.9), "train").env.unwrapped
    env.reset(seed=0)
    start = env.clone_state(include_rng=True)
    for _ in range(60):
        env.step(2)
    held = env.ale.find_held(env.clone_state(include_rng=True))
    assert held == Held(3)  # RIGHT, the third of the actions that Pong uses
    env.restore_state(start)
    assert env.ale.find_held(env.clone_state(include_rng=True)) == held
    env.reset()
    assert env.ale.find_held(env.clone_state(include_rng=True)) == Held(0)
