"""One environment with a camera, for every video and for whoever looks at episodes step by step.

It is wrapped as for evaluation unless another role is asked for, but stepped by hand: a vector resets in the
step that ends an episode, and nobody would see the last frame. On the same seed it plays the episodes that the
first copy of an evaluation plays.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from gymsolve.config import EnvConfig, Role
from gymsolve.envs.apart import Apart, longest_call
from gymsolve.envs.build import BuiltEnv, CopyBuilder, build_env, find_spec
from gymsolve.envs.describe import describe
from gymsolve.envs.families import find_family
from gymsolve.envs.labels import ActionLabels, find_labels
from gymsolve.envs.masks import legal_mask, refuse_empty
from gymsolve.envs.screen import draw_without_screen
from gymsolve.envs.spaces import ObsLayout, half_bounds
from gymsolve.envs.wrappers.actions import FrameSkip
from gymsolve.envs.wrappers.components import is_number
from gymsolve.errors import EnvFaultError
from gymsolve.spec import ActionSpec, Array, Obs

__all__ = ["Scene", "Stage", "open_any_stage", "open_stage"]

_USUAL_FPS = 30.0


@dataclass(frozen=True)
class Scene:
    """The state of an episode after a step; arrays have a leading axis of 1."""

    obs: Obs
    masks: Array | None  # [1, mask_size]
    reward: float
    """Reward of the last step, as the agent sees it."""
    raw_return: float
    """Sum of the stock environment's rewards so far."""
    terminated: bool
    truncated: bool
    components: tuple[float, ...] = ()
    """What each of the spec's `components` paid in the last step."""
    lives: int | None = None
    """Lives that are left, where the environment tells them (`info["lives"]`)."""


class Stage(Protocol):
    """An environment, its camera and the words for its actions."""

    labels: ActionLabels
    fps: float
    """Frames per second of the environment's own time, one frame per agent step."""
    drawable: bool
    """Is there a camera?"""

    def reset(self, seed: int | None) -> Scene:
        """Begin an episode; without a seed, the one that follows the last."""

    def step(self, actions: Array) -> Scene:
        """One step; `actions` is [1, *shape], as `ActionSpec.to_env` makes it."""

    def render(self) -> Array:
        """What it looks like now: uint8 [H, W, 3]."""

    def close(self) -> None: ...


class _Overheard(gym.Wrapper[Any, Any, Any, Any]):
    """Keeps the newest `info`, of which the recorder above hands on little."""

    info: dict[str, Any] = {}  # noqa: RUF012 - replaced by every step, never written into

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        obs, self.info = self.env.reset(seed=seed, options=options)
        return obs, self.info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        obs, reward, terminated, truncated, self.info = self.env.step(action)
        return obs, reward, terminated, truncated, self.info


class _StageHere:
    """A stage in this process."""

    def __init__(self, known: "_Known", built: BuiltEnv) -> None:
        config, action = known.config, known.action
        self._heard = _Overheard(built.env)
        built = replace(built, env=self._heard)
        self._id, self._built, self.drawable = config.id, built, known.drawable
        self._env = CopyBuilder(config, known.role, 0, action, known.from_info, known.drawable).finish(built)
        self._layout = ObsLayout(built.env.observation_space)
        self._legal = legal_mask(config.legal_actions, action)
        self._bounds = half_bounds(built.env.action_space)
        self._action = action
        self._return = 0.0
        self.labels: ActionLabels = find_labels(built.env, config.id, action)
        self.fps = _frames_per_second(config.id, built.env)

    def facts(self) -> tuple[ActionLabels, float, bool]:
        return self.labels, self.fps, self.drawable

    def reset(self, seed: int | None) -> Scene:
        observed, info = self._env.reset(seed=seed)
        self._return = 0.0
        found = self._layout.stack([observed]), self._masks(info)
        return Scene(*found, 0.0, 0.0, False, False, lives=self._lives())

    def step(self, actions: Array) -> Scene:
        if self._bounds is not None:
            actions = np.clip(actions, *self._bounds)
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
            components=tuple(info.get("reward_components", ())),
            lives=self._lives(),
        )

    def _lives(self) -> int | None:
        told = self._heard.info
        lives = told.get("lives") if isinstance(told, dict) else None
        return int(lives) if is_number(lives) and math.isfinite(lives) else None  # type: ignore[arg-type]

    def render(self) -> Array:
        try:
            frame = np.asarray(self._env.render())
        except Exception as error:  # drawing is the environment's own code, down to the graphics driver
            raise EnvFaultError(
                f"{self._id} cannot be drawn: {type(error).__name__}: {error}.", where="video"
            ) from error
        if frame.ndim == 2:
            frame = np.repeat(frame[..., None], 3, axis=2)
        if frame.ndim != 3 or frame.shape[2] not in (3, 4) or frame.dtype != np.uint8:
            raise EnvFaultError(
                f"{self._id} draws {frame.dtype} of shape {frame.shape}, not a uint8 image.", where="video"
            )
        return frame[..., :3]

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


class _StageApart:
    """A stage in a process of its own, for exclusive environments."""

    def __init__(self, known: "_Known") -> None:
        config = known.config
        self._apart = Apart(find_spec(config.id), _open, known, patience=longest_call(config))
        self.labels, self.fps, self.drawable = self._apart.call("facts")

    def reset(self, seed: int | None) -> Scene:
        scene: Scene = self._apart.call("reset", seed)
        return scene

    def step(self, actions: Array) -> Scene:
        scene: Scene = self._apart.call("step", actions)
        return scene

    def render(self) -> Array:
        frame: Array = self._apart.call("render")
        return frame

    def close(self) -> None:
        self._apart.close()


@dataclass(frozen=True)
class _Known:
    """What a stage is built from; it crosses process borders."""

    config: EnvConfig
    role: Role
    action: ActionSpec
    from_info: bool
    drawable: bool


def open_stage(config: EnvConfig) -> Stage | None:
    """The environment of a run, ready to be filmed; None when it cannot be drawn into an array."""
    return open_any_stage(config) if describe(config, "eval").drawable else None


def open_any_stage(config: EnvConfig, role: Role = "eval", *, camera: bool = True) -> Stage:
    """The environment of a run in a role; without a camera where it cannot be drawn, or nobody wants one."""
    found = describe(config, role)
    known = _Known(config, role, found.spec.action, found.masks_in_info, camera and found.drawable)
    return _StageApart(known) if found.exclusive else _open(known)


def _open(known: _Known) -> _StageHere:
    config = known.config
    if known.drawable:
        draw_without_screen()  # before anybody asks whether it works
        if fault := find_family(config.id).drawing_fault():
            raise EnvFaultError(f"{config.id} cannot be drawn: {fault}.", where="video")
    return _StageHere(known, build_env(config, known.role, render=known.drawable))


def _frames_per_second(env_id: str, env: gym.Env[Any, Any]) -> float:
    """Agent steps per second; skipped frames are not seen."""
    fps = find_family(env_id).fps(env) or _USUAL_FPS
    while isinstance(env, gym.Wrapper):
        if isinstance(env, FrameSkip):
            fps /= env.low
        env = env.env
    return fps if math.isfinite(fps) and fps > 0 else _USUAL_FPS
