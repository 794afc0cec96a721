"""ALE's vector class behind the contract: the same game as the wrapped stock environment, frame by frame."""

import json

import numpy as np
import pytest
from ale_games import CALM, STOCK, config_of
from same_steps import assert_same_step

from gymsolve.envs.contract import Envs
from gymsolve.envs.describe import describe_env
from gymsolve.envs.families.atari import backend as ale
from gymsolve.envs.families.atari.backend import AleEnvs
from gymsolve.envs.make import choose_backend, make_envs
from gymsolve.errors import ConfigError
from gymsolve.settings.config import EnvConfig

COLOURS = CALM | {"obs_type": "rgb"}
LIVES = [{"atari": {"noop_max": 0}}, "episodic_life", {"clip_reward": {"sign": True}}]


def both(config: EnvConfig) -> tuple[Envs, Envs]:
    native = make_envs(config, "train")
    assert isinstance(native, AleEnvs)
    return native, make_envs(config.model_copy(update={"backend": "sync"}), "train")


@pytest.mark.parametrize(
    ("game", "wrappers", "kwargs", "steps"),
    [
        ("Breakout", LIVES, CALM, 400),
        (
            "Breakout",
            [{"atari": {"noop_max": 0}}, {"atari_actions": {"names": ["LEFT", "FIRE"]}}],
            COLOURS,
            60,
        ),
        ("Pong", [{"atari": {"noop_max": 0, "fire_reset": False, "size": 64, "frame_skip": 3}}], CALM, 100),
        ("SpaceInvaders", [{"atari": {"noop_max": 0}}, {"clip_reward": {"low": -5, "high": 10}}], CALM, 150),
    ],
)
def test_frames_rewards_and_episodes_equal_the_wrapped_stock_game(game, wrappers, kwargs, steps):
    native, stock = both(config_of(game, wrappers=wrappers, kwargs=kwargs))
    assert native.spec == stock.spec
    first, _ = native.reset([1, 2])
    np.testing.assert_array_equal(first["obs"], stock.reset([1, 2])[0]["obs"])
    rng = np.random.default_rng(0)
    ended, paid = 0, 0.0
    for _ in range(steps):
        actions = rng.integers(0, native.spec.action.nvec[0], 2)
        one, other = native.step(actions), stock.step(actions)
        assert_same_step(one, other)
        ended += len(one.episodes)
        paid += float(np.abs(one.rewards).sum())
    assert paid or game == "Pong" or steps < 100
    assert ended > 5 or wrappers is not LIVES
    native.close()
    stock.close()


def test_the_raw_return_is_the_games_score_while_the_agent_sees_clipped_rewards():
    native, _ = both(config_of("SpaceInvaders", wrappers=[{"atari": {}}, {"clip_reward": {"sign": True}}]))
    native.reset([1, 2])
    rng, episodes, seen = np.random.default_rng(0), [], set()
    while not episodes:
        step = native.step(rng.integers(0, 6, 2))
        seen |= set(step.rewards.tolist())
        episodes += step.episodes
    assert seen == {0.0, 1.0}
    # An invader pays 5 to 30 points.
    assert episodes[0].raw_return >= 5 * episodes[0].shaped_return > 0
    native.close()


def test_a_time_limit_counts_frames_and_truncates():
    native, stock = both(config_of("Pong", max_episode_steps=90))
    assert native.spec.max_episode_steps == stock.spec.max_episode_steps == 23
    native.reset([1, 2])
    stock.reset([1, 2])
    ends = []
    for t in range(50):
        one, other = native.step(np.array([0, 0])), stock.step(np.array([0, 0]))
        assert_same_step(one, other)
        if one.episodes:
            ends.append((t, one.episodes[0].length, bool(one.truncated.all())))
            assert one.final_obs is not None
            assert other.final_obs is not None
            # Only the newest frame may differ: an end within a frame skip leaves the native one behind.
            np.testing.assert_array_equal(one.final_obs["obs"][:, :-1], other.final_obs["obs"][:, :-1])
    # One frame went to FIRE, so 89 are left: 22 steps of 4 and one of 1.
    assert ends == [(22, 23, True), (45, 23, True)]
    native.close()
    stock.close()


