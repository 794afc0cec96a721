"""MuJoCo's robots: names of their joints, snapshots beside a replay, pictures without a screen."""

import json
import os
import subprocess
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from same_steps import assert_same_step

from gymsolve.envs.build import build_env
from gymsolve.envs.contract import Envs
from gymsolve.envs.families import find_family
from gymsolve.envs.labels import find_labels
from gymsolve.envs.make import make_envs
from gymsolve.envs.spaces import action_spec
from gymsolve.recipes import resolve
from gymsolve.settings.config import EnvConfig
from gymsolve.spec import Array

mujoco = pytest.importorskip("mujoco")
ROBOTS = sorted(
    one for one, spec in gym.registry.items() if "mujoco" in str(spec.entry_point) and spec.version == 5
)
every_robot = pytest.mark.parametrize("env_id", ROBOTS)


def test_there_are_eleven_and_each_has_a_recipe() -> None:
    assert len(ROBOTS) == 11
    for env_id in ROBOTS:
        assert resolve(env_id).config.env.id == env_id


# ------------------------------------------------------------------------------------------ labels

LEGS = {"front left": 1, "front right": 2, "back left": 3, "back right": 4}


def joint_of(robot: str, label: str) -> str:
    """The joint that a label stands for, by the rules of the models' files."""
    words = label.split()
    match robot:
        case "Ant":
            return f"{words[2]}_{LEGS[f'{words[0]} {words[1]}']}"
        case "HalfCheetah":
            return words[0][0] + words[1]
        case "Hopper":
            return f"{label}_joint"
        case "Walker2d":
            return f"{words[1]}_joint" if words[0] == "right" else f"{words[1]}_left_joint"
        case "Pusher":
            return f"r_{'_'.join(words)}_joint"
        case "Swimmer":
            return {"first": "motor1_rot", "second": "motor2_rot"}[words[0]]
        case "Reacher":
            return {"shoulder": "joint0", "elbow": "joint1"}[label]
        case "InvertedPendulum" | "InvertedDoublePendulum":
            return "slider"
        case _:
            return "_".join(words).replace("shoulder_", "shoulder")


@every_robot
def test_actions_are_called_by_the_joints_they_move(env_id: str) -> None:
    env = build_env(EnvConfig(id=env_id), "eval").env
    robot: Any = env.unwrapped
    labels = find_labels(env, env_id, action_spec(env.action_space))
    joints = [robot.model.joint(robot.model.actuator_trnid[k, 0]).name for k in range(robot.model.nu)]
    assert [joint_of(env_id.partition("-")[0], name) for name in labels.names] == joints
    assert labels.describe(np.zeros(robot.model.nu))  # however many there are
    if env_id == "Ant-v5":
        bodies = {robot.model.joint(f"hip_{n}").bodyid[0]: name for name, n in LEGS.items()}
        parents = {
            name: robot.model.body(robot.model.body_parentid[body]).name for body, name in bodies.items()
        }
        assert parents["front left"] == "front_left_leg"
        assert parents["front right"] == "front_right_leg"
        assert parents["back right"] == "right_back_leg"
    env.close()


# --------------------------------------------------------------------------------------- snapshots


def make(env_id: str, **more: Any) -> Envs:
    settings = {"id": env_id, "num_envs": 2, "backend": "sync", "max_episode_steps": 45, **more}
    return make_envs(EnvConfig.model_validate(settings), "train")


def draw(envs: Envs, steps: int, seed: int) -> list[Array]:
    rng = np.random.default_rng(seed)
    size = envs.spec.action.size
    return [envs.spec.action.to_env(rng.uniform(-1, 1, (2, size))) for _ in range(steps)]


@every_robot
def test_a_snapshot_is_the_state_that_a_replay_reaches(env_id: str) -> None:
    envs, fresh = make(env_id), make(env_id)
    envs.reset([1, 2])
    before, after = draw(envs, 30, 0), draw(envs, 60, 1)
    ends = [step.episodes for step in map(envs.step, before)]
    state = json.loads(json.dumps(envs.capture()))
    assert all(one["actions"] == [] for one in state["envs"])  # there is nothing to replay
    obs, _, restarted = fresh.restore(state, [7, 8])
    assert restarted == []
    for action in after:
        assert_same_step(envs.step(action), fresh.step(action))
    assert json.dumps(envs.capture()) == json.dumps(fresh.capture())
    # The same by hand, from the seed: every number of the simulation, those that lag behind included.
    stock = build_env(EnvConfig(id=env_id, max_episode_steps=45), "train").env
    seen, _ = stock.reset(seed=1)
    for action, ended in zip(before, ends, strict=True):
        seen = stock.step(action[0])[0]
        if any(episode.env == 0 for episode in ended):
            seen, _ = stock.reset()
    np.testing.assert_array_equal(obs["obs"][0], seen.astype(np.float32))
    clone = find_family(env_id).clone
    assert clone is not None
    assert clone.save(stock.unwrapped) == state["envs"][0]["native"]["state"]


