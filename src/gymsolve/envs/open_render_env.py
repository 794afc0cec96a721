"""Opens environments for videos, for the inspector and for people who play; one, or one of several tasks.

For videos an environment is wrapped as for evaluation, and on the same seed it plays the episodes that the
first copy of an evaluation plays. People get the wrappers of the role `play`, also where there is no picture.
"""

from dataclasses import replace

import numpy as np

from gymsolve.envs.contract import Snapshot
from gymsolve.envs.describe import Description, describe, describe_tasks
from gymsolve.envs.families import bare_name, find_family
from gymsolve.envs.headless import draw_without_screen
from gymsolve.envs.join import Fit, task_seed
from gymsolve.envs.labels import ActionLabels
from gymsolve.envs.render_env import PlayEnv, RenderEnv, Scene
from gymsolve.envs.single_env import SingleEnv, open_single
from gymsolve.settings.config import EnvConfig, Role
from gymsolve.spec import Array, EnvSpec

_TURNS_FPS = 10.0
"""Environments that show so few frames per second have no time of their own: they wait for their player."""


def open_render_env(
    config: EnvConfig, task: str | None = None, *, like: EnvConfig | None = None
) -> RenderEnv | None:
    """The environment of a run, ready to be filmed; None when it cannot be drawn into an array.

    Of several tasks it is the one that is named, else the first. `like` is looked at in its place where
    building a second one would disturb: it has the same spaces.
    """
    if config.tasks:
        name = task or next(iter(config.tasks))
        env = open_render_env(config.for_task(name))
        return None if env is None else _join(config, name, env, "eval")
    known = describe(like or config, "eval")
    return open_single(config, "eval", known, camera=True) if known.drawable else None


def open_role_env(
    config: EnvConfig, role: Role = "eval", *, camera: bool = True, task: str | None = None
) -> tuple[RenderEnv, bool]:
    """The environment of a run in a role, and whether it can be drawn and somebody wants it drawn.

    Of several tasks it is the one that is named, else the first.
    """
    if config.tasks:
        name = task or next(iter(config.tasks))
        env, filmed = open_role_env(config.for_task(name), role, camera=camera)
        return _join(config, name, env, role), filmed
    known = describe(config, role)
    filmed = camera and known.drawable
    return open_single(config, role, known, camera=filmed), filmed


def obs_names(spec: EnvSpec) -> tuple[str, ...]:
    """Names of the numbers of a plain observation; empty when unknown."""
    named = find_family(spec.id).observed.get(bare_name(spec.id), ())
    seen = spec.obs.get("obs")
    return named if seen is not None and seen.shape == (len(named),) else ()


def open_play_env(config: EnvConfig, *, like: EnvConfig | None = None, text: bool = False) -> PlayEnv:
    """The environment as people play it; without a picture where it cannot be drawn. `like`: see above.

    With `text` it is drawn in characters where it can be, and has no picture in any case.
    """
    if config.tasks:
        name = next(iter(config.tasks))
        own = open_play_env(config.for_task(name), text=text)
        known = replace(describe(config.for_task(name), "play"), spec=describe_tasks(config, "play").spec)
        return _PlayEnv(_join(config, name, own, "play"), known, own.undrawn, own.turns, own.writes)
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
    env = open_single(config, "play", known, camera=undrawn is None)
    return _PlayEnv(env, known, undrawn, _takes_turns(config, known))


def _open_text(config: EnvConfig, known: Description) -> PlayEnv:
    writes = known.writable and not known.exclusive
    drawn = {**config.kwargs, "render_mode": "ansi"} if writes else config.kwargs
    env = open_single(config.model_copy(update={"kwargs": drawn}), "play", known, camera=False)
    undrawn = f"{config.id} is drawn as text." if writes else f"{config.id} draws no text."
    return _PlayEnv(env, known, undrawn, _takes_turns(config, known), writes)


def _takes_turns(config: EnvConfig, known: Description) -> bool:
    if find_family(config.id).turns or known.declared_fps is None:
        return find_family(config.id).turns or not known.drawable
    return known.declared_fps <= _TURNS_FPS


class _JoinedLabels(ActionLabels):
    """The words of one of several tasks, for actions of the policy that all of them share."""

    def __init__(self, labels: ActionLabels, fit: Fit) -> None:
        super().__init__(fit.own.action, labels.names, labels.parts)
        self._fit = fit

    def describe(self, action: Array) -> str:
        return super().describe(self._fit.actions(np.asarray(action)[None])[0])


class _JoinedEnv:
    """One of several tasks, as a policy of all of them sees it."""

    def __init__(self, name: str, env: RenderEnv, fit: Fit) -> None:
        self._name, self._env, self._fit = name, env, fit
        self.labels: ActionLabels = _JoinedLabels(env.labels, fit)
        self.fps = env.fps

    def reset(self, seed: int | None) -> Scene:
        return self._seen(self._env.reset(None if seed is None else task_seed(self._name, seed)))

    def step(self, actions: Array) -> Scene:
        return self._seen(self._env.step(self._fit.actions(actions)))

    def _seen(self, scene: Scene) -> Scene:
        joint, over = self._fit.joint, scene.terminated or scene.truncated
        obs = {key: np.zeros((1, *entry.shape), entry.dtype) for key, entry in joint.obs.items()}
        self._fit.write_obs(obs, np.array([0]), scene.obs)
        masks = self._fit.legal(1, scene.masks) if joint.masked and not over else None
        return replace(scene, obs=obs, masks=masks)

    def render(self) -> Array:
        return self._env.render()

    def write(self) -> str:
        assert isinstance(self._env, _PlayEnv)
        return self._env.write()

    def save(self) -> Snapshot | None:
        return self._env.save()

    def load(self, saved: Snapshot) -> Scene | None:
        scene = self._env.load(saved)
        return None if scene is None else self._seen(scene)

    def close(self) -> None:
        self._env.close()


def _join(config: EnvConfig, name: str, env: RenderEnv, role: Role) -> _JoinedEnv:
    return _JoinedEnv(name, env, describe_tasks(config, role).fits[name])


class _PlayEnv:
    """An environment, and what people have to know of it."""

    def __init__(
        self, env: RenderEnv, known: Description, undrawn: str | None, turns: bool, writes: bool = False
    ) -> None:
        self._env, self.writes = env, writes
        self.labels, self.fps = env.labels, env.fps
        self.spec, self.undrawn, self.turns = known.spec, undrawn, turns
        self.obs_names = obs_names(known.spec)
        self.reset, self.step, self.render, self.close = env.reset, env.step, env.render, env.close
        self.save, self.load = env.save, env.load

    def write(self) -> str:
        assert isinstance(self._env, SingleEnv | _JoinedEnv)
        return self._env.write()

    def interrupt(self) -> None:
        if isinstance(self._env, SingleEnv):
            self._env.interrupt()
