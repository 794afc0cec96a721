"""The pages of environments against the environments themselves, as they are registered."""

import re
from pathlib import Path

import gymnasium as gym
import pytest

from gymsolve.envs.registration import find_spec

PAGES = Path(__file__).parents[2] / "docs" / "environments"


def row(page: str, env_id: str, name: str) -> str:
    text = (PAGES / f"{page}.md").read_text()
    section = text.partition(f"\n## {env_id}\n")[2].partition("\n## ")[0]
    found = re.search(rf"^\| {name} \| (.*) \|$", section, re.MULTILINE)
    assert found, f"{page}.md tells no {name} of {env_id}"
    return found[1]


@pytest.mark.parametrize(
    ("page", "env_id", "entry"),
    [
        ("ale", "ALE/Pong-v5", None),
        ("ale", "ALE/Breakout-v5", None),
        ("minatar", "MinAtar/Breakout-v1", None),
        ("minigrid", "MiniGrid-MemoryS7-v0", "image"),
        ("minigrid", "MiniGrid-MemoryS9-v0", "image"),
        ("vizdoom", "VizdoomBasic-v1", "screen"),
        ("vizdoom", "VizdoomMyWayHome-v1", "screen"),
    ],
)
def test_pictures_are_those_of_the_registered_environment(page, env_id, entry):
    env = gym.make(find_spec(env_id))
    space = env.observation_space if entry is None else env.observation_space[entry]
    env.close()
    height, width, channels = space.shape
    told = f"a picture of {width} × {height}, {channels} channels"
    assert told in row(page, env_id, "the environment gives")


def test_atari_has_the_same_limit_with_and_without_the_recipe():
    options = find_spec("ALE/Pong-v5").kwargs
    steps = options["max_num_frames_per_episode"] // options["frameskip"]
    assert row("ale", "ALE/Pong-v5", "episodes") == f"at most {steps:,} steps"