def test_idle_starts_have_the_length_of_the_stock_ones():
    wrappers = [{"atari": {"noop_max": 2, "fire_reset": False}}]
    native, stock = both(config_of("Freeway", num_envs=4, wrappers=wrappers, frame_stack=1))
    starts = []
    for envs in (native, stock):
        obs, _ = envs.reset(list(range(4)))
        starts.append({frame.tobytes() for frame in obs["obs"]})
        envs.close()
    assert starts[0] == starts[1]
    assert len(starts[0]) == 2


@pytest.mark.parametrize(("sticky", "wrappers"), [(0.0, ["atari"]), (0.25, ["atari", "episodic_life"])])
def test_a_restored_state_continues_bit_for_bit_across_new_seeds(sticky, wrappers, monkeypatch):
    monkeypatch.setattr(ale, "_RESEED", 70)
    kwargs = STOCK | {"repeat_action_probability": sticky}
    config = config_of("Breakout", kwargs=kwargs, wrappers=wrappers, max_episode_steps=160)
    envs, fresh = make_envs(config, "train"), make_envs(config, "train")
    envs.reset([3, 4])
    rng = np.random.default_rng(0)
    for _ in range(150):
        last = envs.step(rng.integers(0, 4, 2))
    state = json.loads(json.dumps(envs.capture()))
    assert state["rounds"] != [0, 0]
    obs, _, restarted = fresh.restore(state, [8, 9])
    assert restarted == []
    np.testing.assert_array_equal(obs["obs"], last.obs["obs"])
    for _ in range(150):
        actions = rng.integers(0, 4, 2)
        assert_same_step(envs.step(actions), fresh.step(actions))
    assert json.dumps(envs.capture()) == json.dumps(fresh.capture())
    envs.close()
    fresh.close()


def test_a_state_that_does_not_lead_back_starts_anew():
    envs = make_envs(config_of("Breakout", wrappers=["atari"]), "train")
    envs.reset([3, 4])
    for _ in range(5):
        envs.step(np.array([2, 3]))
    state = envs.capture()
    assert state is not None
    state["digests"][1] = "of something else"
    obs, _, restarted = envs.restore(state, [8, 9])
    assert restarted == [1]
    assert envs.restore({"kind": "replay", "envs": []}, [8, 9])[2] == [0, 1]
    other = make_envs(config_of("Breakout", wrappers=["atari"]), "train")
    np.testing.assert_array_equal(obs["obs"][1], other.reset([8, 9])[0]["obs"][1])
    envs.close()
    other.close()


def test_auto_takes_it_for_atari_games_in_every_role_but_not_for_pictures():
    config = config_of("Pong")
    for role in ("train", "eval", "play"):
        assert choose_backend(config, role) == "ale"
    assert choose_backend(config, "play", render=True) == "sync"
    assert choose_backend(config.model_copy(update={"backend": "ale"}), "play", render=True) == "sync"
    assert choose_backend(EnvConfig(id="ALE/Pong-v5"), "train") == "sync"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"wrappers": []}, "wrapper atari"),
        ({"wrappers": ["atari", "sticky_actions"]}, "wrapper atari"),
        ({"kwargs": {"mode": 1, **CALM}}, "mode"),
        ({"kwargs": {}}, "frameskip"),
        ({"legal_actions": [0, 1]}, "masks"),
        (
            {"id": "CartPole-v1", "wrappers": [], "kwargs": {}},
            "its family has compiled",
        ),
    ],
)
def test_what_it_cannot_serve_is_refused_with_the_reason(settings, words):
    with pytest.raises(ConfigError, match=words) as told:
        make_envs(config_of(backend="ale", **settings), "train")
    assert told.value.where == "env.backend"


def test_the_atari_wrapper_says_what_the_game_must_be_made_with():
    with pytest.raises(ConfigError, match="frameskip"):
        make_envs(EnvConfig.model_validate({"id": "ALE/Pong-v5", "wrappers": ["atari"]}), "train")


def test_a_game_is_described_alike_with_and_without_its_own_class():
    config = config_of("Pong", wrappers=["atari", {"clip_reward": {"sign": True, "roles": ["train"]}}])
    for role in ("train", "eval"):
        stock = make_envs(config.model_copy(update={"backend": "sync"}), role, num_envs=1)
        assert describe_env(config, role) == stock.spec
        assert stock.spec.max_episode_steps == 27_000  # ALE cuts games after 108,000 frames
        stock.close()
