"""`gymsolve check`: is an environment sound, what does it pay, how fast is it?"""

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from gymsolve.envs.backends.worker_pool import usable_cores
from gymsolve.envs.build import CopyBuilder, build_env, find_spec
from gymsolve.envs.contract import Envs
from gymsolve.envs.contract_faults import close_env, explain_info, explain_type, keep_folder, place_of_method
from gymsolve.envs.describe import describe, describe_env
from gymsolve.envs.determinism import (
    BOUNDS_FIX,
    SEED_FIX,
    UNSEEDED,
    Determinism,
    check_determinism,
    place_in_class,
)
from gymsolve.envs.isolated import call_isolated
from gymsolve.envs.make import choose_backend, make_envs
from gymsolve.envs.random_policy import Census, SimplePolicy, random_actions, take_census
from gymsolve.envs.spaces import action_spec
from gymsolve.envs.step_timing import worth_workers
from gymsolve.envs.wrappers.components import is_number
from gymsolve.errors import EnvFaultError
from gymsolve.settings.config import EnvConfig
from gymsolve.spec import EnvSpec

_Looked: TypeAlias = tuple[list[str], tuple[float | None, float | None], tuple[str, ...]]
"""Problems; seconds of a reset and of a step; numbers in `info`."""

_LOOK_STEPS = 200
_CENSUS_STEPS: dict[SimplePolicy, int] = {"random": 1000, "first": 500, "repeat": 500}
"""Vector steps under each policy."""
_SPEED_SECONDS = 0.25
"""Seconds to time each backend; the clock decides nothing else here."""
_INFO_STEPS = 20
"""Steps whose `info` is looked at for numbers."""
_PAYING = ("reward", "cost", "bonus", "penalty")


@dataclass(frozen=True)
class PreflightReport:
    """Facts about an environment, and sentences on what is wrong with it."""

    spec: EnvSpec
    backend: str
    determinism: Determinism | None
    reset_seconds: float | None
    step_seconds: float | None
    """Seconds of one environment, wrappers included."""
    steps_per_second: dict[str, float]
    """Environment steps per second by backend, with random actions and no learning."""
    census: tuple[Census, ...]
    offers: tuple[str, ...]
    """Keys of `info` that hold numbers, those that speak of rewards first: components to shape with."""
    problems: tuple[str, ...]
    """Breaches of the contract, to be mended before training."""
    cautions: tuple[str, ...]
    """Facts that are allowed but make learning harder or less repeatable."""
    notes: tuple[str, ...]

    @property
    def has_time_limit(self) -> bool:
        return self.spec.max_episode_steps is not None or any(census.truncated for census in self.census)

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "has_time_limit": self.has_time_limit}


def preflight(config: EnvConfig) -> PreflightReport:
    """Spaces, determinism, timing, rewards under policies that know nothing, and problems."""
    with keep_folder():
        return _preflight(config)


def _preflight(config: EnvConfig) -> PreflightReport:
    problems, timing, offers = _look_at_one(config)
    try:
        spec = describe_env(config)
    except EnvFaultError:  # it cannot even be reset, which the list of problems says already
        spec = describe_env(config.model_copy(update={"action_masks": "off"}))
    determinism: Determinism | None = None
    census: list[Census] = []
    speeds: dict[str, float] = {}
    try:
        determinism = check_determinism(config)
        census = _censuses(config)
        speeds = _speeds(config)
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
        cautions=tuple(_cautions(config, spec, determinism, census)),
        notes=spec.notes,
    )


def _backend(config: EnvConfig, step_seconds: float | None) -> str:
    """The backend that training would use, judged by the time of a step."""
    backend = choose_backend(config, "train")
    workers = min(config.num_envs, config.workers or usable_cores())
    if config.backend == "auto" and backend == "sync" and step_seconds is not None:
        return "async" if worth_workers(1e6 * step_seconds, config.num_envs, workers) else "sync"
    return backend


