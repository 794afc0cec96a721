"""MiniGrid and MinAtar: plain ids, names of actions, and grids of codes as categories."""

import numpy as np
import pytest

from gymsolve.envs.build import build_env
from gymsolve.envs.describe import describe_env
from gymsolve.envs.determinism import check_determinism
from gymsolve.envs.families import find_family
from gymsolve.envs.labels import find_keys, find_labels
from gymsolve.envs.open_render_env import open_render_env
from gymsolve.envs.spaces import action_spec
from gymsolve.errors import ConfigError
from gymsolve.recipes import resolve
from gymsolve.settings.config import EnvConfig

DOORKEY = "MiniGrid-DoorKey-5x5-v0"


def build(env_id, *wrappers):
    return build_env(EnvConfig.model_validate({"id": env_id, "wrappers": list(wrappers)}), "train").env


def labels_of(env_id, env):
    return find_labels(env, env_id, action_spec(env.action_space))


@pytest.mark.parametrize(
    ("env_id", "family", "names"),
    [
        (DOORKEY, "minigrid", ("left", "right", "forward", "pick up", "drop", "toggle", "done")),
        ("MiniGrid-Dynamic-Obstacles-5x5-v0", "minigrid", ("left", "right", "forward")),
        ("MinAtar/Breakout-v1", "minatar", ("noop", "left", "right")),
        ("MinAtar/Breakout-v0", "minatar", ("noop", "left", "up", "right", "down", "fire")),
        ("MinAtar/SpaceInvaders-v1", "minatar", ("noop", "left", "right", "fire")),
        ("MinAtar/Asterix-v1", "minatar", ("noop", "left", "up", "right", "down")),
        ("MinAtar/Freeway-v1", "minatar", ("noop", "up", "down")),
        ("MinAtar/Seaquest-v1", "minatar", ("noop", "left", "up", "right", "down", "fire")),
    ],
)
def test_a_plain_id_is_enough_and_actions_have_their_own_names(env_id, family, names):
    pytest.importorskip(family)
    assert find_family(env_id).name == family
    assert labels_of(env_id, build(env_id)).names == names


def test_the_minimal_actions_of_minatar_are_those_that_are_named():
    minatar = pytest.importorskip("minatar")
    for name in ("asterix", "breakout", "freeway", "seaquest", "space_invaders"):
        game = minatar.Environment(name)
        title = "".join(word.capitalize() for word in name.split("_"))
        letters = [game.env.action_map[action] for action in game.minimal_action_set()]
        words = {"n": "noop", "l": "left", "u": "up", "r": "right", "d": "down", "f": "fire"}
        env_id = f"MinAtar/{title}-v1"
        assert labels_of(env_id, build(env_id)).names == tuple(words[letter] for letter in letters)


def test_a_time_limit_that_a_grid_keeps_itself_is_known():
    pytest.importorskip("minigrid")

    def limit(env_id, **settings):
        return describe_env(EnvConfig.model_validate({"id": env_id, **settings})).max_episode_steps

    env = build(DOORKEY)
    env.reset(seed=0)
    ends = [env.step(0)[2:4] for _ in range(250)]
    assert ends == [(False, False)] * 249 + [(False, True)]
    assert limit(DOORKEY) == 250
    short = {"kwargs": {"max_steps": 30}, "wrappers": [{"frame_skip": {"skip": 4}}]}
    assert limit(DOORKEY, **short) == 8
    assert limit("BabyAI-GoToObj-v0") is None  # another one in every episode


def test_keys_of_minatar():
    pytest.importorskip("minatar")
    keys = find_keys("MinAtar/Breakout-v1", labels_of("MinAtar/Breakout-v1", build("MinAtar/Breakout-v1")))
    assert keys == {(): 0, ("left",): 1, ("right",): 2}


def test_keys_of_minigrid():
    pytest.importorskip("minigrid")
    keys = find_keys(DOORKEY, labels_of(DOORKEY, build(DOORKEY)))
    assert keys == {
        (key,): choice for choice, key in enumerate(["left", "right", "up", "p", "d", "space", "return"])
    }
    balls = "MiniGrid-Dynamic-Obstacles-5x5-v0"
    assert find_keys(balls, labels_of(balls, build(balls))) == {("left",): 0, ("right",): 1, ("up",): 2}


@pytest.mark.parametrize(
    ("variant", "kind", "shape"), [("cnn", "image", (4, 10, 10)), ("ppo", "vector", (400,))]
)
def test_the_pictures_of_minatar_are_flags(variant, kind, shape):
    pytest.importorskip("minatar")
    entry = describe_env(resolve(f"MinAtar/Breakout-v1:{variant}").config.env, "train").obs["obs"]
    assert (entry.kind, entry.shape, max(entry.high)) == (kind, shape, 1.0)


