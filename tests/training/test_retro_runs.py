"""Console games as runs: Airstriker trains, is judged and filmed, resumes, and starts elsewhere."""

import re
from contextlib import closing

import numpy as np
import pytest

import gymsolve
from gymsolve.apps.play.console_state import reach_state
from gymsolve.cli import main
from gymsolve.envs.build import build_env
from gymsolve.envs.families.retro.states import parse_presses, save_state
from gymsolve.envs.labels import find_labels
from gymsolve.envs.spaces import action_spec
from gymsolve.errors import ConfigError, UsageError
from gymsolve.recipes import resolve
from gymsolve.runs.loading import load_checkpoint
from gymsolve.settings.config import EnvConfig

pytest.importorskip("stable_retro", reason="needs the extra retro")

AIR, MEADOW = "Retro/Airstriker-Genesis-v0", "Retro/MeadowRun-Nes-v0"
SMALL = {
    "env.num_envs": 2,
    "algo.num_steps": 16,
    "algo.num_minibatches": 2,
    "algo.learning_rate": 1e-3,  # a schedule would go by the budget
    "net.cnn": "small",
    "net.hidden": [32],
    # Drawn frames and sticking are in force too.
    "env.wrappers": [
        {"emulator_skip": {"skip": [2, 6]}},
        {"button_actions": {"buttons": ["", "LEFT B", "RIGHT"]}},
        {"sticky_actions": {"probability": 0.25, "roles": ["train"]}},
        "grayscale",
        {"resize": {"width": 36, "height": 36}},
    ],
    "env.max_episode_steps": 40,
    "eval.episodes": 2,
    "eval.every": 1000,
    "video.enabled": False,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def resumed(folder):
    half = gymsolve.train(AIR, steps=64, overrides=SMALL, runs_dir=folder)
    assert half.status == "finished"
    return gymsolve.resume(half.run, steps=128, runs_dir=folder).run


def test_airstriker_resumes_bit_for_bit(resumed, folder):
    whole = gymsolve.train(AIR, steps=128, overrides=SMALL, runs_dir=folder).run
    one, other = (load_checkpoint(run).policy for run in (whole, resumed))
    assert set(one) == set(other)
    for name, values in one.items():
        np.testing.assert_array_equal(values, other[name])


def test_airstriker_is_judged_and_filmed(resumed, folder, capsys):
    assert len(gymsolve.evaluate(resumed, episodes=2, runs_dir=folder).episodes) == 2
    words = ["record", resumed.id, "--episodes", "1", "--runs-dir", str(folder), "--json"]
    assert main(words) == 0, capsys.readouterr().out
    assert list((resumed.path / "videos").glob("*.mp4"))


def test_a_state_is_saved_where_a_policy_gets_and_episodes_start_there(
    resumed, folder, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    env_id, state, taken = reach_state(resumed.id, steps=30, runs_dir=folder)
    assert (env_id, taken) == (AIR, 30)
    place, variables = save_state("Airstriker-Genesis-v0", "Later", [], start=state)
    assert place == tmp_path / "gymsolve" / "roms" / "Airstriker-Genesis-v0" / "Later.state"
    assert variables["lives"] == 3
    first, later = (_first_picture(AIR, **kwargs) for kwargs in ({}, {"state": "Later"}))
    assert (first != later).any()
    with pytest.raises(UsageError, match="ended after 40 steps"):
        reach_state(resumed.id, steps=1000, runs_dir=folder)


def test_a_state_is_saved_by_pressing_buttons(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (tmp_path / "way").write_text("RIGHT B 100\nright a b 20  # a jump\n\n5\n")
    assert parse_presses(tmp_path / "way") == [(["RIGHT", "B"], 100), (["RIGHT", "A", "B"], 20), ([], 5)]
    command = ["roms", "state", MEADOW, "Running", "--press", str(tmp_path / "way"), "--from", "Level1-2"]
    assert main([*command, "--wait", "1"]) == 0
    assert "--set env.kwargs.state=Running" in capsys.readouterr().out
    config = EnvConfig.model_validate(
        {"id": MEADOW, "kwargs": {"state": "Running"}, "wrappers": ["platformer"]}
    )
    with closing(build_env(config, "train").env) as env:
        env.reset(seed=0)
        info = env.step(np.zeros(9, np.int8))[-1]
    # The level goes on, and only what is gained from here on counts as progress.
    assert info["levelLo"] == 1
    assert info["xscrollLo"] > 100
    assert info["progress"] < 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([MEADOW, "New"], "nothing leads to the state. Give --press FILE or --run RUN"),
        (
            ["Retro/MeadowRum-Nes-v0", "New"],
            "knows no game 'MeadowRum-Nes-v0'. Did you mean 'MeadowRun-Nes-v0'",
        ),
        ([MEADOW, "a/b", "--wait", "1"], "'a/b' is no name for a state"),
        ([MEADOW, "Level1-1", "--wait", "1"], "has a state 'Level1-1' already. --replace replaces it"),
        ([MEADOW, "Level1-1", "--wait", "1", "--replace"], "came along with MeadowRun-Nes-v0 and stays"),
        ([MEADOW, "New", "--from", "Level9-9"], "no state 'Level9-9'. It has Level1-1, Level1-2"),
        ([MEADOW, "New", "--press", "nowhere"], "there is no file 'nowhere'"),
        ([MEADOW, "New", "--press", "wrong"], "line 2 does not end in a number of frames: 'RIGHT'"),
        ([MEADOW, "New", "--press", "unknown"], "the console has no button 'JUMP'. It has B, SELECT"),
        ([MEADOW, "New", "--steps", "3", "--wait", "1"], "steps are those of a policy. Give --run RUN too"),
        (
            ["Retro/SuperMarioBros-Nes-v0", "New"],
            "is not here. Import a copy of your own: gymsolve roms import",
        ),
    ],
)
def test_a_wrong_wish_for_a_state_is_one_sentence(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "wrong").write_text("A 3\nRIGHT\n")
    (tmp_path / "unknown").write_text("JUMP 3\n")
    assert main(["roms", "state", *words]) == 2
    assert said in capsys.readouterr().err


def test_super_mario_bros_is_trained_with_the_settings_of_meadow_run():
    ours, theirs = (resolve(name).config for name in (MEADOW, "Retro/SuperMarioBros-Nes-v0"))
    ours, theirs = ours.model_dump(), theirs.model_dump()
    for one in (ours, theirs):
        del one["description"], one["env"]["id"]
    assert ours == theirs
    with pytest.raises(
        ConfigError, match=r"ROM of SuperMarioBros-Nes-v0 is not here\. .*gymsolve roms import PATH"
    ):
        gymsolve.train("Retro/SuperMarioBros-Nes-v0")


def test_any_game_has_a_recipe_with_the_combinations_it_allows():
    config = EnvConfig.model_validate({"id": AIR, "wrappers": [{"button_actions": {"buttons": "all"}}]})
    with closing(build_env(config, "train").env) as env:
        pressed = find_labels(env, AIR, action_spec(env.action_space)).names
    assert len(pressed) == len(set(pressed)) == 3 * 3 * 14
    assert not [name for name in pressed if re.search("left right|up down|start", name)]


def _first_picture(env_id, **kwargs):
    with closing(build_env(EnvConfig.model_validate({"id": env_id, "kwargs": kwargs}), "train").env) as env:
        return env.reset(seed=0)[0]
