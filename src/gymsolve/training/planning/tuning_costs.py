"""The clock behind `tuning.py`: what stepping, acting and learning cost, here and now."""

import itertools
import os
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TypeVar

import numpy as np

from gymsolve.envs.build import needs_own_process
from gymsolve.envs.make import choose_backend, list_backends, make_envs
from gymsolve.envs.random_policy import random_actions
from gymsolve.errors import EnvFaultError, UsageError
from gymsolve.experience.collect import Collector
from gymsolve.experience.frames import Frames
from gymsolve.experience.learner import Policy
from gymsolve.experience.rollout import Rollout
from gymsolve.fast import supports
from gymsolve.seeding import generator
from gymsolve.settings.config import EnvConfig, TrainConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array, EnvSpec
from gymsolve.training.engines.choose import choose_engine
from gymsolve.training.planning.tuning import Choice, Compute, Costs, Layout, choose, layouts

Key = TypeVar("Key")

_CHEAP_STEP = 5e-5
"""Seconds of one environment's step below which messages between processes cost more than they save."""
_SAMPLE_STEPS = 64
_MOST_THREADS = 4


def tune(
    config: TrainConfig,
    seconds: float,
    *,
    envs: bool = True,
    compute: bool = True,
    wide: bool = True,
    shortest: int = 1,
) -> Choice:
    """Measure for about `seconds` and choose.

    `envs` and `compute` say what may vary; `wide` also looks at backends and engines other than the run's.
    `shortest` is what `algo.num_steps` must not go below.
    """
    own_layout = Layout(config.env.num_envs, config.algo.num_steps)
    shapes = layouts(config, shortest) if envs else [own_layout]
    if config.env.tasks:
        raise UsageError("the speed of several tasks cannot be tuned.", where="env.tasks", hint="Tune one.")
    own_backend = choose_backend(config.env, "train")
    costs = Costs()
    spec = _measure_envs(config, shapes, own_backend, costs, 0.4 * seconds, wide=wide)
    own = _own_compute(config, spec)
    computes = _computes(config, spec, own, costs, wide=wide) if compute else [own]
    # The run's own comes last: engines set threads for the whole process, and those are to stay.
    for candidate in [*(other for other in computes if other != own), own]:
        _measure_compute(config, spec, candidate, shapes, costs, 0.6 * seconds / len(computes))
    return choose(costs, shapes, (own_layout, own_backend, own))


# -------------------------------------------------------------------------------- environments


def _measure_envs(
    config: TrainConfig, shapes: list[Layout], own: str, costs: Costs, seconds: float, *, wide: bool
) -> EnvSpec:
    """Seconds of a vector step, by backend and number; the facts of the environment."""
    others = list_backends(config.env.id)
    names = (
        [own, *(name for name in others if name != own)] if wide and config.env.backend == "auto" else [own]
    )
    if "sync" in names and needs_own_process(config.env):
        names.remove("sync")
        costs.obstacles["sync"] = f"Backend sync was not measured: a process can hold one {config.env.id}."
    spec: EnvSpec | None = None
    for name in names:
        if name == "async" and name != own and _step_seconds(costs, own) < _CHEAP_STEP:
            costs.obstacles[name] = (
                f"Backend async was not measured: a step takes {1e6 * _step_seconds(costs, own):.3g} µs, "
                "a message between processes more."
            )
            continue
        env = config.env.model_copy(update={"backend": name})
        try:
            for count in _counts(config, shapes, own, name):
                spec = _time_envs(env, count, seconds / len(names) / len(shapes), costs)
        except (UsageError, EnvFaultError) as error:
            if name == own:
                raise
            costs.obstacles[name] = f"Backend {name} was not measured: {error.message}"
    assert spec is not None
    return spec


def _step_seconds(costs: Costs, backend: str) -> float:
    return min(spent / count for (name, count), spent in costs.env.items() if name == backend)


def _counts(config: TrainConfig, shapes: list[Layout], own: str, name: str) -> list[int]:
    """Twice each, apart in time: what disturbs one measurement has passed by the next.

    Workers take longer to start than everything else here to measure, so they are looked at once.
    """
    if name == "async" and name != own:
        return [config.env.num_envs]
    return 2 * [shape.num_envs for shape in shapes]


def _time_envs(config: EnvConfig, count: int, seconds: float, costs: Costs) -> EnvSpec:
    envs = make_envs(config, "train", num_envs=count)
    try:
        action, rng = envs.spec.action, np.random.default_rng(0)
        masks = envs.reset(list(range(count)))[1]
        drawn = [action.to_env(random_actions(action, count, masks, rng)) for _ in range(32)]
        turns = itertools.cycle(drawn)

        def step() -> None:
            nonlocal masks
            # Drawing costs more than some environments' steps, so it is done before; masks need new actions.
            actions = (
                next(turns) if masks is None else action.to_env(random_actions(action, count, masks, rng))
            )
            stepped = envs.step(actions)
            masks = stepped.masks
            for fault in stepped.faults:  # what was waited for is not how long a step takes
                raise EnvFaultError(f"{fault.partition(';')[0]}, so its speed cannot be told.")

        _keep_lower(costs.env, (config.backend, count), _repeat(step, seconds / 2))
        return envs.spec
    finally:
        envs.close()


