"""The stage for people: the same game, with its skipped frames, and without a camera where there is none."""

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.envs.classic_control import CartPoleEnv

from gymsolve.envs.describe import describe
from gymsolve.envs.open_render_env import open_play_env, open_render_env
from gymsolve.envs.random_policy import random_actions
from gymsolve.recipes import resolve
from gymsolve.settings.config import EnvConfig


@pytest.mark.parametrize(
    ("name", "between"),
    [("ALE/Pong-v5", 3), ("VizdoomDeadlyCorridor-v1", 3), ("Retro/MeadowRun-Nes-v0", 5)],
)
def test_skipped_frames_are_seen_and_change_nothing(name, between):
    """Evaluation has the same wrappers here, and skips frames unseen."""
    config = resolve(name).config.env
    stages = open_play_env(config), open_render_env(config)
    rng, seed = np.random.default_rng(0), 3
    try:
        for _ in range(2 if "Doom" in name else 1):
            shown, unseen = (stage.reset(seed) for stage in stages)
            while not (shown.terminated or shown.truncated) and len(shown.between) <= between:
                action = stages[0].spec.action
                chosen = action.to_env(random_actions(action, 1, shown.masks, rng))
                shown, unseen = (stage.step(chosen) for stage in stages)
                for key, seen in shown.obs.items():
                    np.testing.assert_array_equal(seen, unseen.obs[key])
                assert (shown.reward, shown.raw_return) == (unseen.reward, unseen.raw_return)
                assert (shown.terminated, shown.truncated) == (unseen.terminated, unseen.truncated)
                assert shown.components == unseen.components
                assert unseen.between == ()
                if not shown.terminated:
                    assert len(shown.between) == between
                    assert all(frame.shape == stages[0].render().shape for frame in shown.between)
                if shown.raw_return < -1 and "Pong" in name:
                    break
            seed = None
    finally:
        for stage in stages:
            stage.close()


def test_what_a_shaper_pays_is_told_step_by_step():
    stage = open_play_env(resolve("VizdoomDefendCenter-v1").config.env)
    try:
        stage.reset(1)
        names = list(stage.labels.names)
        paid = [stage.step(np.array([names.index("attack")])) for _ in range(8)]
        assert list(paid[0].components) == ["base", "shots", "hits", "health_lost"]
        for scene in paid:
            assert sum(scene.components.values()) == pytest.approx(scene.reward)
        assert sum(scene.components["shots"] for scene in paid) < 0
    finally:
        stage.close()


@pytest.mark.parametrize(
    ("name", "turns"),
    [
        ("CartPole-v1", False),
        ("FrozenLake-v1", True),
        ("MiniGrid-Empty-8x8-v0", True),
        ("Acrobot-v1", False),
        ("VizdoomBasic-v1", False),  # 35 tics a second, four of which are a step
        ("Bandit-v0", True),
    ],
)
def test_environments_without_time_of_their_own_wait(name, turns):
    stage = open_play_env(resolve(name).config.env)
    stage.close()
    assert stage.turns is turns
    assert (stage.undrawn is not None) is (name == "Bandit-v0")


def test_numbers_have_names_where_they_are_known():
    for frame_stack, names in ((1, 4), (2, 0)):
        stage = open_play_env(EnvConfig(id="CartPole-v1", frame_stack=frame_stack))
        stage.close()
        assert len(stage.obs_names) == names


@pytest.mark.parametrize("told", ["fast", float("nan"), 0, None, [30]])
def test_nonsense_about_time_does_no_harm(told):
    """What authors write into their metadata is read before every training."""

    class Timeless(CartPoleEnv):
        metadata = {**CartPoleEnv.metadata, "render_fps": told}  # noqa: RUF012 - Gymnasium's own form

    gym.register("Timeless-v0", Timeless)
    try:
        found = describe(EnvConfig(id="Timeless-v0"), "play")
    finally:
        del gym.registry["Timeless-v0"]
    assert found.declared_fps is None
