"""Doom against agents: two real engines in one game."""

import json
import shutil
from contextlib import closing

import numpy as np
import pytest

import gymsolve
from gymsolve.apps.play.deathmatch import Deathmatch, find_opponents
from gymsolve.errors import EnvFaultError, UsageError

pytest.importorskip("vizdoom", reason="needs the extra vizdoom")

TINY = {
    "env.num_envs": 1,
    "env.backend": "sync",
    # So few numbers need no torch, which the opponent's process would take seconds to import.
    "env.wrappers": ["doom_buttons", {"resize": {"width": 16, "height": 12}}, "grayscale", "flatten"],
    "net.hidden": [16],
    "algo.num_steps": 32,
    "algo.num_minibatches": 1,
    "eval.episodes": 1,
    "eval.max_seconds": 1,
}


@pytest.fixture(scope="module")
def runs_dir(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    gymsolve.train("VizdoomBasic-v1", steps=32, runs_dir=folder, overrides=TINY)
    return folder


def play_on(game, action):
    for _ in range(200):
        game.step(action)


def test_a_policy_joins_the_persons_game_and_its_end_is_told(runs_dir):
    with closing(Deathmatch(find_opponents(["@last"], runs_dir), minutes=1)) as game:
        still = game.spec.action.to_env(np.zeros((1, game.spec.action.size), int))
        scene = game.reset(3)
        for _ in range(12):
            scene = game.step(still)
        assert scene.obs["gamevariables"][0, -1] == 2  # players
        assert game.render().shape[2] == 3
        for process in game._processes:
            process.process.kill()
        with pytest.raises(
            EnvFaultError, match=r"the opponent \S+ has left the game: its process was killed.*Start again"
        ):
            play_on(game, still)


def test_opponents_choose_as_their_evaluations_do(runs_dir, tmp_path):
    (stored,) = [path.parent for path in runs_dir.glob("*/run.json")]
    for likeliest in (True, False):
        copy = tmp_path / str(likeliest) / stored.name
        shutil.copytree(stored, copy)
        config = json.loads((copy / "config.json").read_text())
        config["config"]["eval"]["deterministic"] = likeliest
        (copy / "config.json").write_text(json.dumps(config))
        (opponent,) = find_opponents([stored.name], copy.parent)
        assert opponent.likeliest is likeliest


def test_only_players_of_doom_are_opponents(runs_dir, tmp_path):
    run = gymsolve.train("Bandit-v0", steps=64, runs_dir=tmp_path)
    with pytest.raises(UsageError, match="cannot play Doom"):
        find_opponents([run.run.id], tmp_path)
    with pytest.raises(UsageError, match="1 to 7 opponents"):
        find_opponents([], runs_dir)
