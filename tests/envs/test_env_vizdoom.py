"""Doom: the real engine, its ends and seeds, what players press, what happens, and engines that die."""

import importlib
import json
import os
import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from same_steps import assert_same_step

import gymsolve
from gymsolve.envs.build import build_env
from gymsolve.envs.derive import derive_recipe
from gymsolve.envs.families.vizdoom.game import load_vizdoom, register_games, wads_folder
from gymsolve.envs.labels import find_keys, find_labels
from gymsolve.envs.make import make_envs
from gymsolve.envs.open_render_env import open_render_env
from gymsolve.envs.spaces import action_spec
from gymsolve.errors import ConfigError, EngineDiedError, UnknownEnvError, UsageError
from gymsolve.recipes import list_recipes, resolve
from gymsolve.settings.config import EnvConfig
from processes import soon_gone

vizdoom = pytest.importorskip("vizdoom", reason="needs the extra vizdoom")

SMALL = {"frame_skip": 4, "screen_resolution": "RES_160X120"}
ALL = {**SMALL, "max_buttons_pressed": 0}
PICTURES = [{"resize": {"width": 32, "height": 24}}, "grayscale"]
SHAPED = ["doom_buttons", "doom_events", {"reward_components": {"components": {"shots": -1.0}}}, *PICTURES]


def settings(scenario, *wrappers, kwargs=SMALL, **more):
    name = scenario if "-v" in scenario else f"Vizdoom{scenario}-v1"
    return EnvConfig.model_validate({"id": name, "kwargs": kwargs, "wrappers": list(wrappers), **more})


def build(scenario, *wrappers, kwargs=SMALL, **more):
    return build_env(settings(scenario, *wrappers, kwargs=kwargs, **more), "train").env


def speaker(env):
    """The layer that offers buttons, whatever is above it."""
    while not hasattr(env, "get_action_meanings") and not hasattr(env, "get_part_meanings"):
        env = env.env
    return env


def variable(env, name):
    return env.unwrapped.game.get_game_variable(vizdoom.GameVariable.__members__[name])


def engine_of(env):
    """The process of an environment's engine."""
    mark = f"viz_instance_id\0{env.unwrapped.game.get_instance_id()}\0".encode()
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if mark in place.read_bytes():
                return int(place.parent.name)
        except OSError:
            continue
    raise AssertionError("no engine runs")


def kill(engine):
    os.kill(engine, signal.SIGKILL)
    assert soon_gone(engine)


def same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[key], other[key]) for key in one)


# ------------------------------------------------------------------------------------- the game