@pytest.mark.parametrize(
    ("place", "value"),
    [("engine", "1.0"), ("model", "another"), ("digest", "torn")],
)
def test_a_snapshot_that_does_not_fit_starts_its_episode_anew(place: str, value: str) -> None:
    envs, fresh = make("Hopper-v5"), make("Hopper-v5")
    envs.reset([1, 2])
    state: Any = json.loads(json.dumps(envs.capture()))
    state["envs"][1]["native"]["state"][place] = value
    obs, _, restarted = fresh.restore(state, [7, 8])
    assert restarted == [1]
    np.testing.assert_array_equal(obs["obs"][1], make("Hopper-v5").reset([7, 8])[0]["obs"][1])


def test_other_wrappers_or_another_robot_start_anew() -> None:
    envs = make("Hopper-v5")
    envs.reset([1, 2])
    state: Any = envs.capture()
    assert make("Hopper-v5", wrappers=["clip_reward"]).restore(state, [7, 8])[2] == [0, 1]
    assert make("HalfCheetah-v5").restore(state, [7, 8])[2] == [0, 1]


def test_actions_are_kept_for_a_replay_where_a_strangers_wrapper_is() -> None:
    settings: dict[str, Any] = {"wrappers": ["sample_envs:Bonus"]}
    envs, fresh = make("Hopper-v5", **settings), make("Hopper-v5", **settings)
    envs.reset([1, 2])
    for action in draw(envs, 5, 0):
        envs.step(action)
    state: Any = json.loads(json.dumps(envs.capture()))
    assert "native" not in state["envs"][0]
    assert len(state["envs"][0]["actions"]) == 5
    assert fresh.restore(state, [7, 8])[2] == []
    for action in draw(envs, 5, 1):
        assert_same_step(envs.step(action), fresh.step(action))


# ---------------------------------------------------------------------------------------- pictures

SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "MUJOCO_GL", "PYOPENGL_PLATFORM")
FILM = """
import os, sys
from gymsolve.settings.config import EnvConfig
from gymsolve.envs.open_render_env import open_render_env
from gymsolve.errors import EnvFaultError
try:
    stage = open_render_env(EnvConfig(id="HalfCheetah-v5"))
    stage.reset(0)
    frame = stage.render()
    stage.close()
    print(frame.shape, frame.mean() > 20, frame.std() > 20, os.environ["MUJOCO_GL"])
except EnvFaultError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there always is a screen")
@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({}, "(480, 480, 3) True True egl"),
        # An EGL without drivers.
        (
            {"__EGL_VENDOR_LIBRARY_DIRS": "/nowhere"},
            "HalfCheetah-v5 cannot be drawn: MuJoCo cannot draw by egl",
        ),
        ({"MUJOCO_GL": "nonsense"}, "It draws by MUJOCO_GL=nonsense: unset that variable."),
    ],
)
def test_without_a_screen_a_picture_or_one_sentence(variables: dict[str, str], told: str) -> None:
    mine = {name: value for name, value in os.environ.items() if name not in SCREENS}
    done = subprocess.run(
        [sys.executable, "-c", FILM], env={**mine, **variables}, capture_output=True, text=True, check=True
    )
    assert told in done.stdout
    assert len(done.stdout.splitlines()) == 1
    assert done.stderr == ""


FOLLOW = """
import numpy as np
from gymsolve.settings.config import EnvConfig
from gymsolve.envs.build import build_env
for kwargs in ({}, {"camera_id": -1}):
    env = build_env(EnvConfig(id="HalfCheetah-v5", kwargs=kwargs), "eval", render=True).env
    env.reset(seed=0)
    robot = env.unwrapped
    env.render()
    robot.set_state(robot.data.qpos + np.eye(9)[0] * 30, robot.data.qvel)
    frame = env.render().astype(int)
    env.close()
    print(int(((frame[..., 0] - frame[..., 2]) > 40).sum() > 1000))  # its skin, which nothing else has
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere there always is a screen")
def test_the_camera_goes_along_unless_the_user_chose_one() -> None:
    mine = {name: value for name, value in os.environ.items() if name not in SCREENS}
    done = subprocess.run(
        [sys.executable, "-c", FOLLOW], env=mine, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["1", "0"]
