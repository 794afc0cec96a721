"""The facts of an environment, found by building one and looking at it, once for everybody who asks.

What was found is kept as long as the answer cannot have changed: the key holds the settings that matter, the
wrappers of the role, the registration and the class behind it. So a changed registration, other arguments or
a reloaded class are looked at anew, and two roles with the same wrappers are one question.
"""

import math
import pickle
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from gymsolve.crash_sites import FAULTS
from gymsolve.envs.build import (
    BuiltEnv,
    CopyBuilder,
    build_env,
    find_culprit,
    find_spec,
    needs_own_process,
    notes_on,
)
from gymsolve.envs.contract_faults import (
    close_env,
    explain_error,
    explain_info,
    keep_folder,
    refuse_arguments,
)
from gymsolve.envs.families import Backend, find_backends, find_creator
from gymsolve.envs.isolated import call_isolated, longest_call
from gymsolve.envs.join import Joint, join_specs
from gymsolve.envs.labels import ActionLabels, find_labels
from gymsolve.envs.masks import legal_mask
from gymsolve.envs.options import check_wrappers, naming_task
from gymsolve.envs.random_policy import random_actions
from gymsolve.envs.replay import Replay
from gymsolve.envs.spaces import ObsLayout, action_spec, half_bounds
from gymsolve.envs.step_timing import time_steps
from gymsolve.errors import ConfigError, EnvFaultError, GymsolveError
from gymsolve.settings.config import EnvConfig, Role
from gymsolve.spec import ActionSpec, Array, EnvSpec

_TIMED_SECONDS = 0.02
"""How long an environment is timed to see whether workers pay."""


@dataclass(frozen=True)
class Description:
    """The facts of an environment as wrapped for a role."""

    spec: EnvSpec
    masks_in_info: bool
    """True if `info["action_mask"]` is used."""
    bounds: tuple[Array, Array] | None
    """Limits of box actions with an open end, which cannot be scaled."""
    labels: ActionLabels
    """Names of its actions."""
    drawable: bool
    """Can it be drawn into an array?"""
    lean: bool
    """True if its class is a quicker one than the stock class."""
    exclusive: bool
    """Does each environment need a process of its own?"""
    writable: bool = False
    """Can it be drawn as text (`ansi`)?"""
    declared_fps: float | None = None
    """Frames per second of its own time, as its metadata say."""
    timed: bool = False
    step_us: float | None = None
    """Microseconds of a step, where it was `timed`; None if it broke, which training will report."""


_known: dict[Hashable, Description] = {}
_known_specs: dict[Hashable, EnvSpec] = {}


def describe(config: EnvConfig, role: Role, *, timed: bool = False) -> Description:
    """Build one environment, look at it, close it; or remember what was found then."""
    key = _key(config, role)
    description = None if key is None else _known.get(key)
    if description is None or (timed and not description.timed):
        if needs_own_process(config):
            # Not timed: it gets workers whatever a step takes.
            looked = call_isolated(
                find_spec(config.id), _look, config, role, False, patience=longest_call(config)
            )
            description = replace(looked, exclusive=True, timed=True)
        else:
            description = _look(config, role, timed)
        if key is not None:
            _known[key] = description
    return description


def describe_env(config: EnvConfig, role: Role = "train") -> EnvSpec:
    """The facts of an environment, without keeping one; of several tasks, what they share."""
    if config.tasks:
        return describe_tasks(config, role).spec
    backend = _find_slow_backend(config, role)
    if backend is None:
        return describe(config, role).spec
    key = _key(config, role)
    spec = None if key is None else _known_specs.get(key)
    if spec is None:
        envs = backend.make(config, role, 1)
        envs.close()
        spec = envs.spec
        if key is not None:
            _known_specs[key] = spec
    return spec


def _find_slow_backend(config: EnvConfig, role: Role) -> Backend | None:
    """The family's backend that steps these settings and knows its spaces without starting an environment."""
    for name, backend in find_backends(config.id).items():
        if backend.slow_start and config.backend in ("auto", name) and backend.obstacle(config, role) is None:
            return backend
    return None


def describe_tasks(config: EnvConfig, role: Role) -> Joint:
    """The spaces that several tasks share, and how each fits in."""
    specs = {}
    for name in config.tasks:
        with naming_task(config, name):
            specs[name] = describe_env(config.for_task(name), role)
    return join_specs(specs, config.id)


def _key(config: EnvConfig, role: Role) -> Hashable:
    """Everything the answer depends on; None where that cannot be compared, so that nothing is kept."""
    registered = find_spec(config.id)
    plan = check_wrappers(config, role)
    unseen = {"wrappers", "num_envs", "backend", "workers", "step_timeout", "reset_timeout", "build_timeout"}
    settings = config.model_dump(exclude=unseen)
    facts = {name: value for name, value in vars(registered).items() if not callable(value)}
    entry = registered.entry_point
    try:
        rest = pickle.dumps((settings, facts, notes_on(registered), [planned.options for planned in plan]))
        key = (rest, entry, find_creator(entry), *((planned.wrapper, planned.where) for planned in plan))
        hash(key)
    except (pickle.PicklingError, AttributeError, TypeError):
        return None
    return key


