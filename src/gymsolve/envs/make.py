"""EnvConfig → a vector of environments behind one contract, for training, evaluation and play alike."""

import multiprocessing
import sys

from gymsolve.envs.backends.envpool import EnvPoolEnvs, envpool_obstacle
from gymsolve.envs.backends.in_process import InProcessEnvs
from gymsolve.envs.backends.joined import JoinedEnvs
from gymsolve.envs.backends.same_step import SameStepEnvs, Vector
from gymsolve.envs.backends.shared_buffers import BufferPlan
from gymsolve.envs.backends.worker_pool import Workers, usable_cores
from gymsolve.envs.build import CopyBuilder, needs_own_process
from gymsolve.envs.contract import Envs
from gymsolve.envs.describe import describe, describe_tasks
from gymsolve.envs.families import find_backends, find_family
from gymsolve.envs.masks import legal_mask
from gymsolve.envs.options import check_wrappers
from gymsolve.envs.processes import can_fork
from gymsolve.envs.step_timing import cores_spare, worth_workers
from gymsolve.errors import ConfigError
from gymsolve.settings.config import EnvConfig, Role


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
    own = find_backends(config.id).get(backend)
    if own is not None:
        return own.make(config, role, count)
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


def choose_backend(config: EnvConfig, role: Role, *, render: bool = False, jumps: bool = False) -> str:
    """The backend that `env.backend` means for this environment; one that cannot serve it is refused.

    EnvPool is another implementation of the environment, so it trains on request and never judges.
    """
    asked = config.backend
    if needs_own_process(config):
        if asked not in ("auto", "sync", "async"):
            raise ConfigError(
                f"the {asked} backend cannot be used: each copy of {config.id} needs a process of its own.",
                where="env.backend",
                hint="Use env.backend=async.",
            )
        return "async"  # one process each; the results are those of any other way
    if asked in ("sync", "async"):
        return asked
    if asked != "auto" and (asked != "envpool" or role == "train"):
        if obstacle := _find_obstacle(config, role):
            raise ConfigError(f"the {asked} backend cannot be used: {obstacle}.", where="env.backend")
        return "sync" if render else asked
    if render:
        return "sync"
    for name, backend in find_backends(config.id).items():
        if (backend.jumps or not jumps) and backend.obstacle(config, role) is None:
            return name
    return "sync"


def list_backends(env_id: str) -> tuple[str, ...]:
    """Values of `env.backend` that may step an environment, whatever its other settings are."""
    return ("sync", "async", *find_family(env_id).backends, "envpool")


def debugger_attached() -> bool:
    """Is a debugger stepping through this process? (A coverage tracer is none.)"""
    if "debugpy" in sys.modules or "pydevd" in sys.modules:
        return True
    tracer = sys.gettrace()
    return tracer is not None and not type(tracer).__module__.startswith("coverage")


def _find_obstacle(config: EnvConfig, role: Role) -> str | None:
    """Why the backend that the settings name cannot serve them, or None."""
    if config.backend == "envpool":
        return envpool_obstacle(config)
    own = find_backends(config.id)
    if config.backend in own:
        return own[config.backend].obstacle(config, role)
    others = f"; its family has {', '.join(own)}" if own else ""
    return f"{config.id} has no backend of that name{others}"


def _make_same_step(config: EnvConfig, role: Role, backend: str, count: int, render: bool) -> SameStepEnvs:
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


def _may_have_workers(config: EnvConfig, backend: str, render: bool) -> bool:
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
