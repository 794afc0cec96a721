"""Console games: Meadow Run in the emulator, its variables and levels, and what a level run pays."""

import hashlib
import importlib.util
import json
import re
import shutil
from contextlib import closing
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest

from gymsolve.envs.build import build_env
from gymsolve.envs.families import find_family
from gymsolve.envs.families.retro.buttons import SETS
from gymsolve.envs.families.retro.game import GAMES, load_retro, open_game
from gymsolve.envs.families.retro.roms import import_roms, list_roms
from gymsolve.envs.family_state import load_native, save_native
from gymsolve.envs.labels import ActionLabels, find_keys, find_labels
from gymsolve.envs.make import choose_backend
from gymsolve.envs.registration import find_spec
from gymsolve.envs.spaces import action_spec
from gymsolve.errors import ConfigError, UnknownEnvError, UsageError
from gymsolve.settings.config import EnvConfig

pytest.importorskip("stable_retro", reason="needs the extra retro")

MEADOW = GAMES / "MeadowRun-Nes-v0"
WAYS = json.loads((Path(__file__).parent / "meadow_run_ways.json").read_text())
PRESSED = {"R": "RIGHT", "r": "RIGHT B", "J": "RIGHT A", "j": "RIGHT A B", "A": "A", "n": "", "L": "LEFT"}
PAD = ["B", None, "SELECT", "START", "UP", "DOWN", "LEFT", "RIGHT", "A"]


def build(*wrappers, **kwargs):
    wanted = {"id": "Retro/MeadowRun-Nes-v0", "kwargs": kwargs, "wrappers": list(wrappers)}
    return build_env(EnvConfig.model_validate(wanted), "train").env


def press(names=""):
    return np.array([name in names.split() for name in PAD], np.int8)


def frames(way):
    """A way in words: R12 presses RIGHT for twelve frames."""
    return [PRESSED[letter] for letter, count in re.findall(r"(\D)(\d+)", way) for _ in range(int(count))]


def test_every_variable_stands_where_super_mario_bros_has_it():
    with closing(build()) as env:
        env.reset(seed=0)
        for held in frames(WAYS["Level1-1"])[:400]:
            *_, info = env.step(press(held))
        ram = env.unwrapped.get_ram()
    digits = {"score": ram[0x7DD:0x7E3], "time": ram[0x7F8:0x7FB]}
    bytes_ = {"coins": 0x75E, "levelHi": 0x75F, "levelLo": 0x75C, "lives": 0x75A, "xscrollHi": 0x71A}
    seen = {name: int("".join(map(str, part))) for name, part in digits.items()}
    seen |= {name: int(ram[place]) for name, place in bytes_.items()} | {"xscrollLo": int(ram[0x71C])}
    assert seen == {name: info[name] for name in seen}
    assert info["time"] < 399
    assert info["xscrollHi"] > 0
    assert info["scrolling"] == np.int8(ram[0x778])


def test_data_and_scenario_are_those_of_super_mario_bros():
    retro = load_retro()
    for name in ("data.json", "scenario.json"):
        other = retro.data.get_file_path("SuperMarioBros-Nes-v0", name, retro.data.Integrations.ALL)
        assert json.loads((MEADOW / name).read_text()) == json.loads(Path(other).read_text())