def _look(config: EnvConfig, role: Role, timed: bool) -> Description:
    built = build_env(config, role)
    try:
        with keep_folder():
            description = _look_at(config, role, built, timed)
    except BaseException:  # what was found says more than trouble with closing
        close_env(built.env, config.id)
        raise
    trouble = close_env(built.env, config.id)
    if trouble is None:
        return description
    return replace(description, spec=replace(description.spec, notes=(*description.spec.notes, trouble)))


def _look_at(config: EnvConfig, role: Role, built: BuiltEnv, timed: bool) -> Description:
    action = action_spec(built.env.action_space)
    from_info = masks_in_info(config, role, built, action)
    env = CopyBuilder(config, role, 0, action, from_info, render=False).finish(built)
    if built.parts is not None or built.watch is not None:
        _try_components(env, action, from_info)
    return Description(
        spec=_spec(config, built, action, from_info),
        masks_in_info=from_info,
        bounds=half_bounds(built.env.action_space),
        labels=find_labels(built.env, config.id, action),
        drawable="rgb_array" in (built.env.metadata.get("render_modes") or ()),
        lean=built.lean,
        exclusive=False,
        writable="ansi" in (built.env.metadata.get("render_modes") or ()),
        declared_fps=_declared_fps(built.env.metadata.get("render_fps")),
        timed=timed,
        step_us=_step_cost(env, action, from_info) if timed else None,
    )


def _declared_fps(declared: object) -> float | None:
    """A number of frames per second, if it is one: nobody checks what authors write there."""
    fps = float(declared) if isinstance(declared, Real) else math.nan
    return fps if math.isfinite(fps) and fps > 0 else None


def _spec(config: EnvConfig, built: BuiltEnv, action: ActionSpec, from_info: bool) -> EnvSpec:
    legal = legal_mask(config.legal_actions, action)
    layout = ObsLayout(built.env.observation_space)
    unread = tuple(f"entry {key!r} of the observation is text → it is left out" for key in layout.unread)
    return EnvSpec(
        id=config.id,
        obs=layout.specs,
        action=action,
        masked=from_info or legal is not None,
        legal=() if legal is None else tuple(bool(flag) for flag in legal),
        reward_threshold=built.reward_threshold,
        max_episode_steps=built.max_episode_steps,
        components=() if built.parts is None else built.parts.names,
        watched=() if built.watch is None else built.watch.names,
        notes=(*built.notes, *unread),
    )


def masks_in_info(config: EnvConfig, role: Role, built: BuiltEnv, action: ActionSpec) -> bool:
    """Does `info` hold action masks? Under `auto`, one reset tells, which `training/watchdog.py` watches."""
    if config.action_masks == "off":
        return False
    if action.kind == "box":
        if config.action_masks == "on":
            raise ConfigError("a Box action space has no masks.", where="env.action_masks")
        if config.kwargs:
            _first_reset(config, role, built)  # where a wrong argument may come to light
        return False
    info = _first_reset(config, role, built)
    if not isinstance(info, Mapping):
        breach = explain_info(info, "reset", built.env)
        raise EnvFaultError(f"{config.id} {breach.what} in reset.", hint=breach.fix)
    present = "action_mask" in info
    if config.action_masks == "on" and not present:
        raise ConfigError(f'{config.id} gives no info["action_mask"].', where="env.action_masks")
    return present


def _first_reset(config: EnvConfig, role: Role, built: BuiltEnv) -> Any:
    """The `info` of a reset; an error names the argument that is to blame for it, if there is one."""
    try:
        _, info = built.env.reset(seed=0)
    except GymsolveError:
        raise
    except FAULTS as error:
        culprit = find_culprit(config, lambda out: _can_be_reset(config, role, without=out))
        if culprit is not None:
            raise refuse_arguments(config.id, "reset", error, config.kwargs, culprit) from error
        breach = explain_error(error, "reset", built.env)
        raise EnvFaultError(f"{config.id} {breach.what} in reset.", hint=breach.fix) from error
    return info


def _can_be_reset(config: EnvConfig, role: Role, *, without: str) -> bool:
    kwargs = {name: value for name, value in config.kwargs.items() if name != without}
    try:
        env = build_env(config.model_copy(update={"kwargs": kwargs}), role).env
    except FAULTS:
        return False
    try:
        env.reset(seed=0)
    except FAULTS:
        return False
    finally:
        close_env(env, config.id)
    return True


def _try_components(env: Replay, action: ActionSpec, masked: bool) -> None:
    """One step tells whether all that is read from `info` is there: an error now is better than later."""
    _, info = env.reset(seed=0)
    masks = info["action_mask"][None] if masked else None  # [1, mask_size]
    env.step(action.to_env(random_actions(action, 1, masks, np.random.default_rng(0)))[0])


def _step_cost(env: Replay, action: ActionSpec, masked: bool) -> float | None:
    try:
        return time_steps(env, action, masked, _TIMED_SECONDS)[0]
    except EnvFaultError:
        return None
