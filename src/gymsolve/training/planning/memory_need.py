"""Estimates the memory that settings ask for, so that absurd ones are refused before anything is allocated.

The estimate is a lower bound: arrays whose sizes follow from the settings, not what libraries and
environments take for themselves. `free_memory` says what there is; the environment variable GYMSOLVE_MEMORY
(in GiB) overrides it.
"""

import itertools
import math
import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gymsolve.errors import ConfigError
from gymsolve.settings.config import EvalConfig, TrainConfig
from gymsolve.spec import EnvSpec
from gymsolve.text import count

GIB = 2**30
_PER_WEIGHT = 24
"""Bytes: weight, gradient, two moments of the optimizer, the copy to go back to, the copy being saved."""
_PER_ROW = 40
"""Bytes per step and copy beside observation and action: values, rewards, advantages, flags."""
_PER_FRAME = 128
"""Bytes of an array object, besides its content."""
_PER_EPISODE = 250
_LARGE_STACK = 64
"""Frames from which even one environment is worth a thought before it is built."""
_CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


@dataclass(frozen=True)
class Need:
    """Memory that one part of a run takes, and the settings that decide how much."""

    setting: str
    what: str
    bytes: int


def require_sane(config: TrainConfig) -> None:
    """Refuse settings that cannot work on this machine; nothing large has been allocated by then."""
    _require_playable(config)
    spec = None
    if config.env.frame_stack > _LARGE_STACK:
        from gymsolve.envs.describe import describe_env

        spec = describe_env(config.env.model_copy(update={"frame_stack": 1}))
    require_memory(config, spec, stack=config.env.frame_stack)


def require_memory(
    config: TrainConfig, spec: EnvSpec | None, *, stack: int = 1, free: int | None = None
) -> None:
    """Refuse settings that need more memory than is `free`; `stack` frames of `spec` are one observation."""
    available = free_memory() if free is None else free
    if available is None:
        return
    needs = estimate_memory(config, spec, stack)
    total = sum(need.bytes for need in needs)
    if total <= available:
        return
    worst = max(needs, key=lambda need: need.bytes)
    raise ConfigError(
        f"{worst.what} would take {_gib(worst.bytes)} of memory, and {_gib(available)} are free.",
        where=worst.setting,
        hint="Make it smaller, or say how much there is with GYMSOLVE_MEMORY=<GiB>.",
    )


def estimate_memory(config: TrainConfig, spec: EnvSpec | None = None, stack: int = 1) -> list[Need]:
    """The least memory of each part of a run; without `spec`, an observation is a single number."""
    env, algo = config.env, config.algo
    copies, steps = env.num_envs, algo.num_steps
    seen = stack * (4 if spec is None else _obs_bytes(spec))
    row = _PER_ROW + seen // (env.frame_stack if _shares_frames(spec, env.frame_stack) else 1)
    row += 8 if spec is None else 8 * spec.action.size + (spec.action.mask_size if spec.masked else 0)
    if config.net.memory is not None:  # at least one cell's state before every step
        row += 4 * config.net.memory.size
    evaluating = config.eval.num_envs or min(32, config.eval.episodes)
    widths = [1 if spec is None else stack * _inputs(spec), *config.net.hidden, 1]
    weights = sum(before * after for before, after in itertools.pairwise(widths))
    batch = math.ceil(copies * steps / algo.minibatches)
    return [
        Need(
            _largest(
                {"algo.num_steps": steps / 2048, "env.num_envs": copies / 64, "env.frame_stack": stack / 64}
            ),
            f"a rollout of {count(copies)} copies × {count(steps)} steps",
            copies * steps * row,
        ),
        Need(
            _largest({"env.num_envs": copies / 64, "env.frame_stack": env.frame_stack / 4}),
            f"{count(copies)} copies with {count(env.frame_stack)} observations each",
            copies * (env.frame_stack * _PER_FRAME + 4 * seen),
        ),
        Need(
            _largest({"eval.num_envs": evaluating / 32, "env.frame_stack": env.frame_stack / 4}),
            f"evaluating with {count(evaluating)} copies",
            evaluating * (env.frame_stack * _PER_FRAME + 4 * seen),
        ),
        Need(
            _largest({"net.hidden": max(config.net.hidden, default=1) / 1024, "env.frame_stack": stack / 64}),
            f"a network of {count(weights)} weights",
            weights * _PER_WEIGHT,
        ),
        Need(
            _largest({"net.hidden": sum(config.net.hidden) / 128, "algo.num_steps": steps / 2048}),
            f"learning from minibatches of {count(batch)} steps",
            batch * (seen + 4 * 2 * sum(config.net.hidden)),
        ),
        Need(
            "eval.episodes",
            f"the results of {count(config.eval.episodes)} episodes",
            min(config.eval.episodes, config.eval.max_steps) * _PER_EPISODE,
        ),
        *_own_need(config, spec),
    ]


