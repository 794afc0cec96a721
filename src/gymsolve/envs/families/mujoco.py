"""Gymnasium's MuJoCo robots: Ant, HalfCheetah, Hopper and the others.

MuJoCo prints a warning about each model that uses an old attribute, for every copy that is built, and keeps a
file MUJOCO_LOG.TXT of them in the working directory. Nobody who trains can change those models, so such
warnings are dropped; others become Python warnings, which come once.

A snapshot holds what decides the next step (positions, speeds, the solver's warm start) and all that was
derived from it: MuJoCo's positions of bodies lag a substep behind its joints, and the humanoid's reward looks
at them.
"""

import base64
import hashlib
import importlib
import importlib.util
import inspect
import os
import warnings
import zlib
from functools import partial
from typing import Any

import numpy as np

from gymsolve.crash_sites import FAULTS, describe_error
from gymsolve.envs.arguments import Argument, check_arguments, is_whole
from gymsolve.envs.families.family import AnyEnv, Clone, Extra, Family, by_code
from gymsolve.envs.headless import draw_without_screen, has_egl
from gymsolve.errors import EnvFaultError
from gymsolve.runs.inflate import LARGEST_STATE, inflate
from gymsolve.spec import Array

_EXTRA = Extra("mujoco", "mujoco", "mujoco")
_WINDOWS = "glfw"
_CAMERA = {"camera_id", "camera_name", "default_camera_config"}
"""Arguments of an environment by which a user chooses the camera."""
_ARGUMENTS = {"frame_skip": Argument(lambda value: is_whole(value, 1), "a number of frames from 1")}


def _register() -> None:
    draw_without_screen()  # MuJoCo chooses how to draw when it is imported
    if importlib.util.find_spec(_EXTRA.module) is None:
        return  # building one names the extra
    try:
        mujoco = importlib.import_module(_EXTRA.module)
    except FAULTS as error:
        how = os.environ.get("MUJOCO_GL", "")
        hint = f"It draws by MUJOCO_GL={how}: unset that variable." if how else None
        raise EnvFaultError(f"MuJoCo cannot be imported: {describe_error(error)}.", hint=hint) from error
    mujoco.set_mju_user_warning(_hear)


def _hear(text: str) -> None:
    if "deprecated" not in text:
        warnings.warn(f"MuJoCo: {text.strip()}", RuntimeWarning, stacklevel=2)


def _drawing_fault() -> str | None:
    """Try it without Gymnasium's viewer, which would complain once more when it is thrown away."""
    how = os.environ.get("MUJOCO_GL", "").lower() or _WINDOWS
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # GLFW's, about the screen
            if how == _WINDOWS and not importlib.import_module(_WINDOWS).init():
                raise OSError("no screen can be opened")
            context = importlib.import_module(f"mujoco.{how}").GLContext(16, 16)
            context.make_current()
            context.free()
    except FAULTS as error:  # down to the graphics driver
        problem = describe_error(error).partition(". ")[0]
        missing = how == "egl" or not has_egl()
        fix = (
            "install EGL (Debian, Ubuntu: apt install libegl1 libgl1)" if missing else "export MUJOCO_GL=egl"
        )
        return f"MuJoCo cannot draw by {how} ({problem}); to draw without a screen: {fix}"
    return None


def _prepare(env: AnyEnv) -> AnyEnv:
    """Let the camera go along with a robot that is drawn: Gymnasium's stays where it was."""
    robot: Any = env.unwrapped
    ours = any(kind.__module__ == "gymnasium.envs.mujoco.mujoco_env" for kind in type(robot).__mro__)
    if not ours or robot.render_mode is None or (env.spec is not None and _CAMERA & env.spec.kwargs.keys()):
        return env
    mujoco = importlib.import_module(_EXTRA.module)
    camera = mujoco.mj_name2id(robot.model, mujoco.mjtObj.mjOBJ_CAMERA, "track")
    if camera >= 0:
        robot.mujoco_renderer.camera_id = camera
    return env


# ---------------------------------------------------------------------------------------- snapshots


def _save(env: AnyEnv) -> dict[str, Any]:
    robot: Any = env
    mujoco = importlib.import_module(_EXTRA.module)
    # Lists of contacts and constraints are empty in a blank simulation, and every step makes them anew.
    blank = _arrays(mujoco.MjData(robot.model))
    fixed = {name: array for name, array in _arrays(robot.data).items() if name in blank}
    parts = {"physics": _physics(mujoco, robot), **fixed}
    packed = zlib.compress(b"".join(part.tobytes() for part in parts.values()), 1)
    return {
        "engine": mujoco.__version__,
        "model": _model_digest(mujoco, robot.model),
        "names": list(fixed),
        "digest": _digest(parts),
        "data": base64.b64encode(packed).decode(),
    }


