"""One environment with a camera, for every video.

It is wrapped as for evaluation, but stepped by hand: a vector resets in the step that ends an episode, and
nobody would see the last frame. On the same seed it plays the episodes that the first copy of an evaluation
plays.
"""

import math
from dataclasses import dataclass, replace
from typing import Any, Protocol

import gymnasium as gym
import numpy as np

from gymsolve.config import EnvConfig
from gymsolve.envs.apart import Apart, longest_call
from gymsolve.envs.build import BuiltEnv, CopyBuilder, build_env, find_spec
from gymsolve.envs.describe import describe, describe_tasks
from gymsolve.envs.families import find_family
from gymsolve.envs.join import Fit, task_seed
from gymsolve.envs.labels import ActionLabels, find_labels
from gymsolve.envs.masks import legal_mask, refuse_empty
from gymsolve.envs.screen import draw_without_screen
from gymsolve.envs.spaces import ObsLayout, half_bounds
from gymsolve.envs.wrappers.actions import FrameSkip
from gymsolve.errors import EnvFaultError
from gymsolve.spec import ActionSpec, Array, Obs

__all__ = ["Scene", "Stage", "open_stage"]

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


class Stage(Protocol):
    """An environment, its camera and the words for its actions."""

    labels: ActionLabels
    fps: float
    """Frames per second of the environment's own time, one frame per agent step."""

    def reset(self, seed: int | None) -> Scene:
        """Begin an episode; without a seed, the one that follows the last."""

    def step(self, actions: Array) -> Scene:
        """One step; `actions` is [1, *shape], as `ActionSpec.to_env` makes it."""

    def render(self) -> Array:
        """What it looks like now: uint8 [H, W, 3]."""

    def close(self) -> None: ...


class _StageHere:
    """A stage in this process."""

    def __init__(self, config: EnvConfig, built: BuiltEnv, action: ActionSpec, from_info: bool) -> None:
        self._id, self._built = config.id, built
        self._env = CopyBuilder(config, "eval", 0, action, from_info, render=True).finish(built)
        self._layout = ObsLayout(built.env.observation_space)
        self._legal = legal_mask(config.legal_actions, action)
        self._bounds = half_bounds(built.env.action_space)
        self._action = action
        self._return = 0.0
        self.labels: ActionLabels = find_labels(built.env, config.id, action)
        self.fps = _frames_per_second(config.id, built.env)

    def facts(self) -> tuple[ActionLabels, float]:
        return self.labels, self.fps

    def reset(self, seed: int | None) -> Scene:
        observed, info = self._env.reset(seed=seed)
        self._return = 0.0
        return Scene(self._layout.stack([observed]), self._masks(info), 0.0, 0.0, False, False)

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
        )

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

    def __init__(self, config: EnvConfig, facts: tuple[Any, ...]) -> None:
        self._apart = Apart(find_spec(config.id), _open, *facts, patience=longest_call(config))
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

    def close(self) -> None:
        self._apart.close()


class _JoinedStage:
    """One of several tasks, as a policy of all of them sees it."""

    def __init__(self, name: str, stage: Stage, fit: Fit) -> None:
        self._name, self._stage, self._fit = name, stage, fit
        self.labels, self.fps = stage.labels, stage.fps

    def reset(self, seed: int | None) -> Scene:
        return self._seen(self._stage.reset(None if seed is None else task_seed(self._name, seed)))

    def step(self, actions: Array) -> Scene:
        return self._seen(self._stage.step(self._fit.actions(actions)))

    def _seen(self, scene: Scene) -> Scene:
        joint, over = self._fit.joint, scene.terminated or scene.truncated
        obs = {key: np.zeros((1, *entry.shape), entry.dtype) for key, entry in joint.obs.items()}
        self._fit.write_obs(obs, np.array([0]), scene.obs)
        masks = self._fit.legal(1, scene.masks) if joint.masked and not over else None
        return replace(scene, obs=obs, masks=masks)

    def render(self) -> Array:
        return self._stage.render()

    def close(self) -> None:
        self._stage.close()


def open_stage(config: EnvConfig, task: str | None = None) -> Stage | None:
    """The environment of a run, ready to be filmed; None when it cannot be drawn into an array.

    Of several tasks it is the one that is named, else the first.
    """
    if config.tasks:
        name = task or next(iter(config.tasks))
        joint = describe_tasks(config, "eval")
        stage = open_stage(config.for_task(name))
        return None if stage is None else _JoinedStage(name, stage, joint.fits[name])
    known = describe(config, "eval")
    if not known.drawable:
        return None
    facts = config, known.spec.action, known.masks_in_info
    return _StageApart(config, facts) if known.exclusive else _open(*facts)


def _open(config: EnvConfig, action: ActionSpec, from_info: bool) -> _StageHere:
    draw_without_screen()  # before anybody asks whether it works
    if fault := find_family(config.id).drawing_fault():
        raise EnvFaultError(f"{config.id} cannot be drawn: {fault}.", where="video")
    return _StageHere(config, build_env(config, "eval", render=True), action, from_info)


def _frames_per_second(env_id: str, env: gym.Env[Any, Any]) -> float:
    """Agent steps per second; skipped frames are not seen."""
    fps = find_family(env_id).fps(env) or _USUAL_FPS
    while isinstance(env, gym.Wrapper):
        if isinstance(env, FrameSkip):
            fps /= env.low
        env = env.env
    return fps if math.isfinite(fps) and fps > 0 else _USUAL_FPS
