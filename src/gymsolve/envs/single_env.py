"""Renders one environment, in this process or, for exclusive environments, in a process of its own.

People who play also see the frames that a step skips.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol, TypeVar, runtime_checkable

import gymnasium as gym
import numpy as np

from gymsolve.crash_sites import FAULTS, describe_error
from gymsolve.envs.build import BuiltEnv, CopyBuilder, build_env, find_spec
from gymsolve.envs.contract import Snapshot
from gymsolve.envs.describe import Description
from gymsolve.envs.families import find_family
from gymsolve.envs.headless import draw_without_screen
from gymsolve.envs.isolated import Isolated, longest_call
from gymsolve.envs.labels import ActionLabels, find_labels
from gymsolve.envs.masks import legal_mask, refuse_empty
from gymsolve.envs.render_env import RenderEnv, Scene
from gymsolve.envs.spaces import ObsLayout, half_bounds
from gymsolve.envs.wrappers.actions import FrameSkip
from gymsolve.envs.wrappers.components import is_number
from gymsolve.errors import EnvFaultError, GymsolveError
from gymsolve.settings.config import EnvConfig, Role
from gymsolve.spec import ActionSpec, Array

_USUAL_FPS = 30.0
_Read = TypeVar("_Read")


@runtime_checkable
class _Skips(Protocol):
    """A wrapper whose steps last several frames."""

    between: Callable[[], None] | None
    """Called after each of them but the last."""


@runtime_checkable
class _Waits(Protocol):
    """A wrapper whose steps may wait for others."""

    def interrupt(self) -> None:
        """End the wait, which makes the step fail; called by another thread."""


class _Wanted(NamedTuple):
    """How a `SingleEnv` is built; picklable, since it may be in another process."""

    config: EnvConfig
    role: Role
    action: ActionSpec
    from_info: bool
    camera: bool


class _Overheard(gym.Wrapper[Any, Any, Any, Any]):
    """Keeps the newest `info`, of which the recorder above hands on little."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self.info: Any = {}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, self.info = self.env.reset(seed=seed, options=options)
        return obs, self.info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, self.info = self.env.step(action)
        return obs, reward, terminated, truncated, self.info

    @property
    def lives(self) -> int | None:
        lives = self.info.get("lives") if isinstance(self.info, dict) else None
        return int(lives) if is_number(lives) and math.isfinite(lives) else None  # type: ignore[arg-type]


class SingleEnv:
    """An environment in this process."""

    def __init__(self, wanted: _Wanted, built: BuiltEnv) -> None:
        config, role, action, from_info, camera = wanted
        self._heard = _Overheard(built.env)
        built = replace(built, env=self._heard)
        self._id, self._built = config.id, built
        self._env = CopyBuilder(config, role, 0, action, from_info, render=camera).finish(built)
        self._layout = ObsLayout(built.env.observation_space)
        self._legal = legal_mask(config.legal_actions, action)
        self._bounds = half_bounds(built.env.action_space)
        self._action = action
        self._return = 0.0
        self.labels: ActionLabels = find_labels(built.env, config.id, action)
        self.fps = _frames_per_second(config.id, built.env)
        self._between: list[Array] = []
        if role == "play" and camera:
            for env in _layers(built.env):
                if isinstance(env, _Skips):
                    env.between = lambda: self._between.append(np.array(self.render()))

    def facts(self) -> tuple[ActionLabels, float]:
        return self.labels, self.fps

    def reset(self, seed: int | None) -> Scene:
        observed, info = self._env.reset(seed=seed)
        self._return = 0.0
        seen = self._layout.stack([observed]), self._masks(info)
        return Scene(*seen, 0.0, 0.0, False, False, lives=self._heard.lives)

    def step(self, actions: Array) -> Scene:
        if self._bounds is not None:
            actions = np.clip(actions, *self._bounds)
        self._between.clear()
        observed, reward, terminated, truncated, info = self._env.step(actions[0])
        self._return += float(reward)
        over = bool(terminated or truncated)
        return Scene(
            obs=self._layout.stack([observed]),
            masks=None if over else self._masks(info),
            reward=float(reward),
            raw_return=self._return if self._built.raw is None else self._built.raw.total,
            terminated=bool(terminated),
            truncated=bool(truncated and not terminated),
            components=self._paid(info),
            between=tuple(self._between),
            lives=self._heard.lives,
        )

    def _paid(self, info: dict[str, Any]) -> dict[str, float]:
        parts = self._built.parts
        return {} if parts is None else dict(zip(parts.names, info["reward_components"], strict=True))

    def render(self) -> Array:
        frame = self._drawn(np.asarray, "video")
        if frame.ndim == 2:
            frame = np.repeat(frame[..., None], 3, axis=2)
        if frame.ndim != 3 or frame.shape[2] not in (3, 4) or frame.dtype != np.uint8:
            raise EnvFaultError(
                f"{self._id} draws {frame.dtype} of shape {frame.shape}, not a uint8 image.",
                where="video",
                hint="Let its render() return an array [height, width, 3] of uint8.",
            )
        return frame[..., :3]

    def write(self) -> str:
        return self._drawn(str, "render")

    def _drawn(self, read: Callable[[Any], _Read], where: str) -> _Read:
        try:
            return read(draw(self._env, self._env.label))
        except GymsolveError:
            raise
        except FAULTS as error:  # down to the graphics driver
            raise EnvFaultError(
                f"{self._id} cannot be drawn: {describe_error(error)}.",
                where=where,
                hint="Mend its render(), or install what it draws with.",
            ) from error

    def save(self) -> Snapshot | None:
        state = self._env.snapshot(native=True)
        return {**state, "return": self._return} if state is not None and "native" in state else None

    def load(self, saved: Snapshot) -> Scene | None:
        observed, info, reached = self._env.restore(saved, 0)
        if not reached:
            return None
        self._return = saved["return"]
        raw = self._return if self._built.raw is None else self._built.raw.total
        return Scene(self._layout.stack([observed]), self._masks(info), 0.0, raw, False, False)

    def interrupt(self) -> None:
        for env in _layers(self._built.env):
            if isinstance(env, _Waits):
                env.interrupt()

    def close(self) -> None:
        self._env.close()

    def _masks(self, info: dict[str, Any]) -> Array | None:
        """The legal choices [1, mask_size]: the environment's and the recipe's."""
        if "action_mask" not in info:
            return None if self._legal is None else self._legal[None]
        masks: Array = info["action_mask"][None]
        if self._legal is not None:
            masks = masks & self._legal
        refuse_empty(masks, self._action, self._id)
        return masks