def test_the_rom_is_what_its_sources_say(tmp_path):
    digest = hashlib.sha1((MEADOW / "rom.nes").read_bytes()[16:]).hexdigest()
    assert digest == (MEADOW / "rom.sha").read_text().strip()
    if shutil.which("cl65") is None:
        pytest.skip("cc65 is not installed")
    spec = importlib.util.spec_from_file_location("meadow_run_build", MEADOW / "source" / "build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.build(tmp_path).read_bytes() == (MEADOW / "rom.nes").read_bytes()


@pytest.mark.parametrize("level", WAYS)
def test_each_level_can_be_completed_and_pays_what_happened(level):
    with closing(build("platformer", state=level)) as env:
        env.reset(seed=0)
        infos, ended = [], False
        for held in frames(WAYS[level]):
            *_, ended, _, info = env.step(press(held))
            infos.append(info)
            if ended:
                break
    assert ended
    assert infos[-1]["is_success"]
    assert [info["is_success"] for info in infos[:-1]] == [False] * (len(infos) - 1)
    assert sum(info["completion"] for info in infos) == infos[-1]["completion"] == 1
    assert sum(info["death"] for info in infos) == 0
    farthest = max(256 * info["xscrollHi"] + info["xscrollLo"] for info in infos)
    assert sum(info["progress"] for info in infos) == farthest > 2000
    assert sum(info["clock"] for info in infos) == infos[0]["time"] - infos[-1]["time"]
    assert sum(info["points"] for info in infos) == infos[-1]["score"] > 0
    timely = [info["progress"] * info["time"] / 399 for info in infos]  # where the clock of the state stands
    assert [info["timely_progress"] for info in infos] == pytest.approx(timely)
    assert sum(timely) < farthest
    pressed = [held.endswith(("A", "A B")) for held in frames(WAYS[level])][: len(infos)]
    began = sum(now and not before for before, now in zip([False, *pressed], pressed, strict=False))
    assert sum(info["jumps"] for info in infos) == began


def test_random_play_completes_nothing():
    rng = np.random.default_rng(0)
    with closing(build("platformer", "button_actions", {"frame_skip": {"skip": 4}})) as env:
        for _ in range(4):
            env.reset()
            for _ in range(400):
                *_, ended, _, info = env.step(rng.integers(len(SETS["simple"])))
                if ended:
                    break
            assert not info["is_success"]


def test_a_lost_life_and_a_long_rest_end_an_episode():
    with closing(build("platformer", state="Level1-3")) as env:
        env.reset(seed=0)
        for _ in range(1000):  # to the right without a jump, into the first pit
            *_, ended, _, info = env.step(press("RIGHT B"))
            if ended:
                break
        assert (ended, info["death"], info["is_success"], info["lives"]) == (True, 1.0, False, 1)
    with closing(build({"platformer": {"stuck": 50}})) as env:
        env.reset(seed=0)
        lengths = next(count for count in range(1, 100) if env.step(press())[2])
        assert lengths == 50


def test_nobody_is_stuck_and_pays_for_time_while_a_game_shows_the_end_of_a_level():
    with closing(build({"platformer": {"stuck": 66}})) as env:
        env.reset(seed=0)
        # The last 72 frames bring no progress; in 32 of them the clock stands still.
        for held in frames(WAYS["Level1-1"]):
            *_, ended, _, info = env.step(press(held))
            if ended:
                break
        assert info["is_success"]
        # What Meadow Run has not: in Super Mario Bros the rest of the clock becomes points.
        env.reset(seed=0)
        data, told = env.unwrapped.data, []
        for count in range(1, 1000):
            if count > 30 and data["time"] > 100:
                data["score"] += 50
                data["time"] -= 1
            *_, ended, _, info = env.step(press())
            told.append(info["clock"])
            if ended:
                break
        assert data["time"] < 100
        assert count > 300
        assert sum(told) < 30  # Meadow Run's own clock goes on meanwhile


def test_a_snapshot_goes_on_with_the_same_frames_and_rewards():
    way = frames(WAYS["Level1-1"])
    with closing(build("platformer", {"frame_skip": {"skip": 2}})) as env:
        obs, _ = env.reset(seed=3)
        for held in way[:200]:
            obs, *_ = env.step(press(held))
        saved = save_native("Retro/MeadowRun-Nes-v0", env, obs)
        first = [env.step(press(held)) for held in way[200:260]]
        env.reset(seed=4)
        back = load_native("Retro/MeadowRun-Nes-v0", env, saved)
        np.testing.assert_array_equal(back, obs)
        second = [env.step(press(held)) for held in way[200:260]]
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        assert one[1:] == other[1:]


def test_buttons_have_names_and_keys():
    with closing(build({"button_actions": {"buttons": "right_only"}})) as env:
        action = action_spec(env.action_space)
        labels = find_labels(env, "Retro/MeadowRun-Nes-v0", action)
        assert labels.names == ("noop", "right", "right a", "right b", "right a b")
        keys = find_keys("Retro/MeadowRun-Nes-v0", labels)
        assert keys == {(): 0, ("right",): 1, ("right", "x"): 2, ("right", "z"): 3, ("right", "x", "z"): 4}
        env.reset(seed=0)
        moved = [env.step(3)[-1]["xscrollLo"] for _ in range(100)]
    assert moved[-1] > 100


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"id": "Retro/SuperMarioBros-Nes-v0"}, r"the ROM of SuperMarioBros-Nes-v0 is not here.*roms import"),
        (
            {"kwargs": {"state": "Level1-9"}},
            r"no state 'Level1-9'\. It has Level1-1, .*Level1-4; gymsolve roms state",
        ),
        ({"kwargs": {"obs_type": "sound"}}, r"image or ram, not 'sound'"),
        (
            {"wrappers": [{"button_actions": {"buttons": ["RIHGT"]}}]},
            r"no button 'RIHGT'.*Did you mean 'RIGHT'",
        ),
        ({"wrappers": ["button_actions", "platformer"]}, r"below the wrappers that change its actions"),
        ({"wrappers": ["dark_background"]}, r"gray pictures are needed; these have 3 channels"),
        ({"wrappers": ["button_actions", "emulator_skip"]}, r"a console game is needed, whose actions are"),
        (
            {"wrappers": [{"emulator_skip": {"skip": [5, 2]}}]},
            r"a range is written \[low, high\]; got \[5, 2\]",
        ),
        (
            {"id": "Retro/Airstriker-Genesis-v0", "wrappers": ["platformer"]},
            r"Airstriker-Genesis-v0 does not tell levelHi, .*no such levels",
        ),
    ],
)
def test_mistakes_get_a_sentence(settings, said):
    config = EnvConfig.model_validate({"id": "Retro/MeadowRun-Nes-v0", **settings})
    with pytest.raises(ConfigError, match=said):
        build_env(config, "train")


