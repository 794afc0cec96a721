"""EnvConfig → a vector of environments behind one contract, for training, evaluation and play alike."""

import multiprocessing
import sys
from typing import Literal

import numpy as np

from gymsolve.config import EnvConfig, Role
from gymsolve.envs.backends.ale import AleEnvs, ale_obstacle
from gymsolve.envs.backends.bare import bare_obstacle
from gymsolve.envs.backends.compiled import CompiledEnvs, compiled_obstacle
from gymsolve.envs.backends.envpool import EnvPoolEnvs, envpool_obstacle
from gymsolve.envs.backends.in_process import Copies
from gymsolve.envs.backends.native import NATIVE_OPTIONS, NativeEnvs
from gymsolve.envs.backends.same_step import SameStepEnvs, Vector
from gymsolve.envs.backends.shared_buffers import BoardPlan
from gymsolve.envs.backends.worker_pool import Workers, can_fork, usable_cores
from gymsolve.envs.build import BuiltEnv, CopyBuilder, build_env, find_spec
from gymsolve.envs.contract import Envs
from gymsolve.envs.masks import legal_mask
from gymsolve.envs.options import check_wrappers
from gymsolve.envs.random_policy import blind_actions
from gymsolve.envs.replay import Replay
from gymsolve.envs.spaces import ObsLayout, action_spec, half_bounds
from gymsolve.envs.step_timing import cores_spare, time_steps, worth_workers
from gymsolve.errors import ConfigError, EnvFaultError
from gymsolve.spec import ActionSpec, EnvSpec

__all__ = ["choose_backend", "debugger_attached", "describe_env", "make_envs", "masks_in_info"]

Backend = Literal["sync", "async", "compiled", "native", "ale", "envpool"]

_LOOK_SECONDS = 0.02
"""How long `auto` times an environment to see whether workers pay."""


def make_envs(config: EnvConfig, role: Role, *, num_envs: int | None = None, render: bool = False) -> Envs:
    """A vector of `num_envs` environments (by default as many as the config says).

    With a debugger attached, everything runs in this process, and a number that was not asked for
    explicitly becomes one. `render` is ignored by environments that cannot render.
    """
    check_wrappers(config)
    count = num_envs or config.num_envs
    backend = choose_backend(config, role, render=render)
    if debugger_attached():
        backend = "sync"
        count = num_envs or 1
    if backend == "compiled":
        return CompiledEnvs.make(config, describe_env(config, role), count)
    if backend == "native":
        return NativeEnvs.make(config, count, render=render)
    if backend == "ale":
        return AleEnvs.make(config, role, count)
    if backend == "envpool":
        return EnvPoolEnvs(describe_env(config, role), count)
    return _make_same_step(config, role, backend, count, render)


def describe_env(config: EnvConfig, role: Role = "train") -> EnvSpec:
    """The facts of an environment, without keeping one."""
    # Emulators start slowly, and ALE's own class knows them without a game.
    quick = config.backend in ("auto", "ale") and ale_obstacle(config, role) is None
    plain = config.model_copy(update={"backend": "ale" if quick else "sync"})
    envs = make_envs(plain, role, num_envs=1)
    envs.close()
    return envs.spec


def choose_backend(config: EnvConfig, role: Role, *, render: bool = False) -> Backend:
    """What `env.backend` means for this environment; a backend that cannot serve it is refused.

    EnvPool is another implementation of the environment, so it trains on request and never judges.
    """
    asked = config.backend
    if asked in ("sync", "async"):
        return asked
    obstacles = {
        "compiled": lambda: compiled_obstacle(config, role),
        "native": lambda: _native_obstacle(config, role),
        "ale": lambda: ale_obstacle(config, role),
        "envpool": lambda: envpool_obstacle(config),
    }
    if asked != "auto" and (asked != "envpool" or role == "train"):
        if obstacle := obstacles[asked]():
            raise ConfigError(f"the {asked} backend cannot be used: {obstacle}.", where="env.backend")
        # Only CartPole's own class can draw.
        return asked if asked == "native" or not render else "sync"
    if render:
        return "sync"
    return next((name for name in ("compiled", "native", "ale") if obstacles[name]() is None), "sync")


def debugger_attached() -> bool:
    """Is somebody stepping through this process? (A coverage tracer is nobody.)"""
    if "debugpy" in sys.modules or "pydevd" in sys.modules:
        return True
    tracer = sys.gettrace()
    return tracer is not None and not type(tracer).__module__.startswith("coverage")


