"""Atari games from memory: objects where the screen shows them, starts, lives, fewer actions, resumes."""

import json
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from same_steps import assert_same_step

from gymsolve.envs.build import build_env, find_spec
from gymsolve.envs.contract import Episode
from gymsolve.envs.families.atari.objects import GAMES, find_bricks
from gymsolve.envs.families.atari.ram import AtariObjects
from gymsolve.envs.family_state import load_native, save_native
from gymsolve.envs.labels import find_keys, find_labels
from gymsolve.envs.make import choose_backend, make_envs
from gymsolve.envs.options import check_wrappers
from gymsolve.envs.spaces import action_spec
from gymsolve.errors import ConfigError
from gymsolve.settings.config import EnvConfig

RAM = {"obs_type": "ram"}
CALM = RAM | {"repeat_action_probability": 0.0}
PONG_COLOURS = {"player": (92, 186, 92), "enemy": (213, 130, 74), "ball": (236, 236, 236)}
BREAKOUT_RED = (200, 72, 72)


def config_of(game: str = "Pong", **more: Any) -> EnvConfig:
    settings = {"kwargs": CALM, "wrappers": ["atari_objects"], "num_envs": 2}
    return EnvConfig.model_validate({"id": f"ALE/{game}-v5", **settings, **more})


def play_screens(game: str, frames: int) -> Any:
    """Memory and screen of a game in which the player follows the ball."""
    spec = find_spec(f"ALE/{game}-v5")
    env = gym.make(spec, frameskip=1, repeat_action_probability=0.0, disable_env_checker=True)
    env.reset(seed=0)
    ale: Any = env.unwrapped.ale  # type: ignore[attr-defined]
    ball, player = (54, 51) if game == "Pong" else (99, 72)
    for frame in range(frames):
        ram = ale.getRAM()
        apart = int(ram[ball]) - int(ram[player]) - frame // 400 * 2
        action = 1 if game == "Breakout" and not ram[101] else 2 if apart > 2 else 3 if apart < -2 else 0
        screen, _, terminated, _, _ = env.step(action)
        yield ale.getRAM(), screen
        if terminated:
            env.reset()
    env.close()


def corner(screen: Any, colour: tuple[int, int, int], rows: slice, columns: slice) -> tuple[int, int] | None:
    y, x = np.nonzero((screen[rows, columns] == colour).all(axis=-1))
    return (int(x.min()) + columns.start, int(y.min()) + rows.start) if len(y) else None


def assert_seen(ours: Any, shown: Any, top: int, what: str) -> bool:
    """The same corner up to two lines, as far as the field's upper end does not hide it."""
    if ours is None or shown is None:
        return ours is shown
    assert ours[0] == shown[0], what
    assert abs(max(ours[1], top) - shown[1]) <= 2, what
    return True


def test_objects_of_pong_are_where_the_screen_shows_them() -> None:
    agreed, missing = 0, 0
    field = slice(34, 194)
    frames = 600
    for ram, screen in play_screens("Pong", frames):
        for thing, ours in zip(GAMES["pong"].things, GAMES["pong"].find(ram.tobytes()), strict=True):
            shown = corner(screen, PONG_COLOURS[thing.name], field, slice(0, 160))
            agreed += assert_seen(ours, shown, 34, thing.name)
            missing += ours is None
    # Sprites flicker: now and then the frame is a frame ahead of memory, where an object comes or goes.
    assert agreed > 0.99 * 3 * frames
    assert missing > 50


def test_objects_of_breakout_are_where_the_screen_shows_them() -> None:
    frames, agreed, hit = 1500, 0, 0
    for ram, screen in play_screens("Breakout", frames):
        player, ball = GAMES["breakout"].find(ram.tobytes())
        shown = corner(screen, BREAKOUT_RED, slice(190, 191), slice(8, 152))
        assert player is not None
        assert shown is not None
        agreed += abs(player[0] - shown[0]) <= 1
        # Between bricks and paddle, which have its colour, and the walls, which hide it.
        if ball is not None and 93 <= ball[1] < 180 and 8 <= ball[0] <= 150:
            assert corner(screen, BREAKOUT_RED, slice(93, 189), slice(8, 152)) == ball
        bricks = screen[60:93:6, 12:152:8].any(axis=-1)  # [rows, columns]
        left = find_bricks(ram)
        hidden = ball is not None and ball[1] < 93  # the ball is drawn where a brick is not
        assert hidden or (left == bricks).all() or abs(int(left.sum()) - int(bricks.sum())) <= 1
        hit = max(hit, 108 - int(left.sum()))
    assert agreed > 0.98 * frames
    assert hit >= 5