@pytest.mark.parametrize(
    ("env_id", "said"),
    [
        ("SuperMarioBros-Nes-v0", r"Did you mean 'Retro/SuperMarioBros-Nes-v0'\?$"),
        ("SuperMarioBros-v3", r"Did you mean 'Retro/SuperMarioBros-Nes-v0'\?$"),
        ("SuperMarioBros-1-4-v0", r"'Retro/SuperMarioBros-Nes-v0'\? .*--set env.kwargs.state=Level1-4\.$"),
        (
            "SuperMarioBros-1-2-v0",
            r"state=Level1-2, once `gymsolve roms state Retro/SuperMarioBros-Nes-v0 Level1-2`",
        ),
        ("Airstriker-Genesis", r"Did you mean 'Retro/Airstriker-Genesis-v0'\?$"),
        ("Airstrikr-Genesis-v0", r"Did you mean 'Retro/Airstriker-Genesis-v0'"),
    ],
)
def test_names_from_elsewhere_lead_to_ours(env_id, said):
    with pytest.raises(UnknownEnvError, match=said):
        find_spec(env_id)


@pytest.mark.parametrize(
    ("game", "names", "keys"),
    [
        ("Any-Nes", "left a b start", ["left", "x", "z", "enter"]),
        ("Any-Genesis", "a b c x y z mode", ["z", "x", "c", "a", "s", "d", "q"]),
        ("Any-Snes", "b a y x l r select", ["z", "x", "a", "s", "q", "w", "shift"]),
        ("Any-PCEngine", "i ii run", ["x", "z", "enter"]),
        ("Any-Atari2600", "up button", ["up", "space"]),
    ],
)
def test_every_button_of_a_pad_has_a_key_of_its_own(game, names, keys):
    action = action_spec(gym.spaces.Discrete(len(keys)))
    found = find_keys(f"Retro/{game}-v0", ActionLabels(action, tuple(names.split())))
    assert found == {(key,): choice for choice, key in enumerate(keys)}


def test_buttons_that_are_no_choices_are_named_too():
    with closing(build()) as env:
        labels = find_labels(env, "Retro/MeadowRun-Nes-v0", action_spec(env.action_space))
    assert (labels.describe(press("RIGHT A")), labels.describe(press())) == ("right a", "noop")


def test_a_bright_sky_becomes_dark():
    with closing(build("grayscale", "dark_background")) as env:
        dark, _ = env.reset(seed=0)
        screen = env.unwrapped.get_screen()
    gray = np.rint(screen @ np.array([0.299, 0.587, 0.114])).astype(int)
    values, counts = np.unique(gray, return_counts=True)
    distance = np.minimum(2 * np.abs(gray - values[counts.argmax()]), 255)
    np.testing.assert_allclose(dark[0], distance, atol=2)  # brightness is rounded before it is doubled
    assert (dark == 0).mean() > 0.5


def test_one_emulator_per_process():
    for backend in ("compiled", "ale", "envpool"):
        config = EnvConfig(id="Retro/MeadowRun-Nes-v0", backend=backend)
        with pytest.raises(ConfigError, match=f"the {backend} backend cannot be used: each copy"):
            choose_backend(config, "train")
    assert choose_backend(EnvConfig(id="Retro/MeadowRun-Nes-v0", backend="sync"), "train") == "async"
    family = find_family("Retro/Airstriker-Genesis-v0")
    assert family.name == "retro"
    assert family.exclusive


