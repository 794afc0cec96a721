"""An environment is described once for everybody who asks, and anew when the answer may have changed."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import sample_envs

from gymsolve.envs.describe import describe, describe_env
from gymsolve.envs.determinism import check_determinism
from gymsolve.envs.make import make_envs
from gymsolve.envs.open_render_env import open_render_env
from gymsolve.settings.config import EnvConfig

ID = "Mine/Counted-v0"


class Counted(sample_envs.Counter):
    """Counts how many there have been."""

    built = 0

    def __init__(self, length: int = 5, width: int = 2, unknown: Any = None) -> None:
        super().__init__(length)
        Counted.built += 1


class Wide(Counted):
    """The same with another observation."""

    def __init__(self, length: int = 5) -> None:
        sample_envs.Counter.__init__(self, length)
        self.observation_space = gym.spaces.Box(-1.0, 1.0, (7,), np.float32)


@pytest.fixture(autouse=True)
def _registered() -> Any:
    # A class of each test's own: what other tests found does not count here.
    gym.register(ID, entry_point=type("Own", (Counted,), {}))
    Counted.built = 0
    yield
    del gym.registry[ID]


def test_describing_again_builds_nothing() -> None:
    config = EnvConfig(id=ID)
    first = describe_env(config, "train")
    assert describe_env(config.model_copy(update={"num_envs": 3, "backend": "sync"}), "train") == first
    assert describe_env(config, "eval") == first
    assert Counted.built == 1


def test_roles_with_other_wrappers_are_described_one_by_one() -> None:
    skip = {"frame_skip": {"skip": 2, "roles": ["train"]}}
    config = EnvConfig.model_validate({"id": ID, "wrappers": [skip], "max_episode_steps": 10})
    assert describe_env(config, "train").max_episode_steps == 5
    assert describe_env(config, "eval").max_episode_steps == 10
    assert Counted.built == 2


@pytest.mark.parametrize(
    "change",
    [
        {"kwargs": {"length": 6}},
        {"max_episode_steps": 7},
        {"frame_stack": 2},
        {"action_masks": "off"},
        {"legal_actions": [0]},
    ],
)
def test_other_settings_are_another_question(change: dict[str, Any]) -> None:
    describe(EnvConfig(id=ID), "train")
    describe(EnvConfig.model_validate({"id": ID, **change}), "train")
    assert Counted.built == 2


def test_a_changed_registration_is_noticed() -> None:
    config = EnvConfig(id=ID)
    assert describe_env(config).max_episode_steps is None
    gym.spec(ID).max_episode_steps = 9
    assert describe_env(config).max_episode_steps == 9
    gym.spec(ID).reward_threshold = 4.5
    assert describe_env(config).reward_threshold == 4.5
    gym.spec(ID).kwargs["length"] = 3
    assert describe_env(config).obs["obs"].shape == (2,)
    del gym.registry[ID]
    gym.register(ID, entry_point=Wide)
    assert describe_env(config).obs["obs"].shape == (7,)


def test_a_class_exchanged_behind_its_name_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    gym.registry[ID].entry_point = f"{__name__}:Counted"
    config = EnvConfig(id=ID)
    assert describe_env(config).obs["obs"].shape == (2,)
    monkeypatch.setattr(sys.modules[__name__], "Counted", Wide)
    assert describe_env(config).obs["obs"].shape == (7,)


def test_arguments_that_cannot_be_compared_are_looked_at_every_time() -> None:
    config = EnvConfig(id=ID, kwargs={"unknown": lambda: 1})
    assert describe_env(config) == describe_env(config)
    assert Counted.built == 2


def test_what_is_needed_is_built_and_no_more() -> None:
    config = EnvConfig(id=ID, num_envs=3, backend="sync")
    envs = make_envs(config, "train")
    assert Counted.built == 4  # one to look at, three to train with
    check_determinism(config)
    assert Counted.built == 8  # two, and two that are put where those are
    open_render_env(config)  # which cannot be drawn
    assert Counted.built == 8
    envs.close()


COUNT = """
import sys
import gymnasium
made = []
make = gymnasium.make
def counting(*arguments, **options):
    made.append(arguments)
    return make(*arguments, **options)
gymnasium.make = counting
from gymsolve.cli import main
sys.argv = ["gymsolve", "train", "CartPole-v1", "--steps", "512", "--set", "video.enabled=false", "--json"]
try:
    main()
finally:
    print(f"environments: {len(made)}", file=sys.stderr)
"""


def test_training_cartpole_builds_one_environment_to_look_at(tmp_path: Path) -> None:
    """Compiled rules step it, in training, evaluation and the trial of its seeds alike."""
    from gymsolve.kernels import find_kernels

    told = subprocess.run(
        [sys.executable, "-c", COUNT], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    (line,) = [line for line in told.stderr.splitlines() if line.startswith("environments: ")]
    if find_kernels().kind == "c":
        assert line == "environments: 1"
    else:  # Gymnasium's vector class trains and judges then, and the trial has four copies
        assert int(line.removeprefix("environments: ")) <= 5