@pytest.mark.parametrize("game", ["Pong", "Breakout"])
def test_whatever_memory_holds_the_observation_is_in_its_space(game: str) -> None:
    env = build_env(config_of(game), "train").env
    assert isinstance(env, AtariObjects)
    env.reset(seed=0)
    rng = np.random.default_rng(0)
    for ram in [
        np.zeros(128, np.uint8),
        np.full(128, 255, np.uint8),
        *rng.integers(0, 256, (300, 128), np.uint8),
    ]:
        first, again = env._look(ram), env._look(ram)
        assert env.observation_space.contains(first)
        speeds = [index for index, name in enumerate(env.names) if "speed" in name]
        assert not again[speeds].any()  # nothing moved
        assert len(first) == len(env.names)
    env.close()


def test_speeds_are_differences_and_a_missing_ball_rests_in_the_middle() -> None:
    env = build_env(config_of(), "train").env
    assert isinstance(env, AtariObjects)
    env.reset(seed=0)
    ram = np.zeros(128, np.uint8)
    ram[[49, 54, 51, 50]] = 100, 120, 113, 115
    env._look(ram)
    ram[[49, 54, 51, 50]] = 104, 117, 123, 115
    assert env._look(ram).tolist() == [110, 10, 1, 100, 0, 1, 55, 103, 4, -3, 1]
    ram[54] = 0
    assert env._look(ram)[6:].tolist() == [80, 105, 0, 0, 0]
    ram[54] = 117
    assert env._look(ram)[6:].tolist() == [55, 103, 0, 0, 1]  # come back, not moved
    ram[49] = 180
    assert env._look(ram)[6:].tolist() == [131, 103, 0, 0, 1]  # another one
    env.close()


@pytest.mark.parametrize(
    ("game", "wrappers", "backend"),
    [
        ("Breakout", ["atari_objects", "episodic_life", "clip_reward"], "sync"),
        ("Pong", ["atari_objects", "episodic_point"], "async"),
    ],
)
def test_games_from_memory_resume_exactly_with_sticky_actions(game: str, wrappers: Any, backend: str) -> None:
    config = config_of(game, kwargs=RAM, wrappers=wrappers, backend=backend, max_episode_steps=60)
    envs, fresh = make_envs(config, "train"), make_envs(config, "train")
    envs.reset([3, 4])
    rng = np.random.default_rng(0)
    for _ in range(90):
        last = envs.step(rng.integers(0, 4, 2))
    state = json.loads(json.dumps(envs.capture()))
    obs, _, restarted = fresh.restore(state, [8, 9])
    assert restarted == []
    np.testing.assert_array_equal(obs["obs"], last.obs["obs"])
    for _ in range(90):
        actions = rng.integers(0, 4, 2)
        assert_same_step(envs.step(actions), fresh.step(actions))
    # A state of another emulator is refused, or one with an action that no console has: the game starts anew.
    own = state["envs"][1]["native"]["state"]
    for other in ("eJwDAAAAAAE=", own.partition(":")[0] + ":99", own + "x", "?"):
        state["envs"][1]["native"]["state"] = other
        assert fresh.restore(state, [8, 9])[2] == [1], other
    envs.close()
    fresh.close()


def test_a_snapshot_knows_which_action_would_stick_and_changes_nothing() -> None:
    kwargs = {**RAM, "frameskip": [1, 3], "repeat_action_probability": 0.5}  # a pair that YAML can say
    config = config_of(kwargs=kwargs, wrappers=["atari_ram"])
    played, undisturbed, restored = (build_env(config, "train").env for _ in range(3))
    for seed in range(4):
        rng = np.random.default_rng(seed)
        obs, _ = played.reset(seed=seed)
        undisturbed.reset(seed=seed)
        restored.reset(seed=seed + 100)
        for action in rng.integers(0, 6, 30):
            obs, *_ = played.step(action)
            undisturbed.step(action)
        load_native(config.id, restored, save_native(config.id, played, obs) or {})
        for action in rng.integers(0, 6, 12):
            seen = [env.step(action)[0].tolist() for env in (undisturbed, played, restored)]
            assert seen[0] == seen[1] == seen[2]


@pytest.mark.parametrize(("game", "ends"), [("Breakout", "episodic_life"), ("Pong", "episodic_point")])
def test_lives_and_points_end_episodes_in_training_and_nowhere_else(game: str, ends: str) -> None:
    wrappers = ["atari_objects", ends, {"scale_reward": {"factor": 2.0}}]
    config = config_of(game, wrappers=wrappers, num_envs=1, backend="sync")
    games: dict[str, list[Episode]] = {}
    for role in ("eval", "train"):
        envs = make_envs(config, role)
        envs.reset([1])
        rng, episodes, paid, points = np.random.default_rng(0), [], 0.0, 0
        # The same actions lead through both.
        while sum(one.length for one in episodes) < (games["eval"][0].length if games else 1):
            step = envs.step(rng.integers(0, 4, 1))
            paid, points = paid + float(step.rewards[0]), points + bool(step.rewards[0])
            episodes += step.episodes
        games[role] = episodes
        assert 2 * sum(episode.raw_return for episode in episodes) == paid
        envs.close()
    assert sum(episode.raw_return for episode in games["train"]) == games["eval"][0].raw_return
    assert sum(episode.length for episode in games["train"]) == games["eval"][0].length
    assert len(games["train"]) == (5 if game == "Breakout" else points)
    assert len(check_wrappers(config, "train")) == len(check_wrappers(config, "play")) + 1