def test_codes_become_categories_and_nothing_is_lost():
    pytest.importorskip("minigrid")
    plain, coded = build(DOORKEY), build(DOORKEY, "grid_codes")
    for seed in range(3):
        before, after = plain.reset(seed=seed)[0], coded.reset(seed=seed)[0]
        assert after["direction"] == before["direction"]
        cells = np.moveaxis(before["image"], 0, -1)  # channels come first for networks
        np.testing.assert_array_equal(after["image"].reshape(7, 7, 3), cells)
        assert coded.observation_space["image"].contains(after["image"])
    entry = describe_env(resolve(DOORKEY).config.env, "train").obs
    assert set(entry) == {"direction", "image"}  # the mission is text
    assert entry["image"].kind == "discrete"


def test_codes_that_do_not_fit_are_told():
    pytest.importorskip("minigrid")
    with pytest.raises(ConfigError, match="with 3 channels is needed"):
        build("CartPole-v1", "grid_codes")
    with pytest.raises(ValueError, match="larger than `counts`"):
        build(DOORKEY, {"grid_codes": {"counts": [2, 2, 2]}}).reset(seed=0)


@pytest.mark.parametrize(
    ("env_id", "space", "told"),
    [
        ("MiniGrid-GoToDoor-5x5-v0", "MultiDiscrete([6])", ("colour",)),
        ("MiniGrid-PutNear-6x6-N2-v0", "MultiDiscrete([6 3 6 3])", ("colour", "kind", "colour", "kind")),
        ("MiniGrid-Fetch-5x5-N2-v0", "MultiBinary(13)", None),
    ],
)
def test_the_words_of_missions_become_categories(env_id, space, told):
    pytest.importorskip("minigrid")
    env = build(env_id, "grid_codes", "mission_words")
    assert str(env.observation_space["mission"]) == space
    kinds = {
        "colour": ["blue", "green", "grey", "purple", "red", "yellow"],
        "kind": ["ball", "box", "key"],
    }
    codes = {}
    for seed in range(40):
        obs = env.reset(seed=seed)[0]
        assert env.observation_space.contains(obs)
        mission = env.unwrapped.mission
        assert codes.setdefault(tuple(obs["mission"].tolist()), mission) == mission  # each has its own code
        if told is not None:
            said = [kinds[one][code] for one, code in zip(told, obs["mission"], strict=True)]
            assert [word for word in mission.split() if word in (*kinds["colour"], *kinds["kind"])] == said
    assert len(codes) > 4
    assert not describe_env(EnvConfig(id=env_id, wrappers=["grid_codes", "mission_words"]), "train").notes


@pytest.mark.parametrize(
    ("env_id", "told"),
    [
        (DOORKEY, "it is always 'use the key to open the door and then get to the goal'; leave this"),
        ("BabyAI-GoToLocal-v0", "does not list its missions"),
        ("CartPole-v1", "an entry 'mission' with text is needed"),
    ],
)
def test_missions_without_words_to_tell_are_refused(env_id, told):
    pytest.importorskip("minigrid")
    with pytest.raises(ConfigError, match=told):
        build(env_id, "mission_words")


def test_minatar_is_drawn_large_enough_to_see():
    pytest.importorskip("minatar")
    stage = open_render_env(resolve("MinAtar/Breakout-v1").config.env)
    try:
        stage.reset(0)
        picture = stage.render()
    finally:
        stage.close()
    assert (picture.shape, picture.dtype) == ((240, 240, 3), np.uint8)
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 2


@pytest.mark.parametrize("game", ["Asterix", "Breakout", "Freeway", "Seaquest", "SpaceInvaders"])
def test_episodes_of_minatar_follow_from_the_seed_and_can_be_resumed(game):
    pytest.importorskip("minatar")
    config = resolve(f"MinAtar/{game}-v1").config.env.model_copy(update={"max_episode_steps": 30})

    def play(env, seed):
        seen = [env.reset(seed=seed)[0]]
        while len(seen) < 80:
            obs, _, ended, cut, _ = env.step(len(seen) % 3)
            seen.append(env.reset()[0] if ended or cut else obs)
        return np.stack(seen)

    first, second = (build_env(config, "train").env for _ in range(2))
    np.testing.assert_array_equal(play(first, 3), play(second, 3))
    assert not np.array_equal(play(first, 3), play(first, 4))
    assert check_determinism(config).resumes_exactly


def test_episodes_with_missions_can_be_resumed():
    pytest.importorskip("minigrid")
    config = resolve("MiniGrid-GoToDoor-5x5-v0").config.env.model_copy(update={"max_episode_steps": 30})
    found = check_determinism(config)
    assert (found.resumes_exactly, found.seed_reproduces, found.copies_identical) == (True, True, False)