@pytest.mark.parametrize(
    ("scenario", "skip", "choice"), [("Basic", 7, None), ("DefendCenter", 4, 1), ("HealthGathering", 4, None)]
)
def test_it_is_the_packages_own_scenario_but_for_its_ends(scenario, skip, choice, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where the stock engine leaves its files
    kwargs = {**SMALL, "frame_skip": skip}
    definitions = importlib.import_module("vizdoom.gymnasium_wrapper.gymnasium_env_defns")
    rng, cut, ended = np.random.default_rng(0), 0, 0
    ours = build_env(settings(scenario, kwargs=kwargs), "eval")
    registered = gym.spec(ours.env.spec.id).kwargs
    with closing(ours.env) as env, closing(definitions.VizdoomScenarioEnv(**registered, **kwargs)) as stock:
        for seed in (5, None, None):
            (mine, _), (theirs, _) = env.reset(seed=seed), stock.reset(seed=seed)
            steps, over = 0, False
            while not over:
                steps += 1
                np.testing.assert_array_equal(mine["screen"], np.moveaxis(theirs["screen"], -1, 0))
                assert all(np.array_equal(mine[key], theirs[key]) for key in theirs if key != "screen")
                action = int(rng.integers(stock.action_space.n)) if choice is None else choice
                before = mine
                mine, paid, terminated, truncated, _ = env.step(action)
                theirs, due, over, timed_out, _ = stock.step(action)
                assert paid == due
                assert (terminated or truncated) == over
            assert truncated == timed_out  # the engine's own word for it
            assert terminated != truncated
            assert mine["screen"].any()
            assert truncated or same(before, mine)  # the engine shows nothing after an end
            limit = ours.max_episode_steps
            assert limit is None or (steps == limit if truncated else steps <= limit)
            cut, ended = cut + truncated, ended + terminated
    assert (cut > 0) == (scenario == "Basic")
    assert ended or scenario == "Basic"


def test_a_truncated_episode_has_its_true_last_observation():
    kwargs = {**SMALL, "frame_skip": 10}
    with (
        closing(build("Basic", kwargs=kwargs)) as env,
        closing(build("Basic", kwargs={**kwargs, "episode_timeout": 1000})) as longer,
    ):
        env.reset(seed=0)
        longer.reset(seed=0)
        for choice in [2] * 27 + [3] * 3:  # to the right, and back at the end
            before = longer.unwrapped.state.screen_buffer
            cut, uncut = env.step(choice), longer.step(choice)
        assert cut[2:4] == (False, True)
        assert uncut[2:4] == (False, False)
        assert same(cut[0], uncut[0])
        assert not np.array_equal(np.moveaxis(before, -1, 0), uncut[0]["screen"])


def test_seeds_take_effect():
    with closing(build("Basic")) as one, closing(build("Basic")) as other:
        first = {seed: one.reset(seed=seed)[0]["screen"].tobytes() for seed in range(6)}
        assert len(set(first.values())) >= 5  # the monster may stand in the same place by chance
        other.reset(seed=99)
        other.step(1)
        for seed in (3, 0):
            assert other.reset(seed=seed)[0]["screen"].tobytes() == first[seed]


def test_it_draws_for_people():
    config = settings("Basic", *PICTURES)
    with closing(build_env(config, "eval", render=True).env) as env:
        env.reset(seed=0)
        frame = env.render()
        assert frame.shape == (360, 480, 3)
        assert frame.std() > 10
        while not env.step(0)[3]:
            pass
        assert env.render().std() > 10  # the package's own last frame is black


@pytest.mark.parametrize(("stack", "channels"), [(1, 1), (3, 3)])
def test_pictures_always_have_a_channel_axis(stack, channels):
    config = settings("Basic", "doom_buttons", *PICTURES, kwargs=ALL, frame_stack=stack, num_envs=1)
    with closing(make_envs(config, "train")) as envs:
        obs, _ = envs.reset([0])
        assert obs["screen"].shape == (1, channels, 24, 32)
        assert obs["gamevariables"].tolist() == [[50.0] * stack]
    with closing(build("Basic", kwargs={**SMALL, "screen_format": "GRAY8"}, frame_stack=stack)) as env:
        assert env.observation_space["screen"].shape == (channels, 120, 160)


def test_skill_and_status_bar_and_variables_are_chosen():
    kwargs = {**SMALL, "doom_skill": 2, "available_game_variables": ["health", "KILLCOUNT"]}
    with closing(build("DefendCenter", kwargs=kwargs)) as env:
        obs, _ = env.reset(seed=0)
        assert obs["gamevariables"].tolist() == [100.0, 0.0]
        assert env.unwrapped.game.get_doom_skill() == 2
        plain = obs["screen"]
    with closing(build("DefendCenter", kwargs={**kwargs, "render_hud": True})) as env:
        barred = env.reset(seed=0)[0]["screen"]
    assert (plain != barred).any(axis=(0, 2))[-8:].all()


# -------------------------------------------------------------------------------------- actions


def test_combinations_are_of_the_scenarios_own_buttons():
    with closing(build("DefendCenter", "doom_buttons", kwargs=ALL)) as env:
        names = speaker(env).get_action_meanings()
        assert names == [
            *("noop", "turn left", "turn right", "attack", "turn left + attack", "turn right + attack"),
        ]
        labels = find_labels(env, "VizdoomDefendCenter-v1", action_spec(env.action_space))
        assert labels.names == tuple(names)
        keys = find_keys("VizdoomDefendCenter-v1", labels)
        assert keys[("left", "space")] == 4
        assert keys[()] == 0
        env.reset(seed=0)
        pad = [button.name for button in env.unwrapped.game.get_available_buttons()]
        for choice, name in enumerate(names):
            env.step(choice)
            held = [one for one, down in zip(pad, env.unwrapped.game.get_last_action(), strict=True) if down]
            assert " + ".join(held).replace("_", " ").lower() == name.replace("noop", "")


@pytest.mark.parametrize(
    ("scenario", "wrapper", "count"),
    [
        ("Basic", "doom_buttons", 6),
        ("DeadlyCorridor", "doom_buttons", 26),
        ("DeadlyCorridor", {"doom_buttons": {"at_once": 4}}, 54),
        ("Deathmatch", "doom_buttons", 26),
        ("TakeCover", {"doom_buttons": {"buttons": ["", "MOVE_LEFT"]}}, 2),
    ],
)
def test_impossible_combinations_are_not_offered(scenario, wrapper, count):
    env = build(scenario, wrapper, kwargs=ALL)
    names = speaker(env).get_action_meanings()
    assert env.action_space.n == len(names) == len(set(names)) == count
    for name in names:
        for one, other in (("move left", "move right"), ("turn left", "turn right"), ("forward", "backward")):
            assert not (one in name and other in name)


def test_axes_press_one_of_two_opposites_at_most():
    wrapper = {
        "doom_axes": {"buttons": ["ATTACK", "MOVE_LEFT", "MOVE_RIGHT", "SELECT_WEAPON1", "SELECT_WEAPON2"]}
    }
    with closing(build("Deathmatch", wrapper, kwargs=ALL)) as env:
        assert env.action_space.nvec.tolist() == [3, 3, 2]
        labels = find_labels(env, "VizdoomDeathmatch-v1", action_spec(env.action_space))
        assert labels.describe(np.array([2, 0, 1])) == "move right + attack"
        assert labels.describe(np.array([0, 0, 0])) == "noop"
        env.reset(seed=0)
        env.step(np.array([2, 1, 1]))
        game = env.unwrapped.game
        held = [
            button.name
            for button, value in zip(game.get_available_buttons(), game.get_last_action(), strict=True)
            if value
        ]
        assert held == ["ATTACK", "MOVE_RIGHT", "SELECT_WEAPON1"]


def test_stock_actions_have_names_too():
    for name, action, words in (
        ("VizdoomBasic-v1", np.int64(1), "attack"),
        ("VizdoomBasic-MultiBinary-v1", np.array([1, 0, 1]), "move left + attack"),
    ):
        env = build(name)
        assert find_labels(env, name, action_spec(env.action_space)).describe(action) == words


def test_use_opens_a_door():
    door, before_it = 34, "500 1024"
    kwargs = {**SMALL, "audio_buffer_enabled": False, "automap_buffer_enabled": False}
    kwargs["sectors_info_enabled"] = True
    with closing(build("VizdoomFreedoom1E1M1-S1-v0", "doom_buttons", "doom_events", kwargs=kwargs)) as env:
        env.reset(seed=0)
        names = speaker(env).get_action_meanings()

        def opening():
            sector = env.unwrapped.state.sectors[door]
            return sector.ceiling_height - sector.floor_height

        env.unwrapped.game.send_game_command(f"warp {before_it}")
        for _ in range(4):
            info = env.step(names.index("move forward"))[4]
        assert opening() == 0
        assert info["explored"] == 0
        env.step(names.index("use"))
        for _ in range(10):
            env.step(names.index("noop"))
        assert opening() > 56  # a player is 56 high
        entered = 0.0
        for _ in range(20):
            *_, info = env.step(names.index("move forward"))
            entered += info["explored"]
        assert variable(env, "POSITION_X") > 560  # behind the door
        assert entered > 0


# --------------------------------------------------------------------------------------- events


def events_of(env, names, *, until=400):
    """Play choices by name; what `info` told of each step."""
    found = []
    for choice in names[:until]:
        *_, terminated, truncated, info = env.step(choice)
        found.append(info)
        if terminated or truncated:
            break
    return found


def total(found, name):
    return sum(info[name] for info in found)


def test_shots_hits_and_kills_are_told():
    with closing(build("Basic", "doom_buttons", "doom_events", kwargs=ALL)) as env:
        names = speaker(env).get_action_meanings()
        attack = names.index("attack")
        env.reset(seed=0)
        start = variable(env, "AMMO2")
        found = events_of(env, [attack] * 20)
        assert total(found, "shots") == start - variable(env, "AMMO2") > 1
        assert total(found, "kills") == total(found, "hits") == 0  # the monster is elsewhere
        assert total(found, "movement") == 0
        left = events_of(env, [names.index("move left")] * 6)
        assert total(left, "movement") > 50
        assert total(left, "shots") == 0
        # Shooting while walking along the wall meets it.
        for seed, way in ((0, "move left + attack"), (0, "move right + attack")):
            env.reset(seed=seed)
            found = events_of(env, [names.index(way)] * 75)
            if total(found, "kills"):
                break
        assert total(found, "kills") == 1
        assert total(found, "hits") >= 1
        assert total(found, "damage") > 0
        assert found[-1]["kills"] == 1  # told although there is no state after the end
        assert total(found, "death") == 0


def test_wounds_and_death_are_told():
    with closing(build("DefendCenter", {"doom_events": {"variables": ["angle"]}})) as env:
        env.reset(seed=0)
        turned = events_of(env, [2] * 3)
        assert total(turned, "angle") % 360 != 0
        found = events_of(env, [0] * 400)
        assert total(found, "health") == -100
        assert total(found, "health_lost") == 100 + total(found, "health_gained")
        assert total(found, "damage_taken") >= 100
        assert total(found, "hits_taken") > 0
        assert [info["death"] for info in found[-2:]] == [0, 1]


def test_medikits_are_told():
    with closing(build("HealthGathering", "doom_buttons", "doom_events", kwargs=ALL)) as env:
        names = speaker(env).get_action_meanings()
        env.reset(seed=1)
        before = variable(env, "HEALTH")
        found = events_of(
            env, [names.index("move forward")] * 30 + [names.index("turn left + move forward")] * 60
        )
        gains = [info["health_gained"] for info in found if info["health_gained"]]
        assert gains
        assert all(gain > 10 for gain in gains)
        assert total(found, "health_lost") > 0
        assert total(found, "explored") >= 3
        assert total(found, "health") == max(variable(env, "HEALTH"), 0) - before


def test_raw_returns_are_the_tasks_own():
    config = settings("Basic", *SHAPED, kwargs={**ALL, "frame_skip": 20}, num_envs=1)
    with closing(make_envs(config, "train")) as envs:
        assert envs.spec.components == ("base", "shots")
        envs.reset([0])
        paid, shots = 0.0, 0.0
        while True:
            step = envs.step(np.array([3]))  # attack
            paid, shots = paid + step.components[0, 0], shots + step.components[0, 1]
            if step.episodes:
                break
        episode = step.episodes[0]
        assert episode.raw_return == paid == -300.0 - 5 * -shots
        assert shots < 0
        assert episode.shaped_return == pytest.approx(paid + shots)


# ------------------------------------------------------------------------- resume, death, files


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_a_restored_state_continues_bit_for_bit(backend):
    config = settings(
        "DefendCenter", *SHAPED, kwargs={**ALL, "frame_skip": 10}, frame_stack=2, num_envs=2, backend=backend
    )
    rng = np.random.default_rng(0)
    with closing(make_envs(config, "train")) as envs, closing(make_envs(config, "train")) as fresh:
        envs.reset([3, 4])
        ended = 0
        for _ in range(70):
            step = envs.step(rng.integers(6, size=2))
            ended += len(step.episodes)
        assert ended  # later episodes have no seed of their own
        state = json.loads(json.dumps(envs.capture()))
        obs, _, restarted = fresh.restore(state, [7, 8])
        assert restarted == []
        assert same(obs, step.obs)
        for _ in range(50):
            action = rng.integers(6, size=2)
            assert_same_step(envs.step(action), fresh.step(action))


@pytest.mark.slow
def test_a_resumed_training_equals_an_uninterrupted_one(tmp_path):
    quick = {
        "env.num_envs": 2,
        "env.kwargs.frame_skip": 20,
        "env.wrappers": SHAPED,
        "env.frame_stack": 1,
        "algo.num_steps": 32,
        "algo.num_epochs": 1,
        "algo.num_minibatches": 1,
        "algo.learning_rate": 1e-3,
        "net.hidden": [16],
        "eval.episodes": 1,
        "eval.every": 10_000,
        "solved_at": 1e9,
    }
    whole = gymsolve.train("VizdoomBasic-v1", {**quick, "steps": 128}, runs_dir=tmp_path / "whole").run
    begun = gymsolve.train("VizdoomBasic-v1", {**quick, "steps": 64}, runs_dir=tmp_path / "begun").run
    gymsolve.resume(begun, {"steps": 128})
    weights = [
        next(run.path.glob("checkpoints/128/policy.safetensors")).read_bytes() for run in (whole, begun)
    ]
    assert weights[0] == weights[1]


@pytest.mark.parametrize("backend", ["sync", "async"])
def test_the_death_of_an_engine_costs_an_episode(backend):
    config = settings("DefendCenter", *SHAPED, kwargs=ALL, num_envs=2, backend=backend, workers=2)
    with closing(make_envs(config, "train")) as envs:
        envs.reset([1, 2])
        before = envs.step(np.array([1, 1]))
        children = engines_below(os.getpid())
        assert len(children) == 2
        kill(children[0])
        step = envs.step(np.array([1, 1]))
        lost = int(np.argmin(step.valid))
        assert step.valid.tolist() == [lost != 0, lost != 1]
        assert step.truncated[lost]
        assert step.cut[lost]
        assert "died" in step.faults[0]
        assert step.episodes == []
        np.testing.assert_array_equal(step.final_obs["screen"][lost], before.obs["screen"][lost])
        after = envs.step(np.array([1, 1]))
        assert after.valid.all()
        assert not after.faults
    assert soon_gone(*children)


def engines_below(pid):
    found = []
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = place.read_text().rpartition(")")[::2]
        except OSError:
            continue
        if int(rest.split()[1]) == pid:
            child = int(place.parent.name)
            found += [child] if name.endswith("(vizdoom") else engines_below(child)
    return found


def test_an_engine_that_dies_between_episodes_costs_nothing():
    with closing(build("Basic")) as env:
        env.reset(seed=1)
        expected = env.reset()[0]
        env.reset(seed=1)
        kill(engine_of(env))
        assert same(env.reset()[0], expected)
        assert not same(env.reset()[0], expected)
        assert not same(env.reset(seed=1)[0], expected)
        assert same(env.reset()[0], expected)
        kill(engine_of(env))
        with pytest.raises(EngineDiedError, match="engine of Doom is gone"):
            env.step(0)


def test_nothing_is_left_behind(tmp_path):
    """Whoever is killed leaves neither an engine nor files, and the working directory stays as it was."""
    code = (
        "import os, sys; from gymsolve.settings.config import EnvConfig\n"
        "from gymsolve.envs.build import build_env\n"
        "env = build_env(EnvConfig(id='VizdoomBasic-v1'), 'train').env; env.reset(seed=0)\n"
        "print(env.unwrapped.game.get_instance_id(), flush=True); env.step(0); sys.stdin.read()"
    )
    temporary = tmp_path / "tmp"
    work = tmp_path / "work"
    temporary.mkdir()
    work.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=work,
        env={**os.environ, "TMPDIR": str(temporary)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        instance = process.stdout.readline().strip()
        (engine,) = engines_below(process.pid)
        assert os.getsid(engine) == engine  # Ctrl-C of a terminal does not reach it
        process.kill()
    assert instance
    assert soon_gone(engine)
    assert not list(Path("/dev/shm").glob(f"*{instance}"))
    assert not list(work.iterdir())
    assert not list(temporary.iterdir())


# ------------------------------------------------------------------------------- bad input, recipes


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"kwargs": {"doom_skill": 9}}, r"env.kwargs.doom_skill: should be from 1 .* to 5 .*; got 9"),
        ({"kwargs": {"doom_skill": "hard"}}, "doom_skill: should be from 1"),
        ({"kwargs": {"frame_skip": 0}}, "env.kwargs.frame_skip: should be a number of tics from 1; got 0"),
        ({"kwargs": {"available_buttons": ["FIRE"]}}, "Doom has no button 'FIRE'"),
        ({"kwargs": {"available_buttons": []}}, "should be a list such as"),
        ({"kwargs": {"available_game_variables": ["HELTH"]}}, "game variable 'HELTH'. Did you mean 'HEALTH'"),
        ({"kwargs": {"screen_resolution": "RES_64X48"}}, "no resolution 'RES_64X48'"),
        ({"kwargs": {"screen_format": "GRAY"}}, "no format 'GRAY'. Did you mean 'GRAY8'"),
        ({"kwargs": {"render_hat": True}}, "env.kwargs.render_hat: ViZDoom has no such option. Did you mean"),
        ({"kwargs": {"render_hud": 3}}, "env.kwargs.render_hud: ViZDoom does not take 3"),
        ({"kwargs": {"doom_map": "map99"}}, "there is no map 'map99'. .*MAP01"),
        ({"kwargs": {"doom_game_path": "nowhere.wad"}}, "there is no file '.*nowhere.wad'"),
        ({"wrappers": ["doom_buttons"]}, "set env.kwargs.max_buttons_pressed=0"),
        ({"wrappers": [{"doom_events": {"variables": ["AMO2"]}}]}, "no game variable 'AMO2'. Did you mean"),
        (
            {"kwargs": ALL, "wrappers": [{"doom_buttons": {"buttons": ["USE"]}}]},
            "no button 'USE'. It has MOVE_LEFT, MOVE_RIGHT, ATTACK",
        ),
        (
            {"kwargs": ALL, "wrappers": [{"doom_buttons": {"buttons": ["MOVE_LEFT MOVE_RIGHT"]}}]},
            "cancel each other out",
        ),
        ({"id": "CartPole-v1", "wrappers": ["doom_events"]}, "a Doom scenario is needed"),
        ({"id": "CartPole-v1", "wrappers": ["doom_axes"]}, "a Doom scenario is needed"),
    ],
)
def test_wrong_options_are_one_sentence(wrong, told):
    with pytest.raises(ConfigError, match=told):
        build_env(EnvConfig.model_validate({"id": "VizdoomBasic-v1", **wrong}), "train")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("VizdoomBasic-v0", "Did you mean 'VizdoomBasic-v1'"),
        ("VizDoom-Basic-v0", "Did you mean 'VizdoomBasic-v1'"),
        ("VizDoom-DefendTheCenter-v0", "Did you mean 'VizdoomDefendCenter-v1'"),
        ("VizdoomDefendTheLine-v0", "Did you mean 'VizdoomDefendLine-v1'"),
        ("DoomHealthGathering-v0", "Did you mean 'VizdoomHealthGathering-v1'"),
        ("VizDoom-E1M1-v0", "Did you mean 'VizdoomFreedoom1E1M1-S1-v0'"),
        ("VizdoomNonsense-v1", "there is no environment 'VizdoomNonsense-v1'"),
    ],
)
def test_ids_known_from_elsewhere_lead_here(wrong, told):
    with pytest.raises(UnknownEnvError, match=told):
        build_env(EnvConfig(id=wrong), "train")


