"""What stepping an environment costs: one copy by itself, and what a vector of them adds.

Only random actions and a clock; nothing is learned, and no environment that trains is touched. Times
depend on the machine and the moment, so they may decide how fast something runs, never what comes out.
"""

import time
from dataclasses import dataclass

import numpy as np

from gymsolve.config import EnvConfig
from gymsolve.envs.build import CopyBuilder, build_env
from gymsolve.envs.census import blind_actions
from gymsolve.envs.make import make_envs, masks_in_info
from gymsolve.envs.pace import time_steps
from gymsolve.envs.spaces import action_spec

__all__ = ["EnvCost", "measure_env"]

_COPIES = 8


@dataclass(frozen=True)
class EnvCost:
    """Microseconds, medians."""

    step_us: float
    """One step of one environment, wrappers included."""
    reset_us: float
    overhead_us: float
    """What a vector in one process adds to it, per environment and step."""

    def vector_us(self, num_envs: int) -> float:
        """One step of that many environments in one process."""
        return num_envs * (self.step_us + self.overhead_us)


def measure_env(config: EnvConfig, seconds: float = 0.5) -> EnvCost:
    """Step one copy, then a vector of them, for half of the time each."""
    step_us, reset_us = _time_one(config, seconds / 2)
    together_us = _time_vector(config, seconds / 2)
    return EnvCost(step_us, reset_us, max(0.0, together_us - step_us))


def _time_one(config: EnvConfig, seconds: float) -> tuple[float, float]:
    built = build_env(config, "train")
    try:
        action = action_spec(built.env.action_space)
        masked = masks_in_info(config, built, action)
        env = CopyBuilder(config, "train", 0, action, masked, render=False).finish(built)
        return time_steps(env, action, masked, seconds)
    finally:
        built.env.close()


def _time_vector(config: EnvConfig, seconds: float) -> float:
    """Microseconds per environment and step; the median leaves most resets out."""
    envs = make_envs(config.model_copy(update={"backend": "sync"}), "train", num_envs=_COPIES)
    action, rng = envs.spec.action, np.random.default_rng(0)
    times: list[float] = []
    try:
        _, masks = envs.reset(list(range(_COPIES)))
        began = time.perf_counter()
        while not times or time.perf_counter() - began < seconds:
            actions = action.to_env(blind_actions(action, _COPIES, masks, rng))
            started = time.perf_counter()
            step = envs.step(actions)
            times.append(time.perf_counter() - started)
            masks = step.masks
    finally:
        envs.close()
    return 1e6 * float(np.median(times)) / _COPIES