def _native_obstacle(config: EnvConfig, role: Role) -> str | None:
    entry = find_spec(config.id).vector_entry_point
    if not isinstance(entry, str) or entry not in NATIVE_OPTIONS:
        return f"{config.id} has no vector class known to obey the contract"
    if obstacle := bare_obstacle(config, role):
        return obstacle
    unknown = set(config.kwargs) - NATIVE_OPTIONS[entry]
    return f"it does not take {', '.join(sorted(unknown))}" if unknown else None


def _make_same_step(
    config: EnvConfig, role: Role, backend: Backend, count: int, render: bool
) -> SameStepEnvs:
    first = build_env(config, role)
    render = render and "rgb_array" in (first.env.metadata.get("render_modes") or ())
    layout = ObsLayout(first.env.observation_space)
    action = action_spec(first.env.action_space)
    from_info = masks_in_info(config, first, action)
    legal = legal_mask(config.legal_actions, action)
    spec = EnvSpec(
        id=config.id,
        obs=layout.specs,
        action=action,
        masked=from_info or legal is not None,
        legal=() if legal is None else tuple(bool(flag) for flag in legal),
        reward_threshold=first.reward_threshold,
        max_episode_steps=first.max_episode_steps,
        components=() if first.parts is None else first.parts.names,
        notes=first.notes,
    )
    builders = [CopyBuilder(config, role, index, action, from_info, render) for index in range(count)]
    if first.parts is not None:
        _try_components(builders[0].finish(first), action, from_info)
    workers = min(count, config.workers or usable_cores())
    if not _may_have_workers(config, backend, render):
        workers = 0
    looked, why = workers > 0 and backend != "async", ""
    if looked:
        measured = _step_cost(builders[0].finish(first), action, from_info)
        workers, why = _weigh_workers(measured, count, workers)
    # It has been looked at; a used environment is not among the copies, so that all have the same past.
    first.env.close()
    plan = BoardPlan(spec, count, from_info)
    vec: Vector = (
        Workers(builders, plan, workers, share=looked) if workers else Copies(builders, plan.allocate())
    )
    bounds = half_bounds(first.env.action_space)
    words = _in_words(workers, first.lean and not render, why)
    return SameStepEnvs(vec, spec, legal, bounds, backend=words, render=render)


def _may_have_workers(config: EnvConfig, backend: Backend, render: bool) -> bool:
    """Asked for, or left to us where a fork is safe; a daemonic process may have no children at all.

    Results are the same with and without, so nothing has to be refused.
    """
    if multiprocessing.current_process().daemon or debugger_attached():
        return False
    return backend == "async" or (config.backend != "sync" and not render and can_fork())


def _step_cost(env: Replay, action: ActionSpec, masked: bool) -> float | None:
    """Microseconds of one step; None for an environment that breaks, which training will report."""
    try:
        return time_steps(env, action, masked, _LOOK_SECONDS)[0]
    except EnvFaultError:
        return None


def _try_components(env: Replay, action: ActionSpec, masked: bool) -> None:
    """One step tells whether all components of the reward are there: an error now is better than later."""
    _, info = env.reset(seed=0)
    masks = info["action_mask"][None] if masked else None  # [1, mask_size]
    env.step(action.to_env(blind_actions(action, 1, masks, np.random.default_rng(0)))[0])


def _weigh_workers(step_us: float | None, count: int, workers: int) -> tuple[int, str]:
    """How many processes it shall be under `auto`, and what decided it."""
    if step_us is None:
        return 0, ""
    if not worth_workers(step_us, count, workers):
        return 0, f" ({step_us:.0f} µs per step)"
    if not cores_spare(workers):
        return 0, f" ({step_us:.0f} µs per step; other programs use the cores)"
    return workers, f" ({step_us:.0f} µs per step)"


def _in_words(workers: int, lean: bool, why: str) -> str:
    kind = f"async, {workers} processes" if workers else "sync"
    return kind + (", lean class" if lean else "") + why


def masks_in_info(config: EnvConfig, built: BuiltEnv, action: ActionSpec) -> bool:
    """Does `info["action_mask"]` count? Under `auto`, one reset tells."""
    if config.action_masks == "off" or (config.action_masks == "auto" and action.kind == "box"):
        return False
    if action.kind == "box":
        raise ConfigError("a Box action space has no masks.", where="env.action_masks")
    try:
        _, info = built.env.reset(seed=0)
    except Exception as error:
        raise EnvFaultError(f"{config.id} raised {type(error).__name__} in reset: {error}.") from error
    present = "action_mask" in info
    if config.action_masks == "on" and not present:
        raise ConfigError(f'{config.id} gives no info["action_mask"].', where="env.action_masks")
    return present