@pytest.mark.parametrize("name", ["VizdoomBasic-v1", "VizDoom-Basic-v0"])
def test_a_missing_package_is_named_with_its_extra(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "vizdoom.gymnasium_wrapper", None)
    load_vizdoom.cache_clear()
    register_games.cache_clear()
    try:
        with pytest.raises(UsageError, match=r"pip install 'gymsolve\[vizdoom\]'"):
            build_env(EnvConfig(id=name), "train")
    finally:
        load_vizdoom.cache_clear()
        register_games.cache_clear()


def test_a_game_without_its_data_says_where_they_go(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match=r"doom\.wad, are not here. Put your copy at .*VizdoomFreedoom1"):
        build("VizdoomDoomE1M1-S1-v0")
    # Any WAD will do here: the engine plays the free game under the other one's name.
    wads_folder().mkdir(parents=True)
    (wads_folder() / "doom.wad").symlink_to(Path(vizdoom.__file__).parent / "freedoom1.wad")
    env = build("VizdoomDoomE1M1-S1-v0")
    assert env.unwrapped.game.get_doom_game_path() == str(wads_folder() / "doom.wad")


def test_every_recipe_can_be_built():
    names = [recipe.name for recipe in list_recipes() if recipe.name.startswith("Vizdoom")]
    assert len({name.partition(":")[0] for name in names}) == 10
    for name in names:
        config = resolve(name).config.env
        for env in [config.for_task(task) for task in config.tasks] or [config]:
            assert build_env(env, "train").env.observation_space["screen"].shape[0] == env.frame_stack


