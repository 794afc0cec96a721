"""The wrapper that other tools get in the benchmark gives what ours gives."""

import sys
from pathlib import Path

import numpy as np

from benchmarks.throughput import load_tasks
from gymsolve.envs.build import build_env
from gymsolve.envs.families.atari.ram import AtariObjects
from gymsolve.recipes.resolving import resolve
from gymsolve.settings.config import EnvConfig

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "workers"))
from pong_objects import PongObjects


def test_both_wrappers_see_the_same_eleven_numbers() -> None:
    settings = {"id": "ALE/Pong-v5", "kwargs": {"obs_type": "ram", "repeat_action_probability": 0.0}}
    wrappers = [{"atari_objects": {"noop_max": 0, "fire_reset": False}}]
    ours = build_env(EnvConfig.model_validate({**settings, "wrappers": wrappers}), "train").env
    theirs = PongObjects(build_env(EnvConfig.model_validate(settings), "train").env)
    assert isinstance(ours, AtariObjects)
    np.testing.assert_array_equal(ours.reset(seed=0)[0], theirs.reset(seed=0)[0])
    rng = np.random.default_rng(0)
    for action in rng.integers(0, 6, 400):
        np.testing.assert_array_equal(ours.step(action)[0], theirs.step(action)[0])
    for ram in rng.integers(0, 256, (300, 128)).astype(np.uint8):
        np.testing.assert_array_equal(ours._look(ram), theirs.observation(ram))
    ours.close()
    theirs.close()


def test_the_task_has_the_networks_of_its_recipe() -> None:
    name = "ALE/Pong-v5:objects_calm"
    config = resolve(name, load_tasks()[name]["ours"]).config
    assert (config.net.hidden, config.net.activation) == ((64, 64), "tanh")  # Stable-Baselines3's default
    assert config.net.normalize_obs == "running"
    assert not config.env.kwargs["repeat_action_probability"]
