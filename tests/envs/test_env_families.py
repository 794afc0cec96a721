"""Families: one place that knows where an environment comes from, and what follows from that."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
import sample_envs

import gymsolve.envs.families
from gymsolve.envs.build import build_env, find_spec
from gymsolve.envs.families import GENERIC, families, find_family, is_exclusive
from gymsolve.envs.families.box2d.family import FreshWorld
from gymsolve.envs.labels import find_keys, find_labels, name_dimensions
from gymsolve.envs.make import make_envs
from gymsolve.envs.spaces import action_spec
from gymsolve.errors import ConfigError, EnvFaultError
from gymsolve.settings.config import EnvConfig
from gymsolve.settings.kinds import BACKENDS

assert sample_envs.Counter


@pytest.mark.parametrize(
    ("env_id", "name"),
    [
        ("ALE/Pong-v5", "ale"),
        ("ale_py:ALE/Pong-v5", "ale"),
        ("CartPole-v1", "classic control"),
        ("Pendulum-v1", "classic control"),
        ("LunarLander-v3", "box2d"),
        ("BipedalWalkerHardcore-v3", "box2d"),
        ("Hopper-v5", "mujoco"),
        ("Taxi-v4", "toy text"),
        ("Bandit-v0", "bandit"),
        ("sample_envs:Sample/Counter-v0", "generic"),
        ("Nowhere-v0", "generic"),
    ],
)
def test_every_id_belongs_to_one_family(env_id: str, name: str) -> None:
    assert find_family(env_id).name == name
    assert sum(family.owns(env_id) for family in families()) == (name != "generic")


def test_every_module_of_the_room_is_in_the_table() -> None:
    room = Path(gymsolve.envs.families.__file__).parent
    modules = {path.stem for path in room.glob("*.py")} - {"__init__", "family", "installed"}
    folders = {path.parent.name for path in room.glob("*/family.py")}
    table = {path.partition(":")[0] for path in gymsolve.envs.families._TABLE}
    assert table == modules | {f"{folder}.family" for folder in folders}
    assert len(families()) == len(table)


def test_settings_know_the_backends_of_every_family() -> None:
    own = {name for family in families() for name in family.backends}
    assert own | {"auto", "sync", "async", "envpool"} == set(BACKENDS)


def test_a_family_names_its_backends_without_importing_them() -> None:
    code = (
        "import sys; from gymsolve.envs.make import make_envs\n"
        "from gymsolve.settings.config import EnvConfig\n"
        "make_envs(EnvConfig(id='CartPole-v1'), 'train').close()\n"
        "print(sorted(name for name in sys.modules if name.endswith(('atari.backend', 'control.backend'))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['gymsolve.envs.families.classic_control.backend']"


def test_a_class_brings_its_family_along_under_another_id() -> None:
    gym.register("Mine/Walker-v0", entry_point="gymnasium.envs.box2d.bipedal_walker:BipedalWalker")
    try:
        built = build_env(EnvConfig(id="Mine/Walker-v0"), "train")
        layers = []
        env = built.env
        while isinstance(env, gym.Wrapper):
            layers.append(type(env))
            env = env.env
        built.env.close()
        assert FreshWorld in layers
    finally:
        del gym.registry["Mine/Walker-v0"]


@pytest.mark.parametrize(
    ("env_id", "labels", "keys"),
    [
        ("CartPole-v1", ("left", "right"), {("left",): 0, ("right",): 1}),
        ("MountainCar-v0", ("left", "coast", "right"), {("left",): 0, (): 1, ("right",): 2}),
        (
            "LunarLander-v3",
            ("coast", "left engine", "main engine", "right engine"),
            {(): 0, ("left",): 1, ("up",): 2, ("right",): 3},
        ),
        (
            "FrozenLake8x8-v1",
            ("left", "down", "right", "up"),
            {("left",): 0, ("down",): 1, ("right",): 2, ("up",): 3},
        ),
        (
            "ALE/Breakout-v5",
            ("noop", "fire", "right", "left"),
            {(): 0, ("space",): 1, ("right",): 2, ("left",): 3},
        ),
        ("Pendulum-v1", ("torque",), {}),
        ("BipedalWalkerHardcore-v3", ("hip 1", "knee 1", "hip 2", "knee 2"), {}),
        ("CarRacing-v3", ("steer", "gas", "brake"), {}),
        (
            "CliffWalkingSlippery-v1",
            ("up", "right", "down", "left"),
            {("up",): 0, ("right",): 1, ("down",): 2, ("left",): 3},
        ),
        ("sample_envs:Sample/Counter-v0", (), {}),
    ],
)
def test_actions_have_names_and_keys(
    env_id: str, labels: tuple[str, ...], keys: dict[tuple[str, ...], int]
) -> None:
    env = build_env(EnvConfig(id=env_id), "eval").env
    action = action_spec(env.action_space)
    found = find_labels(env, env_id, action)
    env.close()
    assert found.names == labels
    assert find_keys(env_id, found) == keys
    assert name_dimensions(env_id, action) == (labels if action.kind == "box" else ())


def test_the_choices_of_a_car() -> None:
    env = build_env(EnvConfig(id="CarRacing-v3", kwargs={"continuous": False}), "eval").env
    found = find_labels(env, "CarRacing-v3", action_spec(env.action_space))
    assert found.names == ("coast", "right", "left", "gas", "brake")
    assert find_keys("CarRacing-v3", found) == {(): 0, ("right",): 1, ("left",): 2, ("up",): 3, ("down",): 4}
    env.reset(seed=1)
    driven: Any = env.unwrapped
    for choice, wheel in ((1, 1), (2, -1)):  # stock says that 1 steers right; the wheels agree
        env.reset(seed=1)
        env.step(choice)
        assert np.sign(-driven.car.wheels[0].steer) == wheel
    env.close()


def test_an_environment_of_ones_own_says_that_it_is_exclusive() -> None:
    assert not is_exclusive("Sample/Counter-v0", find_spec("Sample/Counter-v0"))
    assert not GENERIC.exclusive

    def build() -> gym.Env[object, object]:
        return sample_envs.Counter()

    gym.register("Mine/Function-v0", entry_point=build)
    try:
        assert not is_exclusive("Mine/Function-v0", find_spec("Mine/Function-v0"))
        build.metadata = {"exclusive": True}  # type: ignore[attr-defined]
        assert is_exclusive("Mine/Function-v0", find_spec("Mine/Function-v0"))
    finally:
        del gym.registry["Mine/Function-v0"]


def test_whoever_builds_it_a_walker_gets_a_fresh_world() -> None:
    gym.register("Mine/Walker-v0", entry_point=lambda: gym.make("BipedalWalker-v3"))
    try:
        built = build_env(EnvConfig(id="Mine/Walker-v0"), "train")
        found = []
        env = built.env
        while isinstance(env, gym.Wrapper):
            found.append(type(env))
            env = env.env
        built.env.close()
        assert found.count(FreshWorld) == 1
    finally:
        del gym.registry["Mine/Walker-v0"]


class Told(sample_envs.Counter):
    """Only an instance knows its metadata."""

    @property
    def metadata(self) -> dict[str, object]:  # type: ignore[override]
        return {"render_modes": []}


def test_metadata_that_only_an_instance_has_are_no_obstacle() -> None:
    gym.register("Mine/Told-v0", entry_point=Told)
    try:
        assert not is_exclusive("Mine/Told-v0", find_spec("Mine/Told-v0"))
        build_env(EnvConfig(id="Mine/Told-v0"), "train").env.close()
    finally:
        del gym.registry["Mine/Told-v0"]


def test_a_module_that_breaks_on_import_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "breaks_on_import.py").write_text("raise RuntimeError('no screen')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    gym.register("Mine/Breaks-v0", entry_point="breaks_on_import:Env")
    try:
        with pytest.raises(
            EnvFaultError, match="breaks_on_import:Env cannot be imported: RuntimeError: no sc"
        ):
            make_envs(EnvConfig(id="Mine/Breaks-v0"), "train")
    finally:
        del gym.registry["Mine/Breaks-v0"]


def test_a_module_may_make_its_names_on_demand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made_on_demand.py").write_text(
        "def __getattr__(name):\n"
        "    if name != 'Env':\n"
        "        raise AttributeError(name)\n"
        "    import sample_envs\n"
        "    return type('Env', (sample_envs.Counter,), {'metadata': {'exclusive': True}})\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    gym.register("Mine/Demand-v0", entry_point="made_on_demand:Env")
    try:
        assert is_exclusive("Mine/Demand-v0", find_spec("Mine/Demand-v0"))
    finally:
        del gym.registry["Mine/Demand-v0"]


@pytest.mark.filterwarnings("ignore:.*out of date")
def test_mujoco_is_silent_about_its_own_models(capfd, tmp_path, monkeypatch) -> None:
    mujoco = pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)
    build_env(EnvConfig(id="HalfCheetah-v4"), "train").env.close()
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []  # MuJoCo keeps a log of its warnings otherwise
    with pytest.warns(RuntimeWarning, match="MuJoCo: something that matters"):
        mujoco.get_mju_user_warning()("something that matters")


@pytest.mark.parametrize(
    ("env_id", "name", "value", "words"),
    [
        ("MinAtar/Breakout-v1", "sticky_action_prob", 3, "a probability from 0 to 1; got 3"),
        ("MinAtar/Breakout-v1", "sticky_action_prob", "x", "a probability from 0 to 1; got 'x'"),
        ("MinAtar/Breakout-v1", "difficulty_ramping", "no", "true or false; got 'no'"),
        ("MinAtar/Breakout-v1", "game", "asterix", "left out, since the id says which game it is"),
        ("MiniGrid-Empty-5x5-v0", "max_steps", -1, "a number of steps from 1; got -1"),
        ("MiniGrid-Empty-5x5-v0", "agent_view_size", 4, "an odd number of cells from 3; got 4"),
        ("MiniGrid-Empty-5x5-v0", "agent_pov", "no", "true or false; got 'no'"),
        (
            "Retro/MeadowRun-Nes-v0",
            "game",
            "Airstriker-Genesis-v0",
            "left out, since the id says which game it is",
        ),
        ("Retro/MeadowRun-Nes-v0", "obs_type", ["ram"], r"image or ram, not \['ram'\]"),
        ("Retro/MeadowRun-Nes-v0", "scenario", 5, "the name of a scenario; got 5"),
        ("HalfCheetah-v5", "frame_skip", 2.5, "a number of frames from 1; got 2.5"),
        ("HalfCheetah-v5", "frame_skip", 0, "a number of frames from 1; got 0"),
        ("VizdoomBasic-v1", "use_multi_binary_action_space", "no", "true or false; got 'no'"),
        ("VizdoomBasic-v1", "treat_episode_timeout_as_truncation", 0, "true or false; got 0"),
    ],
)
def test_arguments_that_a_package_would_take_without_a_word_are_refused(
    env_id: str, name: str, value: Any, words: str
) -> None:
    with pytest.raises(ConfigError, match=words) as told:
        build_env(EnvConfig.model_validate({"id": env_id, "kwargs": {name: value}}), "train")
    assert told.value.where == f"env.kwargs.{name}"