def test_games_begin_after_some_idle_frames() -> None:
    config = config_of(
        "Breakout", kwargs=CALM, wrappers=[{"atari_ram": {"noop_max": 3, "fire_reset": False}}]
    )
    envs = make_envs(config.model_copy(update={"num_envs": 6, "backend": "sync"}), "train")
    starts = {row.tobytes() for row in envs.reset(list(range(6)))[0]["obs"]}
    assert len(starts) == 3
    envs.close()


@pytest.mark.parametrize(
    ("game", "kwargs", "names", "labels"),
    [
        ("Pong", CALM, ["RIGHT", "left"], ("right", "left")),
        ("Boxing", CALM, ["NOOP", "UPRIGHTFIRE"], ("noop", "up right fire")),
    ],
)
def test_fewer_actions_keep_their_names_and_keys(game: str, kwargs: Any, names: Any, labels: Any) -> None:
    config = config_of(game, kwargs=kwargs, wrappers=["atari_ram", {"atari_actions": {"names": names}}])
    env = build_env(config, "eval").env
    action = action_spec(env.action_space)
    told = find_labels(env, config.id, action)
    assert told.names == labels
    keys = {"right": ("right",), "left": ("left",), "noop": (), "up right fire": ("up", "right", "space")}
    assert find_keys(config.id, told) == {keys[name]: number for number, name in enumerate(labels)}
    env.close()


PIXELS = {"frameskip": 1, "obs_type": "grayscale"}


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"id": "ALE/Boxing-v5"}, "objects of 'boxing' cannot be read, only those of Breakout and Pong"),
        ({"id": "ALE/Pong-v5", "kwargs": {}}, "'obs_type': 'ram'"),
        ({"id": "CartPole-v1", "kwargs": {}}, "an Atari game"),
        ({"wrappers": ["atari_objects", {"atari_actions": {"names": ["RIHGT"]}}]}, "Did you mean 'RIGHT'"),
        ({"wrappers": ["atari_objects", {"atari_actions": {"names": ["UP", "LEFT"]}}]}, "It has NOOP, FIRE"),
        ({"wrappers": ["atari_objects", {"atari_actions": {"names": ["LEFT", "left"]}}]}, "named twice"),
        ({"wrappers": ["atari_objects", {"atari_actions": {"names": []}}]}, "list of actions is empty"),
        (
            {"kwargs": PIXELS, "wrappers": ["atari", {"atari_actions": {"names": ["JUMP"]}}]},
            "no action 'JUMP'",
        ),
        ({"id": "CartPole-v1", "kwargs": {}, "wrappers": ["episodic_life"]}, "an Atari game"),
        ({"kwargs": {**PIXELS, "continuous": True}, "wrappers": ["atari"]}, "without continuous"),
        ({"kwargs": {**RAM, "sound_obs": True}}, "without sound"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_sentence(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as told:
        make_envs(config_of(**{"game": "Pong", **settings}), "train")
    assert str(told.value.where).startswith("env.wrappers")


@pytest.mark.parametrize("kwargs", [PIXELS, RAM])
@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("repeat_action_probability", 25, "a probability from 0 to 1; got 25"),
        ("repeat_action_probability", True, "a probability from 0 to 1; got True"),
        ("frameskip", [4, 4], r"the smaller one first; got \[4, 4\]"),
        ("frameskip", [2, "x"], "a whole number of frames"),
        ("frameskip", 2.5, "a whole number of frames"),
        ("frameskip", 0, "a whole number of frames"),
        ("max_num_frames_per_episode", -5, "a whole number; got -5"),
        ("max_num_frames_per_episode", "many", "a whole number; got 'many'"),
        ("mode", "hard", "a whole number; got 'hard'"),
        ("difficulty", 1.5, "a whole number; got 1.5"),
        ("obs_type", "gray", "rgb, grayscale or ram; got 'gray'"),
        ("full_action_space", "no", "true or false; got 'no'"),  # any text would mean yes
        ("game", "breakout", "left out, since the id says which game it is"),
    ],
)
def test_arguments_of_the_emulator_are_refused_where_they_stand(
    kwargs: dict[str, Any], name: str, value: Any, words: str
) -> None:
    wrappers = ["atari"] if kwargs is PIXELS else ["atari_ram"]
    with pytest.raises(ConfigError, match=words) as told:
        make_envs(config_of(kwargs={**kwargs, name: value}, wrappers=wrappers), "train")
    assert told.value.where == f"env.kwargs.{name}"


def test_objects_are_stepped_by_python_and_pixels_with_lives_by_the_emulators_own_class() -> None:
    assert choose_backend(config_of(), "train") == "sync"
    wrappers = ["atari", {"atari_actions": {"names": ["RIGHT", "LEFT"]}}, "episodic_life"]
    assert choose_backend(config_of(kwargs=PIXELS, wrappers=wrappers), "train") == "ale"
