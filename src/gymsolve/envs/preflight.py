"""A look at an environment before hours go into it: is it sound, what does it pay, how fast is it?"""

import time
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from gymnasium import spaces

from gymsolve.config import EnvConfig
from gymsolve.envs.build import build_env
from gymsolve.envs.census import Census, blind_actions, take_census
from gymsolve.envs.make import choose_backend, make_envs
from gymsolve.envs.spaces import ObsLayout, action_spec
from gymsolve.errors import EnvFaultError
from gymsolve.spec import EnvSpec

__all__ = ["Determinism", "PreflightReport", "are_copies_identical", "check_determinism", "preflight"]

_LOOK_STEPS = 200


@dataclass(frozen=True)
class Determinism:
    """What seeds do, judged from short trajectories under the same actions."""

    copies_identical: bool
    """Different seeds led to the same trajectory: parallel copies would add no variety."""
    seed_reproduces: bool
    """The same seed led to the same trajectory."""


@dataclass(frozen=True)
class PreflightReport:
    """Facts about an environment, and sentences on what is wrong with it."""

    spec: EnvSpec
    backend: str
    determinism: Determinism | None
    reset_seconds: float | None
    step_seconds: float | None
    """Of one environment, wrappers included."""
    steps_per_second: dict[str, float]
    """Environment steps per second by backend, with random actions and no learning."""
    census: tuple[Census, ...]
    problems: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def has_time_limit(self) -> bool:
        return self.spec.max_episode_steps is not None or any(census.truncated for census in self.census)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "has_time_limit": self.has_time_limit}


def are_copies_identical(config: EnvConfig) -> bool:
    """Would parallel copies with different seeds all see the same, given the same actions?"""
    return check_determinism(config).copies_identical


def check_determinism(config: EnvConfig, steps: int = 64) -> Determinism:
    """Step four copies alike: two of one seed, two of others."""
    envs = make_envs(config.model_copy(update={"backend": "sync"}), "train", num_envs=4)
    try:
        obs, masks = envs.reset([1, 1, 2, 3])
        rng = np.random.default_rng(0)
        alike = {row: _rows_equal(obs, 0, row) for row in (1, 2, 3)}
        for _ in range(steps):
            if not any(alike.values()):
                break
            actions = blind_actions(envs.spec.action, 4, masks, rng)
            if masks is None or (masks == masks[0]).all():
                actions[:] = actions[0]
            else:  # masks that differ are a difference already; each copy stays legal
                alike = {row: alike[row] and bool((masks[row] == masks[0]).all()) for row in alike}
            step = envs.step(envs.spec.action.to_env(actions))
            masks = step.masks
            seen = {**step.obs, "reward": step.rewards, "ended": step.terminated | step.truncated}
            alike = {row: alike[row] and _rows_equal(seen, 0, row) for row in alike}
    finally:
        envs.close()
    return Determinism(copies_identical=alike[1] and alike[2] and alike[3], seed_reproduces=alike[1])


def preflight(config: EnvConfig, *, seconds: float = 4.0) -> PreflightReport:
    """Spaces, determinism, timing, rewards under blind policies, and problems found on the way."""
    problems, timing = _look_closely(config)
    envs = make_envs(config, "train", num_envs=1)
    spec = envs.spec
    envs.close()
    determinism: Determinism | None = None
    census: list[Census] = []
    speeds: dict[str, float] = {}
    try:
        determinism = check_determinism(config)
        census = _censuses(config, seconds / 2)
        speeds = _speeds(config, seconds / 6)
    except EnvFaultError as error:
        problems.append(str(error))
    problems += _judge(spec, determinism, census)
    return PreflightReport(
        spec=spec,
        backend=choose_backend(config, "train"),
        determinism=determinism,
        reset_seconds=timing[0],
        step_seconds=timing[1],
        steps_per_second=speeds,
        census=tuple(census),
        problems=tuple(dict.fromkeys(problems)),
        notes=spec.notes,
    )


def _look_closely(config: EnvConfig) -> tuple[list[str], tuple[float | None, float | None]]:
    """Step one environment and compare what it returns with what its space promises."""
    built = build_env(config, "train")
    env, layout = built.env, ObsLayout(built.env.observation_space)
    action, rng = action_spec(env.action_space), np.random.default_rng(0)
    problems: list[str] = []
    resets: list[float] = []
    steps: list[float] = []
    try:
        while len(steps) < _LOOK_STEPS and sum(steps) + sum(resets) < 1.0:
            started = time.perf_counter()
            obs, info = env.reset(seed=0 if not resets else None)
            resets.append(time.perf_counter() - started)
            problems += _complaints(obs, layout)
            done = False
            while not done and len(steps) < _LOOK_STEPS and sum(steps) + sum(resets) < 1.0:
                masks = np.concatenate([np.ravel(part) for part in np.atleast_1d(info["action_mask"])])[None] \
                    if "action_mask" in info and action.kind != "box" else None
                choice = action.to_env(blind_actions(action, 1, masks, rng))[0]
                started = time.perf_counter()
                obs, reward, terminated, truncated, info = env.step(choice)
                steps.append(time.perf_counter() - started)
                problems += _complaints(obs, layout)
                done = bool(terminated or truncated)
    except EnvFaultError as error:
        problems.append(str(error))
    finally:
        env.close()
    return problems, (_median(resets), _median(steps))
