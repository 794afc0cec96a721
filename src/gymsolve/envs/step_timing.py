"""How long one environment takes for a step, and whether that is long enough to pay for processes."""

import os
import time
from pathlib import Path

import numpy as np

from gymsolve.envs.random_policy import random_actions
from gymsolve.envs.replay import Info, Replay
from gymsolve.spec import ActionSpec

_WORTHWHILE_US = 100.0
"""Microseconds that workers must save per vector step; messages to and from them cost some 35."""
_FEWEST_STEPS = 3
_GLANCES = 6
_GLANCE_SECONDS = 0.002


def time_steps(env: Replay, action: ActionSpec, masked: bool, seconds: float) -> tuple[float, float]:
    """Microseconds of a step and of a reset (medians), under random legal actions."""
    rng = np.random.default_rng(0)
    steps: list[float] = []
    resets: list[float] = []
    began = time.perf_counter()
    done = True
    info: Info = {}
    while len(steps) < _FEWEST_STEPS or time.perf_counter() - began < seconds:
        if done:
            started = time.perf_counter()
            _, info = env.reset(seed=None if resets else 0)
            resets.append(time.perf_counter() - started)
        masks = info["action_mask"][None] if masked else None  # [1, mask_size]
        choice = action.to_env(random_actions(action, 1, masks, rng))[0]
        started = time.perf_counter()
        _, _, terminated, truncated, info = env.step(choice)
        steps.append(time.perf_counter() - started)
        done = bool(terminated or truncated)
    return 1e6 * float(np.median(steps)), 1e6 * float(np.median(resets))


def worth_workers(step_us: float, num_envs: int, workers: int) -> bool:
    """Would that many processes make a vector step shorter by more than they cost?"""
    return step_us * num_envs * (1.0 - 1.0 / workers) > _WORTHWHILE_US


def cores_spare(workers: int) -> bool:
    """Is there a core for each of so many processes, this one included? (Linux, where `auto` takes workers.)

    A step ends when the last of them is done, so one that waits for its core holds up all. Several glances,
    since something short runs now and then on any machine.
    """
    others = min(_glance() for _ in range(_GLANCES))
    return others + workers <= (os.cpu_count() or 1)


def _glance() -> int:
    """How many threads of others want to run right now."""
    time.sleep(_GLANCE_SECONDS)
    running, _, _ = Path("/proc/loadavg").read_text().split()[3].partition("/")
    return int(running) - 1  # this one