class _IsolatedEnv:
    """An environment in a process of its own, for exclusive environments."""

    def __init__(self, wanted: _Wanted) -> None:
        config = wanted.config
        self._apart = Isolated(find_spec(config.id), _open, wanted, patience=longest_call(config))
        self.labels, self.fps = self._apart.call("facts")

    def reset(self, seed: int | None) -> Scene:
        scene: Scene = self._apart.call("reset", seed)
        return scene

    def step(self, actions: Array) -> Scene:
        scene: Scene = self._apart.call("step", actions)
        return scene

    def render(self) -> Array:
        frame: Array = self._apart.call("render")
        return frame

    def save(self) -> Snapshot | None:
        state: Snapshot | None = self._apart.call("save")
        return state

    def load(self, saved: Snapshot) -> Scene | None:
        scene: Scene | None = self._apart.call("load", saved)
        return scene

    def close(self) -> None:
        self._apart.close()


def open_single(config: EnvConfig, role: Role, known: Description, *, camera: bool) -> RenderEnv:
    """An environment of which the facts are known, in a role."""
    wanted = _Wanted(config, role, known.spec.action, known.masks_in_info, camera)
    return _IsolatedEnv(wanted) if known.exclusive else _open(wanted)


def _open(wanted: _Wanted) -> SingleEnv:
    config, camera = wanted.config, wanted.camera
    if camera:
        draw_without_screen()  # before anybody asks whether it works
        if fault := find_family(config.id).drawing_fault():
            raise EnvFaultError(f"{config.id} cannot be drawn: {fault}.", where="video")
    return SingleEnv(wanted, build_env(config, wanted.role, render=camera))


def _layers(env: gym.Env[Any, Any]) -> list[gym.Env[Any, Any]]:
    """The wrappers from the outermost on, and the environment."""
    layers = [env]
    while isinstance(layers[-1], gym.Wrapper):
        layers.append(layers[-1].env)
    return layers


def draw(env: gym.Env[Any, Any], label: str) -> Any:
    """The picture or text that an environment draws; `label` names it to `training/watchdog.py`."""
    return env.render()


def _frames_per_second(env_id: str, env: gym.Env[Any, Any]) -> float:
    """Agent steps per second; skipped frames are not counted."""
    fps = find_family(env_id).fps(env) or _USUAL_FPS
    for layer in _layers(env):
        if isinstance(layer, FrameSkip):
            fps /= layer.low
    return fps if math.isfinite(fps) and fps > 0 else _USUAL_FPS
