"""A look at an environment before hours go into it: is it sound, what does it pay, how fast is it?"""

import time
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from gymnasium import spaces

from gymsolve.config import EnvConfig
from gymsolve.envs.backends.worker_pool import usable_cores
from gymsolve.envs.build import CopyBuilder, build_env
from gymsolve.envs.determinism import Determinism, check_determinism
from gymsolve.envs.make import choose_backend, describe_env, make_envs, masks_in_info
from gymsolve.envs.offers import Offers
from gymsolve.envs.random_policy import Census, blind_actions, take_census
from gymsolve.envs.spaces import action_spec
from gymsolve.envs.step_timing import worth_workers
from gymsolve.errors import EnvFaultError
from gymsolve.spec import EnvSpec

__all__ = ["PreflightReport", "preflight"]

_LOOK_STEPS = 200
_LOOK_SECONDS = 1.0


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
    offers: tuple[str, ...]
    """Keys of `info` that hold numbers, those that speak of rewards first: components to shape with."""
    problems: tuple[str, ...]
    """What breaks the contract: to be mended before training."""
    cautions: tuple[str, ...]
    """What is allowed but will make learning harder or less repeatable."""
    notes: tuple[str, ...]

    @property
    def has_time_limit(self) -> bool:
        return self.spec.max_episode_steps is not None or any(census.truncated for census in self.census)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "has_time_limit": self.has_time_limit}


def preflight(config: EnvConfig, *, seconds: float = 4.0) -> PreflightReport:
    """Spaces, determinism, timing, rewards under blind policies, and problems found on the way."""
    problems, timing, offers = _look_closely(config)
    try:
        spec = describe_env(config)
    except EnvFaultError:  # it cannot even be reset, which the list of problems says already
        spec = describe_env(config.model_copy(update={"action_masks": "off"}))
    determinism: Determinism | None = None
    census: list[Census] = []
    speeds: dict[str, float] = {}
    try:
        determinism = check_determinism(config)
        census = _censuses(config, seconds / 2)
        speeds = _speeds(config, seconds / 6)
    except EnvFaultError as error:
        problems.append(str(error))
    return PreflightReport(
        spec=spec,
        backend=_backend(config, timing[1]),
        determinism=determinism,
        reset_seconds=timing[0],
        step_seconds=timing[1],
        steps_per_second=speeds,
        census=tuple(census),
        offers=offers,
        problems=tuple(dict.fromkeys(problems)),
        cautions=tuple(_cautions(spec, determinism, census)),
        notes=spec.notes,
    )


def _backend(config: EnvConfig, step_seconds: float | None) -> str:
    """What training would use, as far as the time of a step tells."""
    backend = choose_backend(config, "train")
    workers = min(config.num_envs, config.workers or usable_cores())
    if config.backend == "auto" and backend == "sync" and step_seconds is not None:
        return "async" if worth_workers(1e6 * step_seconds, config.num_envs, workers) else "sync"
    return backend


def _look_closely(
    config: EnvConfig,
) -> tuple[list[str], tuple[float | None, float | None], tuple[str, ...]]:
    """Step one environment and compare what it returns with what its space promises."""
    built = build_env(config, "train")
    offers = Offers(built.env)
    action, rng = action_spec(built.env.action_space), np.random.default_rng(0)
    problems: list[str] = []
    resets: list[float] = []
    steps: list[float] = []
    try:
        masked = masks_in_info(config, built, action)
        env = CopyBuilder(config, "train", 0, action, masked, render=False).finish(replace(built, env=offers))
        done = True
        while len(steps) < _LOOK_STEPS and sum(steps) + sum(resets) < _LOOK_SECONDS:
            started = time.perf_counter()
            if done:
                obs, info = env.reset(seed=None if resets else 0)
                resets.append(time.perf_counter() - started)
                done = False
            else:
                masks = info["action_mask"][None] if masked else None  # [1, mask_size]
                choice = action.to_env(blind_actions(action, 1, masks, rng))[0]
                started = time.perf_counter()
                obs, reward, terminated, truncated, info = env.step(choice)
                steps.append(time.perf_counter() - started)
                done = bool(terminated or truncated)
                if not np.isfinite(float(reward)):
                    problems.append(f"a reward is {reward}")
            problems += _complaints(obs, env.observation_space, "")
    except EnvFaultError as error:
        problems.append(str(error))
    finally:
        built.env.close()
    return problems, (_median(resets), _median(steps)), offers.names()


def _complaints(obs: Any, space: Any, name: str) -> list[str]:
    """Where an observation differs from its space in dtype, bounds or sanity."""
    if isinstance(space, spaces.Dict):
        return [
            bad
            for key, inner in space.spaces.items()
            for bad in _complaints(obs[key], inner, f"{name}/{key}")
        ]
    if isinstance(space, spaces.Tuple):
        return [
            bad for i, inner in enumerate(space.spaces) for bad in _complaints(obs[i], inner, f"{name}/{i}")
        ]
    if not isinstance(space, spaces.Box):
        return []
    label = f"entry {name[1:]!r} of the observation" if name else "the observation"
    values = np.asarray(obs)
    found = []
    if values.dtype != space.dtype:
        found.append(f"{label} is {values.dtype}, its space says {space.dtype}")
    if np.issubdtype(values.dtype, np.floating) and not np.isfinite(values).all():
        found.append(f"{label} contains NaN or infinity")
    elif ((values < space.low) | (values > space.high)).any():
        found.append(f"{label} leaves the bounds of its space")
    return found


def _censuses(config: EnvConfig, seconds: float) -> list[Census]:
    envs = make_envs(config, "train", num_envs=min(4, config.num_envs))
    try:
        return [
            take_census(envs, "random", seconds / 2),
            take_census(envs, "first", seconds / 4),
            take_census(envs, "repeat", seconds / 4),
        ]
    finally:
        envs.close()


def _speeds(config: EnvConfig, seconds: float) -> dict[str, float]:
    backends = ["sync", "async"]
    fastest = choose_backend(config.model_copy(update={"backend": "auto"}), "train")
    if fastest not in backends:
        backends.append(fastest)
    speeds = {}
    for backend in backends:
        envs = make_envs(
            config.model_copy(update={"backend": backend}), "train", num_envs=min(8, config.num_envs)
        )
        try:
            census = take_census(envs, "random", seconds / len(backends))
        finally:
            envs.close()
        speeds[backend] = census.env_steps / census.seconds
    return speeds


def _cautions(spec: EnvSpec, determinism: Determinism | None, census: list[Census]) -> list[str]:
    cautions = []
    if determinism is not None and not determinism.seed_reproduces:
        cautions.append("the same seed does not give the same trajectory, so runs cannot be repeated exactly")
    elif determinism is not None and not determinism.resumes_exactly:
        cautions.append(
            "it keeps state that a reset does not clear, so a resumed run will drift from the original"
        )
    if determinism is not None and determinism.copies_identical:
        cautions.append("copies with different seeds are identical, so more of them add no variety")
    if census and all(one.nonzero_rewards == 0 for one in census):
        cautions.append("no reward other than 0 was seen under any blind policy")
    if census and not any(one.episodes for one in census):
        limit = (
            f"the time limit is {spec.max_episode_steps} steps"
            if spec.max_episode_steps
            else "it has no time limit"
        )
        cautions.append(f"no episode ended while looking; {limit}")
    return cautions


def _median(values: list[float]) -> float | None:
    return float(np.median(values)) if values else None
