"""One environment on a stage: for every video, and for people who play.

It is stepped by hand: a vector resets in the step that ends an episode, and nobody would see the last frame.
For videos it is wrapped as for evaluation, and on the same seed it plays the episodes that the first copy of
an evaluation plays. People get the wrappers of the role `play`, also where there is no picture, and see the
frames that a step skips.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, runtime_checkable

import gymnasium as gym
import numpy as np

from gymsolve.config import EnvConfig, Role
from gymsolve.envs.apart import Apart, longest_call
from gymsolve.envs.build import BuiltEnv, CopyBuilder, build_env, find_spec
from gymsolve.envs.contract import Snapshot
from gymsolve.envs.describe import Description, describe, describe_tasks
from gymsolve.envs.families import bare_name, find_family
from gymsolve.envs.join import Fit, task_seed
from gymsolve.envs.labels import ActionLabels, find_labels
from gymsolve.envs.masks import legal_mask, refuse_empty
from gymsolve.envs.screen import draw_without_screen
from gymsolve.envs.spaces import ObsLayout, half_bounds
from gymsolve.envs.wrappers.actions import FrameSkip
from gymsolve.envs.wrappers.components import is_number
from gymsolve.errors import EnvFaultError, GymsolveError
from gymsolve.spec import ActionSpec, Array, EnvSpec, Obs

__all__ = [
    *("PlayStage", "Scene", "Stage", "draw", "obs_names", "open_any_stage", "open_play_stage", "open_stage"),
]

_USUAL_FPS = 30.0
_TURNS_FPS = 10.0
"""Environments that show so few frames per second have no time of their own: they wait for their player."""


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
    components: dict[str, float] = field(default_factory=dict)
    """What each part of the reward paid in the last step; empty without the wrapper `reward_components`."""
    between: tuple[Array, ...] = ()
    """Pictures of the frames that the last step skipped; only people who play get them."""
    lives: int | None = None
    """Lives that are left, where the environment tells them (`info["lives"]`)."""


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

    def save(self) -> Snapshot | None:
        """Its state, where the family clones it: going back takes no replay."""

    def load(self, saved: Snapshot) -> Scene | None:
        """Go to a saved state; None where that failed. What the last step paid is not told again."""

    def close(self) -> None: ...


class PlayStage(Stage, Protocol):
    """A stage for people."""

    spec: EnvSpec
    undrawn: str | None
    """Why there is no picture, in a sentence; None where there is one."""
    turns: bool
    """Does it wait for its player, having no time of its own?"""
    obs_names: tuple[str, ...]
    """What the numbers of the observation are called; empty when unknown."""
    writes: bool
    """Is it drawn as text, by `write`, instead of a picture?"""

    def write(self) -> str:
        """What it looks like now, in characters."""

    def interrupt(self) -> None:
        """End what a step waits for, from another thread; that step then fails."""


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
    """How a stage is built; picklable, since it may be in another process."""

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


class _StageHere:
    """A stage in this process."""

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
        found = self._layout.stack([observed]), self._masks(info)
        return Scene(*found, 0.0, 0.0, False, False, lives=self._heard.lives)

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
        try:
            frame = np.asarray(draw(self._env, self._env.label))
        except GymsolveError:
            raise
        except Exception as error:  # drawing is the environment's own code, down to the graphics driver
            raise EnvFaultError(
                f"{self._id} cannot be drawn: {type(error).__name__}: {error}.",
                where="video",
                hint="Mend its render(), or install what it draws with.",
            ) from error
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
        return str(draw(self._env, self._env.label))

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


class _StageApart:
    """A stage in a process of its own, for exclusive environments."""

    def __init__(self, wanted: _Wanted) -> None:
        config = wanted.config
        self._apart = Apart(find_spec(config.id), _open, wanted, patience=longest_call(config))
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


class _JoinedLabels(ActionLabels):
    """The words of one of several tasks, for actions of the policy that all of them share."""

    def __init__(self, labels: ActionLabels, fit: Fit) -> None:
        super().__init__(fit.own.action, labels.names, labels.parts)
        self._fit = fit

    def describe(self, action: Array) -> str:
        return super().describe(self._fit.actions(np.asarray(action)[None])[0])


class _JoinedStage:
    """One of several tasks, as a policy of all of them sees it."""

    def __init__(self, name: str, stage: Stage, fit: Fit) -> None:
        self._name, self._stage, self._fit = name, stage, fit
        self.labels: ActionLabels = _JoinedLabels(stage.labels, fit)
        self.fps = stage.fps

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

    def write(self) -> str:
        assert isinstance(self._stage, _PlayStage)
        return self._stage.write()

    def save(self) -> Snapshot | None:
        return self._stage.save()

    def load(self, saved: Snapshot) -> Scene | None:
        scene = self._stage.load(saved)
        return None if scene is None else self._seen(scene)

    def close(self) -> None:
        self._stage.close()


def _join(config: EnvConfig, name: str, stage: Stage, role: Role) -> _JoinedStage:
    return _JoinedStage(name, stage, describe_tasks(config, role).fits[name])


class _PlayStage:
    """A stage, and what people have to know of it."""

    def __init__(
        self, stage: Stage, known: Description, undrawn: str | None, turns: bool, writes: bool = False
    ) -> None:
        self._stage, self.writes = stage, writes
        self.labels, self.fps = stage.labels, stage.fps
        self.spec, self.undrawn, self.turns = known.spec, undrawn, turns
        self.obs_names = obs_names(known.spec)
        self.reset, self.step, self.render, self.close = stage.reset, stage.step, stage.render, stage.close
        self.save, self.load = stage.save, stage.load

    def write(self) -> str:
        assert isinstance(self._stage, _StageHere | _JoinedStage)
        return self._stage.write()

    def interrupt(self) -> None:
        if isinstance(self._stage, _StageHere):
            self._stage.interrupt()


def open_stage(config: EnvConfig, task: str | None = None, *, like: EnvConfig | None = None) -> Stage | None:
    """The environment of a run, ready to be filmed; None when it cannot be drawn into an array.

    Of several tasks it is the one that is named, else the first. `like` is looked at in its place where
    building a second one would disturb: it has the same spaces.
    """
    if config.tasks:
        name = task or next(iter(config.tasks))
        stage = open_stage(config.for_task(name))
        return None if stage is None else _join(config, name, stage, "eval")
    known = describe(like or config, "eval")
    return _open_known(config, "eval", known, camera=True) if known.drawable else None


def open_any_stage(
    config: EnvConfig, role: Role = "eval", *, camera: bool = True, task: str | None = None
) -> tuple[Stage, bool]:
    """The environment of a run in a role, and whether it can be drawn and somebody wants it drawn.

    Of several tasks it is the one that is named, else the first.
    """
    if config.tasks:
        name = task or next(iter(config.tasks))
        stage, filmed = open_any_stage(config.for_task(name), role, camera=camera)
        return _join(config, name, stage, role), filmed
    known = describe(config, role)
    filmed = camera and known.drawable
    return _open_known(config, role, known, camera=filmed), filmed


def obs_names(spec: EnvSpec) -> tuple[str, ...]:
    """What the numbers of a plain observation are called; empty when unknown."""
    named = find_family(spec.id).observed.get(bare_name(spec.id), ())
    seen = spec.obs.get("obs")
    return named if seen is not None and seen.shape == (len(named),) else ()


def open_play_stage(config: EnvConfig, *, like: EnvConfig | None = None, text: bool = False) -> PlayStage:
    """The environment as people play it; without a picture where it cannot be drawn. `like`: see above.

    With `text` it is drawn in characters where it can be, and has no picture in any case.
    """
    if config.tasks:
        name = next(iter(config.tasks))
        own = open_play_stage(config.for_task(name), text=text)
        known = replace(describe(config.for_task(name), "play"), spec=describe_tasks(config, "play").spec)
        return _PlayStage(_join(config, name, own, "play"), known, own.undrawn, own.turns, own.writes)
    known = describe(like or config, "play")
    if text:
        return _open_text(config, known)
    undrawn = None
    if not known.drawable:
        undrawn = f"{config.id} draws no picture (one of your own would need the render mode rgb_array)."
    else:
        draw_without_screen()
        if fault := find_family(config.id).drawing_fault():
            undrawn = f"{config.id} cannot be drawn: {fault}."
    stage = _open_known(config, "play", known, camera=undrawn is None)
    return _PlayStage(stage, known, undrawn, _takes_turns(config, known))


def _open_text(config: EnvConfig, known: Description) -> PlayStage:
    writes = known.writable and not known.exclusive
    drawn = {**config.kwargs, "render_mode": "ansi"} if writes else config.kwargs
    stage = _open_known(config.model_copy(update={"kwargs": drawn}), "play", known, camera=False)
    undrawn = f"{config.id} is drawn as text." if writes else f"{config.id} draws no text."
    return _PlayStage(stage, known, undrawn, _takes_turns(config, known), writes)


def _open_known(config: EnvConfig, role: Role, known: Description, *, camera: bool) -> Stage:
    wanted = _Wanted(config, role, known.spec.action, known.masks_in_info, camera)
    return _StageApart(wanted) if known.exclusive else _open(wanted)


def _open(wanted: _Wanted) -> _StageHere:
    config, camera = wanted.config, wanted.camera
    if camera:
        draw_without_screen()  # before anybody asks whether it works
        if fault := find_family(config.id).drawing_fault():
            raise EnvFaultError(f"{config.id} cannot be drawn: {fault}.", where="video")
    return _StageHere(wanted, build_env(config, wanted.role, render=camera))


def _takes_turns(config: EnvConfig, known: Description) -> bool:
    if find_family(config.id).turns or known.declared_fps is None:
        return find_family(config.id).turns or not known.drawable
    return known.declared_fps <= _TURNS_FPS


def _layers(env: gym.Env[Any, Any]) -> list[gym.Env[Any, Any]]:
    """The wrappers from the outermost on, and the environment."""
    found = [env]
    while isinstance(found[-1], gym.Wrapper):
        found.append(found[-1].env)
    return found


def draw(env: gym.Env[Any, Any], label: str) -> Any:
    """What an environment draws; `label` names it to `training/watchdog.py`."""
    return env.render()


def _frames_per_second(env_id: str, env: gym.Env[Any, Any]) -> float:
    """Agent steps per second; skipped frames are not counted."""
    fps = find_family(env_id).fps(env) or _USUAL_FPS
    for layer in _layers(env):
        if isinstance(layer, FrameSkip):
            fps /= layer.low
    return fps if math.isfinite(fps) and fps > 0 else _USUAL_FPS