@pytest.mark.parametrize("scenario", ["DefendCenter", "DefendLine", "HealthGathering", "DeadlyCorridor"])
def test_every_part_of_a_recipes_reward_is_paid_in_play(scenario):
    built = build_env(resolve(f"Vizdoom{scenario}-v1").config.env, "train")
    chances, over, paid = np.random.default_rng(0), True, np.zeros(len(built.parts.names))
    with closing(built.env) as env:
        for _ in range(300):
            if over:
                env.reset(seed=0)
            *_, terminated, truncated, _ = env.step(chances.integers(env.action_space.n))
            over, paid = terminated or truncated, paid + built.parts.take()
    assert dict(zip(built.parts.names, paid != 0, strict=True)) == dict.fromkeys(built.parts.names, True)


@pytest.mark.parametrize("name", ["VizdoomHealthGatheringSupreme-v1", "VizdoomFreedoom2MAP01-S3-v0"])
def test_other_scenarios_get_the_familys_recipe(name):
    told, _ = derive_recipe(name)
    assert told["family"] == "vizdoom"
    config = resolve(name, derived=told).config.env
    env = build_env(config, "train").env
    assert env.observation_space["screen"].shape == (2, 48, 64)
    assert isinstance(env.action_space, gym.spaces.Discrete)