def _look_at_one(config: EnvConfig) -> _Looked:
    try:
        known = describe(config, "train")
    except EnvFaultError as error:
        return [str(error)], (None, None), ()
    if known.exclusive:
        looked: _Looked = call_isolated(find_spec(config.id), _look_closely, config, known.masks_in_info)
        return looked
    return _look_closely(config, known.masks_in_info)


def _look_closely(config: EnvConfig, masked: bool) -> _Looked:
    """Step one environment and compare what it returns with what its space promises."""
    built = build_env(config, "train")
    offers = _Offers(built.env)
    action, rng = action_spec(built.env.action_space), np.random.default_rng(0)
    problems: list[str] = []
    complaints: dict[str, _Complaint] = {}
    resets: list[float] = []
    steps: list[float] = []
    try:
        env = CopyBuilder(config, "train", 0, action, masked, render=False).finish(replace(built, env=offers))
        done = True
        while len(steps) < _LOOK_STEPS:
            started = time.perf_counter()
            if done:
                obs, info = env.reset(seed=None if resets else 0)
                resets.append(time.perf_counter() - started)
                done = False
            else:
                masks = info["action_mask"][None] if masked else None  # [1, mask_size]
                choice = action.to_env(random_actions(action, 1, masks, rng))[0]
                started = time.perf_counter()
                obs, reward, terminated, truncated, info = env.step(choice)
                steps.append(time.perf_counter() - started)
                done = bool(terminated or truncated)
                if not np.isfinite(float(reward)):
                    _note(complaints, _Complaint(f"a reward is {reward}"))
            for complaint in _complaints(obs, env.observation_space, ""):
                _note(complaints, complaint)
        place = place_of_method(env, "step")
        problems += [f"{complaint}{place}" for complaint in complaints.values()]
    except EnvFaultError as error:
        problems.append(str(error))
    finally:
        close_env(built.env, config.id)
    problems += offers.misfits.values()
    return problems, (_median(resets), _median(steps)), offers.names()


@dataclass(frozen=True)
class _Complaint:
    """A mistake in one observation or in many, reported once."""

    what: str
    strays: tuple[float, ...] = ()
    """The lowest and the highest number outside of the bounds."""
    fix: str = ""

    def __str__(self) -> str:
        numbers = " to ".join(dict.fromkeys(f"{stray:g}" for stray in self.strays))
        return self.what + (f" with {numbers}" if numbers else "") + (f"; {self.fix}" if self.fix else "")


def _note(complaints: dict[str, _Complaint], new: _Complaint) -> None:
    """Add a complaint, or widen the range of the same one before."""
    before = complaints.get(new.what, new)
    strays = (*before.strays, *new.strays)
    complaints[new.what] = replace(new, strays=(min(strays), max(strays)) if strays else ())


def _complaints(obs: Any, space: Any, name: str) -> list[_Complaint]:
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
    complaints = []
    if values.dtype != space.dtype:
        fix = f"return np.asarray(…, dtype=np.{space.dtype})"
        complaints.append(_Complaint(f"{label} is {values.dtype}, its space says {space.dtype}", fix=fix))
    if np.issubdtype(values.dtype, np.floating) and not np.isfinite(values).all():
        complaints.append(_Complaint(f"{label} contains NaN or infinity"))
    elif ((values < space.low) | (values > space.high)).any():
        strays = values[(values < space.low) | (values > space.high)]
        ends = f"{space.low.min():g} to {space.high.max():g}"
        what = f"{label} leaves the bounds of its space ({ends})"
        complaints.append(_Complaint(what, (float(strays.min()), float(strays.max())), BOUNDS_FIX))
    return complaints


def _censuses(config: EnvConfig) -> list[Census]:
    envs = make_envs(config, "train", num_envs=min(4, config.num_envs))
    try:
        return [take_census(envs, policy, steps) for policy, steps in _CENSUS_STEPS.items()]
    finally:
        envs.close()