def _own_need(config: TrainConfig, spec: EnvSpec | None) -> list[Need]:
    """The memory of the algorithm itself, such as a replay buffer."""
    env = config.env
    size = 0 if spec is None else config.algo.memory_bytes(spec, env.num_envs, env.frame_stack)
    return [Need("algo.buffer_size", f"the replay buffer of {config.algo.name}", size)] if size else []


def free_memory() -> int | None:
    """Bytes that this process may still take: the least of what machine, container and limits leave.

    None where that is not known.
    """
    asked = os.environ.get("GYMSOLVE_MEMORY", "")
    if asked:
        with suppress(ValueError):
            if (gib := float(asked)) > 0:
                return int(min(gib, 2.0**40) * GIB)
        raise ConfigError(f"should be a number of GiB, not {asked!r}.", where="GYMSOLVE_MEMORY")
    return min(_limits(), default=None)


def _limits() -> Iterator[int]:
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text().splitlines()
        kilobytes = [int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
        yield kilobytes[0] * 1024
    for most, used in _CGROUPS:
        with suppress(OSError, ValueError):  # `max` is no number: no limit
            yield max(0, int(Path(most).read_text()) - int(Path(used).read_text()) + _reclaimable(most))
    if sys.platform != "win32":
        import resource

        soft = resource.getrlimit(resource.RLIMIT_AS)[0]
        if soft != resource.RLIM_INFINITY:
            yield soft
    if sys.platform == "darwin":
        yield os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _reclaimable(limit: str) -> int:
    """Files in the container's cache, which count as used and make way."""
    lines = Path(limit).with_name("memory.stat").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("inactive_file ", "active_file ")))


def _require_playable(config: TrainConfig) -> None:
    """Refuse an evaluation that cannot end: each episode has a step at least."""
    settings = config.eval
    # Who lowers the cap wants short evaluations, and knows that they prove nothing.
    usual = max(settings.max_steps, EvalConfig().max_steps)
    for name, episodes, most in (
        ("episodes", settings.episodes, settings.max_steps),
        ("solved_episodes", settings.solved_episodes, usual),
    ):
        if episodes > most:
            raise ConfigError(
                f"{count(episodes)} episodes cannot be played within {count(most)} steps (eval.max_steps).",
                where=f"eval.{name}",
                hint="Use fewer, such as 100.",
            )


def _obs_bytes(spec: EnvSpec) -> int:
    sizes = {"uint8": 1, "int64": 8}
    return sum(sizes.get(entry.dtype, 4) * math.prod(entry.shape) for entry in spec.obs.values())


def _inputs(spec: EnvSpec) -> int:
    """Numbers that enter the network; how many features convolutions make of pictures is not counted."""
    plain = [math.prod(entry.shape) for entry in spec.obs.values() if entry.kind == "vector"]
    return max(1, sum(plain) + sum(sum(entry.nvec) for entry in spec.obs.values()))


def _shares_frames(spec: EnvSpec | None, stack: int) -> bool:
    """Rollouts keep each frame of stacked pictures once (`experience/frames.py`)."""
    return stack > 1 and spec is not None and all(entry.kind == "image" for entry in spec.obs.values())


def _largest(excess: dict[str, float]) -> str:
    """The setting that is furthest beyond what is usual."""
    return max(excess, key=lambda name: excess[name])


def _gib(amount: int) -> str:
    gib = amount / GIB
    return f"{gib:,.0f} GiB" if gib >= 100 else f"{gib:.1f} GiB"