def _load(env: AnyEnv, saved: dict[str, Any]) -> None:
    robot: Any = env
    mujoco = importlib.import_module(_EXTRA.module)
    if saved["engine"] != mujoco.__version__:
        raise EnvFaultError(f"the snapshot is of MuJoCo {saved['engine']}, this is {mujoco.__version__}.")
    if saved["model"] != _model_digest(mujoco, robot.model):
        raise EnvFaultError("the snapshot is of another model.")
    here = _arrays(robot.data)
    physics = _physics(mujoco, robot)
    data = inflate(base64.b64decode(saved["data"]), LARGEST_STATE)
    place = 0
    for target in (physics, *(here[name] for name in saved["names"])):
        part = np.frombuffer(data, target.dtype, target.size, place)
        target[...] = part.reshape(target.shape)
        place += part.nbytes
    mujoco.mj_setState(robot.model, robot.data, physics, _integration(mujoco))
    restored = {name: here[name] for name in saved["names"]}
    if _digest({"physics": _physics(mujoco, robot), **restored}) != saved["digest"]:
        raise EnvFaultError("the snapshot was not reached.")


def _arrays(data: Any) -> dict[str, Array]:
    """All arrays of a simulation, by name."""
    return dict(inspect.getmembers(data, lambda member: isinstance(member, np.ndarray) and member.size > 0))


def _physics(mujoco: Any, robot: Any) -> Array:
    """Everything that decides the next step, the solver's warm start included."""
    size = mujoco.mj_stateSize(robot.model, _integration(mujoco))
    state: Array = np.empty(size)
    mujoco.mj_getState(robot.model, robot.data, state, _integration(mujoco))
    return state


def _integration(mujoco: Any) -> int:
    return int(mujoco.mjtState.mjSTATE_INTEGRATION)


def _model_digest(mujoco: Any, model: Any) -> str:
    written: Array = np.zeros(mujoco.mj_sizeModel(model), np.uint8)
    mujoco.mj_saveModel(model, None, written)
    return hashlib.sha256(written.tobytes()).hexdigest()


def _digest(parts: dict[str, Array]) -> str:
    whole = hashlib.sha256()
    for name, part in parts.items():
        whole.update(name.encode())
        whole.update(part.tobytes())
    return whole.hexdigest()


_LEGS = ("back right", "front left", "front right", "back left")
_SIDES = ("right", "left")
_HUMANOID = (
    "abdomen y",
    "abdomen z",
    "abdomen x",
    *(f"{side} {joint}" for side in _SIDES for joint in ("hip x", "hip z", "hip y", "knee")),
    *(f"{side} {joint}" for side in _SIDES for joint in ("shoulder 1", "shoulder 2", "elbow")),
)


FAMILY = Family(
    "mujoco",
    title="MuJoCo",
    owns=by_code("gymnasium.envs.mujoco"),
    register=_register,
    extra=_EXTRA,
    clone=Clone(_save, _load, resumes=True),
    arguments=partial(check_arguments, known=_ARGUMENTS),
    prepare=_prepare,
    drawing_fault=_drawing_fault,
    envpool=(
        "Ant-v5",
        "HalfCheetah-v5",
        "Hopper-v5",
        "Humanoid-v5",
        "HumanoidStandup-v5",
        "InvertedDoublePendulum-v5",
        "InvertedPendulum-v5",
        "Pusher-v5",
        "Reacher-v5",
        "Swimmer-v5",
        "Walker2d-v5",
    ),
    dimensions={
        "Ant": tuple(f"{leg} {joint}" for leg in _LEGS for joint in ("hip", "ankle")),
        "HalfCheetah": tuple(
            f"{end} {part}" for end in ("back", "front") for part in ("thigh", "shin", "foot")
        ),
        "Hopper": ("thigh", "leg", "foot"),
        "Humanoid": _HUMANOID,
        "HumanoidStandup": _HUMANOID,
        "InvertedDoublePendulum": ("push",),
        "InvertedPendulum": ("push",),
        "Pusher": (
            "shoulder pan",
            "shoulder lift",
            "upper arm roll",
            "elbow flex",
            "forearm roll",
            "wrist flex",
            "wrist roll",
        ),
        "Reacher": ("shoulder", "elbow"),
        "Swimmer": ("first rotor", "second rotor"),
        "Walker2d": tuple(f"{side} {part}" for side in _SIDES for part in ("thigh", "leg", "foot")),
    },
)
