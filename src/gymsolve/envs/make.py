"""EnvConfig → a vector of environments behind one contract, for training, evaluation and play alike."""

import multiprocessing
import sys
from typing import Literal

from gymsolve.envs.backends import bare_obstacle
from gymsolve.envs.backends.envpool import EnvPoolEnvs, envpool_obstacle
from gymsolve.envs.backends.in_process import InProcessEnvs
from gymsolve.envs.backends.joined import JoinedEnvs
from gymsolve.envs.backends.native import NATIVE_OPTIONS, NativeEnvs
from gymsolve.envs.backends.same_step import SameStepEnvs, Vector
from gymsolve.envs.backends.shared_buffers import BufferPlan
from gymsolve.envs.backends.worker_pool import Workers, usable_cores
from gymsolve.envs.build import CopyBuilder, find_spec, needs_own_process
from gymsolve.envs.contract import Envs
from gymsolve.envs.describe import describe, describe_tasks
from gymsolve.envs.families.atari.backend import AleEnvs
from gymsolve.envs.families.atari.screen_plan import ale_obstacle
from gymsolve.envs.families.classic_control.backend import CompiledEnvs, compiled_obstacle
from gymsolve.envs.masks import legal_mask
from gymsolve.envs.options import check_wrappers
from gymsolve.envs.processes import can_fork
from gymsolve.envs.step_timing import cores_spare, worth_workers
from gymsolve.errors import ConfigError
from gymsolve.settings.config import EnvConfig, Role

Backend = Literal["sync", "async", "compiled", "native", "ale", "envpool"]


def make_envs(
    config: EnvConfig, role: Role, *, num_envs: int | None = None, render: bool = False, jumps: bool = False
) -> Envs:
    """A vector of `num_envs` environments (by default as many as the config says).

    With a debugger attached, everything runs in this process, and a number that was not asked for
    explicitly becomes one. Environments of which a process can hold only one (`families/`) always have a
    process each. `render` is ignored by environments that cannot render. With `jumps`, `auto` takes a backend
    whose environments can be put elsewhere. With several tasks, each has its share of the copies;
    `make_joined` gives others.
    """
    if config.tasks:
        return make_joined(config, role, num_envs=num_envs, render=render, jumps=jumps)
    check_wrappers(config)
    count = num_envs or config.num_envs
    backend = choose_backend(config, role, render=render, jumps=jumps)
    if debugger_attached():
        backend = backend if needs_own_process(config) else "sync"
        count = num_envs or 1
    if backend == "compiled":
        return CompiledEnvs.make(config, describe(config, role).spec, count)
    if backend == "native":
        return NativeEnvs.make(config, count, render=render)
    if backend == "ale":
        return AleEnvs.make(config, role, count)
    if backend == "envpool":
        return EnvPoolEnvs(describe(config, role).spec, count)
    return _make_same_step(config, role, backend, count, render)


def make_joined(
    config: EnvConfig,
    role: Role,
    *,
    num_envs: int | None = None,
    task: str | None = None,
    render: bool = False,
    jumps: bool = False,
) -> JoinedEnvs:
    """The tasks of these settings in one vector: by their shares, or all copies of a single `task`."""
    count = num_envs or config.num_envs
    settings = {name: config.for_task(name) for name in config.tasks}
    joint = describe_tasks(config, role)
    several = config.model_copy(update={"num_envs": count}).copies
    copies = several if task is None else {name: count if name == task else 0 for name in settings}

    def make_part(name: str, number: int) -> Envs:
        return make_envs(settings[name], role, num_envs=number, render=render, jumps=jumps)

    return JoinedEnvs(joint, copies, make_part)


def choose_backend(config: EnvConfig, role: Role, *, render: bool = False, jumps: bool = False) -> Backend:
    """What `env.backend` means for this environment; a backend that cannot serve it is refused.

    EnvPool is another implementation of the environment, so it trains on request and never judges.
    """
    asked = config.backend
    if needs_own_process(config):
        if asked not in ("auto", "sync", "async"):
            told = f"the {asked} backend cannot be used: each copy of {config.id} needs a process of its own."
            raise ConfigError(told, where="env.backend", hint="Use env.backend=async.")
        return "async"  # one process each; the results are those of any other way
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
    quick: tuple[Backend, ...] = ("compiled",) if jumps else ("compiled", "native", "ale")
    return next((name for name in quick if obstacles[name]() is None), "sync")


def debugger_attached() -> bool:
    """Is a debugger stepping through this process? (A coverage tracer is none.)"""
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
    workers = min(count, config.workers or usable_cores())
    if not _may_have_workers(config, backend, render):
        workers = 0
    looked, why = workers > 0 and backend != "async", ""
    known = describe(config, role, timed=looked)
    render = render and known.drawable
    if known.exclusive:
        workers, looked = count, False
    elif looked:
        workers, why = _weigh_workers(known.step_us, count, workers)
    spec, masked = known.spec, known.masks_in_info
    builders = [CopyBuilder(config, role, index, spec.action, masked, render) for index in range(count)]
    plan = BufferPlan(spec, count, masked)
    vec: Vector = (
        Workers(builders, plan, workers, share=looked)
        if workers
        else InProcessEnvs(builders, plan.allocate())
    )
    words = _in_words(workers, known.lean and not render, why)
    legal = legal_mask(config.legal_actions, spec.action)
    return SameStepEnvs(vec, spec, legal, known.bounds, backend=words, render=render)


def _may_have_workers(config: EnvConfig, backend: Backend, render: bool) -> bool:
    """Workers were asked for, or `auto` may take them because a fork is safe; a daemon may have no children.

    Results are the same with and without, so nothing has to be refused.
    """
    if multiprocessing.current_process().daemon or debugger_attached():
        return False
    return backend == "async" or (config.backend != "sync" and not render and can_fork())


def _weigh_workers(step_us: float | None, count: int, workers: int) -> tuple[int, str]:
    """How many processes `auto` takes, and what decided it."""
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