def test_a_rom_of_ones_own_is_recognised_by_its_checksum(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    shutil.copy(MEADOW / "rom.nes", tmp_path / "cartridge.nes")
    (tmp_path / "other.nes").write_bytes(b"NES\x1a" + bytes(100))
    (tmp_path / "readme.txt").write_text("no game")
    found = {one.path.name: one.game for one in import_roms(tmp_path)}
    assert found == {"cartridge.nes": "Retro/MeadowRun-Nes-v0", "other.nes": None}
    copied = tmp_path / "data" / "gymsolve" / "roms" / "MeadowRun-Nes-v0" / "rom.nes"
    assert copied.read_bytes() == (MEADOW / "rom.nes").read_bytes()
    with pytest.raises(UsageError, match="there is no file or folder"):
        import_roms(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="holds no file that may be a ROM"):
        import_roms(tmp_path / "empty")


def test_games_that_are_here_are_listed_with_their_states():
    assert list_roms()["Retro/MeadowRun-Nes-v0"] == ["Level1-1", "Level1-2", "Level1-3", "Level1-4"]
    assert "Retro/SuperMarioBros-Nes-v0" not in list_roms()


def play(env, way, skip):
    """What an agent sees that presses the buttons of a way, `skip` frames at a time."""
    env.reset(seed=0)
    return [env.step(press(way[at])) for at in range(0, len(way), skip)]


def test_frames_that_nobody_looks_at_change_nothing():
    """Each step of a fixed number of frames gives the picture, the variables and the parts of the reward."""
    way = frames(WAYS["Level1-1"])[:800]
    with closing(build("platformer", {"frame_skip": {"skip": 4}})) as env:
        watched = play(env, way, 4)
    with closing(build({"emulator_skip": {"skip": 4}}, "platformer")) as env:
        skipped = play(env, way, 4)
    assert len(skipped) == 200
    for one, other in zip(watched, skipped, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        assert all(one[-1][name] == other[-1][name] for name in ("xscrollHi", "xscrollLo", "time", "score"))
    assert skipped[-1][-1]["frames"] == 4
    assert sum(step[-1]["progress"] for step in skipped) == max(
        256 * step[-1]["xscrollHi"] + step[-1]["xscrollLo"] for step in skipped
    )


@pytest.mark.parametrize("skip", [{"emulator_skip": {"skip": [2, 6]}}, {"frame_skip": {"skip": [2, 6]}}])
def test_frames_and_sticking_are_drawn_from_the_environments_own_generator(skip):
    """So a seed repeats them, and a snapshot goes on with the same ones."""
    wrappers = ["platformer", "button_actions", {"sticky_actions": {"probability": 0.5}}]
    wrappers.insert(0 if "emulator_skip" in skip else 1, skip)
    with closing(build(*wrappers)) as env:
        rng = np.random.default_rng(1)
        actions = rng.integers(7, size=60)

        def go(actions):
            return [env.step(action) for action in actions]

        env.reset(seed=3)
        first = go(actions[:30])
        saved = save_native("Retro/MeadowRun-Nes-v0", env, first[-1][0])
        first += go(actions[30:])
        env.reset(seed=3)
        again = go(actions[:30])
        env.reset(seed=4)
        other = go(actions[:30])
        load_native("Retro/MeadowRun-Nes-v0", env, saved)
        again += go(actions[30:])
    for one, same in zip(first, again, strict=True):
        np.testing.assert_array_equal(one[0], same[0])
        assert one[1:] == same[1:]
    assert any(one[-1] != different[-1] for one, different in zip(first, other, strict=False))
    if "emulator_skip" in skip:
        assert {step[-1]["frames"] for step in first} == {2, 3, 4, 5, 6}


def test_evaluation_may_have_another_frame_skip_than_training():
    wrappers = [
        {"emulator_skip": {"skip": [2, 6], "roles": ["train"]}},
        {"emulator_skip": {"skip": 4, "roles": ["eval", "play"]}},
        {"sticky_actions": {"probability": 1.0, "roles": ["train"]}},
    ]
    config = EnvConfig.model_validate({"id": "Retro/MeadowRun-Nes-v0", "wrappers": wrappers})
    with closing(build_env(config, "eval").env) as env:
        env.reset(seed=0)
        for _ in range(20):
            assert env.step(press("RIGHT B"))[-1]["frames"] == 4
        assert env.step(press())[-1]["xscrollLo"] > 0
    with closing(build_env(config, "train").env) as env:
        env.reset(seed=0)
        env.step(press())  # which sticks
        told = [env.step(press("RIGHT B"))[-1] for _ in range(40)]
        assert {info["frames"] for info in told} == {2, 3, 4, 5, 6}
        assert told[-1]["xscrollLo"] == 0


@pytest.mark.parametrize("game", ["/tmp/evil", "../evil", "..", "MeadowRun-Nes-v0/../evil", ""])
def test_a_game_is_a_name_and_never_a_folder(game):
    with pytest.raises(ConfigError, match=r"env\.kwargs\.game: is the name of a game"):
        open_game(game)


@pytest.mark.parametrize("scenario", ["/tmp/evil.json", "../evil", "evil.json", "a b", ""])
def test_a_scenario_is_a_name_and_never_a_file(scenario):
    with pytest.raises(ConfigError, match=r"env\.kwargs\.scenario"):
        build(scenario=scenario)