@pytest.mark.parametrize(
    "arguments",
    [
        "+logfile {}",
        "-savedir {}",
        "+exec {}",
        "+LogFile {}",
        '+name "a +logfile {}',
        "-join 8.8.8.8",
        "-join",
        "-file {}",
    ],
)
def test_arguments_that_reach_beyond_the_game_are_refused(tmp_path, arguments):
    given = arguments.format(tmp_path / "evil")
    with pytest.raises(ConfigError, match="game_args"):
        build("Basic", kwargs={**SMALL, "game_args": given})
    scenario = tmp_path / "own.cfg"
    scenario.write_text(
        f"doom_scenario_path = basic.wad\nGameArgs = {given}\navailable_buttons = {{ ATTACK }}\n"
    )
    with pytest.raises(ConfigError, match="game_args"):
        build("Basic", kwargs={**SMALL, "scenario_config_file": str(scenario)})
    assert not (tmp_path / "evil").exists()


def test_arguments_that_change_the_game_alone_are_passed_on():
    with closing(build("Basic", kwargs={**SMALL, "game_args": "-nomonsters +sv_noautoaim 1"})) as env:
        assert env.unwrapped.game.get_game_args() == "-nomonsters +sv_noautoaim 1"


def test_scenarios_among_runs_are_not_played(tmp_path):
    (tmp_path / "run.json").write_text("{}")
    (tmp_path / "own.cfg").write_text("doom_scenario_path = basic.wad\navailable_buttons = { ATTACK }\n")
    with pytest.raises(ConfigError, match="folder of runs"):
        build("Basic", kwargs={**SMALL, "scenario_config_file": str(tmp_path / "own.cfg")})
    (tmp_path / "own.wad").write_bytes(b"PWAD")
    with pytest.raises(ConfigError, match="folder of runs"):
        build("Basic", kwargs={**SMALL, "doom_scenario_path": str(tmp_path / "own.wad")})


@pytest.mark.parametrize(("task", "told"), [("buttons", "attack"), ("axes", "move right + attack")])
def test_a_task_names_the_actions_that_all_tasks_share(task, told):
    both = {"buttons": {"wrappers": ["doom_buttons"]}, "axes": {"wrappers": ["doom_axes"]}}
    env = {"id": "VizdoomBasic-v1", "kwargs": {"max_buttons_pressed": 0}, "tasks": both, "num_envs": 2}
    stage = open_render_env(EnvConfig.model_validate(env), task)
    assert stage is not None
    stage.reset(1)
    # Of the first task it is the choice among combinations, of the second a choice for each direction.
    action = np.array([3, 0]) if task == "buttons" else np.array([2, 1])
    assert stage.labels.describe(action) == told
    stage.step(action[None])
    stage.close()