# ------------------------------------------------------------------------ acting and learning


def _own_compute(config: TrainConfig, spec: EnvSpec) -> Compute:
    """Engine, device and threads that the run would use without tuning."""
    numpy_serves = config.engine != "torch" and supports(config, spec) is None
    if numpy_serves:
        return Compute("numpy", "cpu", config.threads or 1)
    engine = choose_engine(config, spec)
    return Compute("torch", "cuda" if engine.on_gpu else "cpu", config.threads or engine.threads)


def _computes(config: TrainConfig, spec: EnvSpec, own: Compute, costs: Costs, *, wide: bool) -> list[Compute]:
    cores = min(_MOST_THREADS, os.cpu_count() or 1)
    counts = sorted({1, 2, cores, own.threads}) if cores > 1 else [own.threads]
    computes = [own._replace(threads=count) for count in counts] if own.device == "cpu" else [own]
    if not wide:
        return computes
    if own.engine == "numpy" and config.engine == "auto":
        computes.append(Compute("torch", "cpu", 1))
    if own.device == "cpu" and config.device == "auto":
        from gymsolve.training.engines.torch_engine import has_gpu

        if has_gpu():
            computes.append(Compute("torch", "cuda", 1))
        else:
            costs.obstacles["cuda"] = "There is no GPU that torch could use."
    return computes


def _measure_compute(
    config: TrainConfig, spec: EnvSpec, compute: Compute, shapes: list[Layout], costs: Costs, seconds: float
) -> None:
    probe, factor = _probe(config, spec)
    changed = {"engine": compute.engine, "device": compute.device, "threads": compute.threads}
    probe = probe.model_copy(update=changed)
    learner = choose_engine(probe, spec).build(probe, spec)
    policy = learner.policy
    rng = generator(config.seed, "minibatch")
    sample = _sample(probe, policy)
    for shape in 2 * shapes:
        obs = {key: _fill(array[0], shape.num_envs) for key, array in sample.obs.items()}
        masks = None if sample.masks is None else _fill(sample.masks[0], shape.num_envs)
        act = partial(policy.act, obs, masks, rng)
        _keep_lower(costs.acting, (compute, shape.num_envs), _repeat(act, 0.15 * seconds / len(shapes)))
    rollout = _stretched(sample, probe.algo.num_steps)
    learn = partial(learner.update, rollout, Progress(0, config.steps), rng)
    costs.update[compute] = factor * _repeat(learn, 0.7 * seconds)


def _probe(config: TrainConfig, spec: EnvSpec) -> tuple[TrainConfig, float]:
    """Settings to time an update with, and how many of those an update is.

    A whole update can take many seconds. A few passes tell as much; with convolutions, one minibatch does.
    """
    images = any(entry.kind == "image" for entry in spec.obs.values())
    algo, factor = config.algo.excerpt(
        Progress(0, config.steps), most_passes=1 if images else 4, one_minibatch=images
    )
    return config.model_copy(update={"algo": algo}), factor


def _sample(config: TrainConfig, policy: Policy) -> Rollout:
    """A few real steps, in this process whatever the run will do."""
    envs = make_envs(config.env.model_copy(update={"backend": "sync"}), "train", num_envs=config.env.num_envs)
    try:
        steps = min(_SAMPLE_STEPS, config.algo.num_steps)
        collector = Collector(envs, policy, steps, config.seed, config.env.frame_stack)
        return collector.collect(generator(config.seed, "policy"))
    finally:
        envs.close()


def _stretched(rollout: Rollout, steps: int) -> Rollout:
    """The same rollout, repeated until it is as long as a real one."""

    def longer(array: Array) -> Array:
        return _fill(array, steps)

    return replace(
        rollout,
        actions=longer(rollout.actions),
        log_probs=longer(rollout.log_probs),
        values=longer(rollout.values),
        next_values=longer(rollout.next_values),
        rewards=longer(rollout.rewards),
        terminated=longer(rollout.terminated),
        truncated=longer(rollout.truncated),
        valid=longer(rollout.valid),
        obs={
            key: stored.repeated(steps) if isinstance(stored, Frames) else longer(stored)
            for key, stored in rollout.obs.items()
        },
        masks=None if rollout.masks is None else longer(rollout.masks),
    )


def _fill(array: Array, length: int) -> Array:
    """The rows over and over, until there are `length` of them."""
    return np.ascontiguousarray(array[np.arange(length) % len(array)])


def _keep_lower(costs: dict[Key, float], key: Key, seconds: float) -> None:
    costs[key] = min(seconds, costs.get(key, seconds))


def _repeat(work: Callable[[], object], seconds: float) -> float:
    """Seconds of one call: the lower quartile of short stretches, the first call aside.

    Stretches, because environments take their time now and then (resets), which counts; a quartile, because
    whatever else the machine does only adds.
    """
    began = time.perf_counter()
    work()
    once = time.perf_counter() - began
    if once > seconds:
        return once  # a second call would not fit
    calls = max(1, int(0.05 * seconds / max(once, 1e-9)))
    times: list[float] = []
    while not times or time.perf_counter() - began < seconds:
        started = time.perf_counter()
        for _ in range(calls):
            work()
        times.append((time.perf_counter() - started) / calls)
    return sorted(times)[len(times) // 4]