def _speeds(config: EnvConfig) -> dict[str, float]:
    """Environment steps per second by backend; an exclusive environment has only one way to be stepped."""
    fastest = choose_backend(config.model_copy(update={"backend": "auto"}), "train")
    backends = ["async"] if describe(config, "train").exclusive else ["sync", "async"]
    if fastest not in ("sync", "async"):
        backends.append(fastest)
    count = min(8, config.num_envs)
    speeds = {}
    for backend in backends:
        envs = make_envs(config.model_copy(update={"backend": backend}), "train", num_envs=count)
        try:
            speeds[backend] = _measure_speed(envs)
        finally:
            envs.close()
    return speeds


def _measure_speed(envs: Envs) -> float:
    rng, action, taken = np.random.default_rng(0), envs.spec.action, 0
    _, masks = envs.reset(list(range(envs.num_envs)))
    began = time.perf_counter()
    while (spent := time.perf_counter() - began) < _SPEED_SECONDS:
        step = envs.step(action.to_env(random_actions(action, envs.num_envs, masks, rng)))
        masks, taken = step.masks, taken + int(np.count_nonzero(step.valid))
    return taken / spent


def _cautions(
    config: EnvConfig, spec: EnvSpec, determinism: Determinism | None, census: list[Census]
) -> list[str]:
    cautions = []
    if determinism is not None and not determinism.seed_reproduces:
        place = place_in_class(config, "reset")
        cautions.append(f"{UNSEEDED}, so runs cannot be repeated exactly; {SEED_FIX}{place}")
    elif determinism is not None and not determinism.resumes_exactly:
        cautions.append(
            "it keeps state that a reset does not clear, so a resumed run will drift from the original"
        )
    if determinism is not None and determinism.copies_identical:
        cautions.append("copies with different seeds are identical, so more of them add no variety")
    if census and all(count.nonzero_rewards == 0 for count in census):
        cautions.append("no reward other than 0 was seen under any blind policy")
    if census and not any(count.episodes for count in census):
        limit = (
            f"the time limit is {spec.max_episode_steps} steps"
            if spec.max_episode_steps
            else "it has no time limit"
        )
        cautions.append(f"no episode ended while looking; {limit}")
    if any(count.cut for count in census):
        seen = min(count.env_steps for count in census)
        cautions.append(f"its steps are slow, so no more than {seen} of some policies were counted")
    return cautions


def _median(values: list[float]) -> float | None:
    return float(np.median(values)) if values else None


class _Offers(gym.Wrapper[Any, Any, Any, Any]):
    """Looks at what `step` returns: types, and keys of `info` with numbers to shape a reward with."""

    def __init__(self, env: gym.Env[Any, Any]) -> None:
        super().__init__(env)
        self._left = _INFO_STEPS
        self.misfits: dict[str, str] = {}
        """Results of `step` that have the wrong type, in words."""
        self._found: set[str] = set()

    def step(self, action: Any) -> Any:
        stepped = self.env.step(action)
        if len(stepped) == 5:
            for name, value in zip(("reward", "terminated", "truncated"), stepped[1:4], strict=True):
                if name not in self.misfits and (breach := explain_type(name, value, self.env)) is not None:
                    self.misfits[name] = f"it {breach.what}. {breach.fix}"
        if self._left:
            self._left -= 1
            info = stepped[4] if len(stepped) == 5 else {}  # code that unpacks it complains
            if not isinstance(info, Mapping):
                breach = explain_info(info, "step", self.env)
                raise EnvFaultError(f"it {breach.what} in a step. {breach.fix}")
            self._found |= {str(key) for key, value in info.items() if _counts(value)}
        return stepped

    def names(self) -> tuple[str, ...]:
        """The keys found, those that speak of rewards first."""
        return tuple(sorted(self._found, key=lambda name: (not _speaks_of_reward(name), name)))


def _speaks_of_reward(name: str) -> bool:
    return any(word in name.lower() for word in _PAYING)


def _counts(value: Any) -> bool:
    return is_number(value) and not isinstance(value, bool | np.bool_)
