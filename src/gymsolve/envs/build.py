"""One environment, with everything a recipe puts around it.

From the inside out: `gym.make` with its time limit (of a quicker class where `lean/` has one), the
raw-return recorder (when a wrapper above changes rewards), the recipe's wrappers for this role, channels
first, frame stack. `Replay` comes around that, per copy. This module turns Gymnasium's complaints into our
errors.
"""

import hashlib
import json
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import gymnasium as gym
from gymnasium import error as gym_error

from gymsolve.crash_sites import FAULTS
from gymsolve.envs.arguments import Blame, blame, check_types
from gymsolve.envs.contract_faults import build_fault, close_env, keep_folder, require_spaces
from gymsolve.envs.families import GENERIC, families, find_creator, find_family, is_exclusive
from gymsolve.envs.families.family import IMAGES
from gymsolve.envs.headless import draw_without_screen
from gymsolve.envs.lean import find_lean
from gymsolve.envs.options import Planned, check_wrappers
from gymsolve.envs.registration import find_spec as find_spec
from gymsolve.envs.registration import newest_version
from gymsolve.envs.replay import Replay
from gymsolve.envs.spaces import Space, is_image
from gymsolve.envs.wrappers.actions import FrameSkip
from gymsolve.envs.wrappers.components import RewardComponents
from gymsolve.envs.wrappers.images import ChannelsFirst
from gymsolve.envs.wrappers.nested import FrameStack
from gymsolve.envs.wrappers.rewards import RawReturn, TimeLimit
from gymsolve.envs.wrappers.watch import Watch
from gymsolve.errors import ConfigError, GymsolveError, MissingExtraError, UnknownEnvError, UsageError
from gymsolve.settings.config import EnvConfig, Role
from gymsolve.spec import ActionSpec

AnyEnv: TypeAlias = gym.Env[Any, Any]
_STEPPING = ("num_envs", "backend", "workers", "step_timeout", "reset_timeout", "build_timeout", "lean")
"""Settings that decide how copies are stepped, and not where a step leads."""


@dataclass(frozen=True)
class BuiltEnv:
    """A wrapped environment and what was learned while building it."""

    env: AnyEnv
    raw: RawReturn | None
    parts: RewardComponents | None
    watch: Watch | None
    reward_threshold: float | None
    max_episode_steps: int | None
    notes: tuple[str, ...]
    lean: bool
    """True if its class is a quicker one than the stock class."""


@dataclass(frozen=True)
class CopyBuilder:
    """Builds copy `index`; picklable, since worker processes call it."""

    config: EnvConfig
    role: Role
    index: int
    action: ActionSpec
    masked: bool
    render: bool

    def __call__(self) -> Replay:
        return self.finish(build_env(self.config, self.role, self.render))

    def finish(self, built: BuiltEnv) -> Replay:
        recorders = built.raw, built.parts, built.watch
        copy = Replay(built.env, self.index, self.config.id, self.action, self.masked, recorders)
        copy.made_by = digest_settings(self.config)
        return copy


def digest_settings(config: EnvConfig) -> str:
    """A digest of the settings that decide where a step leads; how copies are stepped is no part of it."""
    # Without defaults: a setting that a later version adds changes nothing of what there was.
    plain = config.model_dump(exclude=set(_STEPPING), exclude_defaults=True)
    return hashlib.sha256(json.dumps(_plain(plain)).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    """JSON-ready; an object that somebody passed in Python by its kind: its text may change every time."""
    if isinstance(value, dict):
        return sorted(([str(key), _plain(item)] for key, item in value.items()), key=lambda entry: entry[0])
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | float | int | None) else type(value).__qualname__


def build_env(config: EnvConfig, role: Role, render: bool = False) -> BuiltEnv:
    """One environment as the agent sees it, without the replay recorder."""
    plan = check_wrappers(config, role)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice to authors of environments, not to those who train
        return _build(config, plan, render)


def _build(config: EnvConfig, plan: tuple[Planned, ...], render: bool) -> BuiltEnv:
    registered = find_spec(config.id)
    lean = _lean_class(config, registered, render)
    env = _make(config, registered, lean, render)
    # Gymnasium allows environments without a spec; then there is neither threshold nor limit.
    spec = env.spec
    threshold = spec.reward_threshold if spec else None
    limit = _limit_of(config.id, env)
    raw = RawReturn(env) if any(planned.changes_reward for planned in plan) else None
    env = raw or env
    parts: RewardComponents | None = None
    watch: Watch | None = None
    for planned in plan:
        env = planned.apply(env)
        if isinstance(env, RewardComponents):
            if parts is not None:
                raise ConfigError("there can be one of it; name all components there.", where=planned.where)
            parts = env
        watch = env if isinstance(env, Watch) else watch
        limit = _limit_above(env, limit)
    if _has_image(env.observation_space):
        env = ChannelsFirst(env)
    if config.frame_stack > 1:
        env = FrameStack(env, config.frame_stack)
    return BuiltEnv(env, raw, parts, watch, threshold, limit, notes_on(registered), lean is not None)


def needs_own_process(config: EnvConfig) -> bool:
    """Can a process hold only one of these environments?"""
    if config.tasks:
        return any(needs_own_process(config.for_task(name)) for name in config.tasks)
    return is_exclusive(config.id, find_spec(config.id))


def notes_on(spec: Any) -> tuple[str, ...]:
    """Notes for the user about a registration."""
    latest = gym.envs.registration.find_highest_version(spec.namespace, spec.name)
    if latest is None or spec.version is None or latest <= spec.version:
        return ()
    return (f"{spec.id} is out of date; the latest version is v{latest}.",)


def _lean_class(config: EnvConfig, registered: Any, render: bool) -> type[Any] | None:
    """A class to take in place of the registered one; only the stock class draws."""
    drawn = render or "render_mode" in {**registered.kwargs, **config.kwargs}
    entry = registered.entry_point
    if not config.lean or drawn or not isinstance(entry, str):
        return None
    stand_in = find_family(config.id).stand_ins.get(entry)
    return None if stand_in is None else find_lean(entry, stand_in)


def _make(config: EnvConfig, registered: Any, lean: type[Any] | None, render: bool) -> AnyEnv:
    family = find_family(config.id)
    given = family.arguments(config.kwargs)
    check_types(given, find_creator(registered.entry_point), known=family is not GENERIC)
    options: dict[str, Any] = {"disable_env_checker": True, **given}
    if config.max_episode_steps is not None:
        options["max_episode_steps"] = config.max_episode_steps
    if render:
        options["render_mode"] = "rgb_array"
    if "render_mode" in options:
        draw_without_screen()
    # gymsolve never steps before a reset, so no wrapper has to check for it in every step.
    wanted = replace(registered, entry_point=lean or registered.entry_point, order_enforce=False)
    env = _construct(config, wanted, options)
    for other in families():  # a function of anybody's may have built it
        env = other.prepare(env)
    return env if family in families() else family.prepare(env)


def _construct(config: EnvConfig, wanted: Any, options: dict[str, Any]) -> AnyEnv:
    try:
        with keep_folder():
            env: AnyEnv = gym.make(wanted, **options)
    except (gym_error.DependencyNotInstalled, ImportError) as error:
        raise _missing(config.id, error) from error
    except gym_error.Error as error:
        raise UnknownEnvError(f"{config.id} cannot be made: {error}", where="env.id") from error
    except GymsolveError:
        raise  # ours already: a family's own sentence, or about a constructor that does not return
    except FAULTS as error:
        creator = find_creator(wanted.entry_point)
        culprit = find_culprit(config, lambda out: _can_be_made(wanted, options, without=out))
        raise build_fault(config.id, error, config.kwargs, creator, culprit) from error
    require_spaces(env, config.id)
    return env


def find_culprit(config: EnvConfig, works_without: Callable[[str], bool]) -> Blame | None:
    """The argument that is to blame; trying that out takes a process that can hold several."""
    registered = find_spec(config.id)
    if is_exclusive(config.id, registered):
        return None
    return blame(config.kwargs, works_without, registered, find_creator(registered.entry_point))


def _can_be_made(wanted: Any, options: dict[str, Any], *, without: str) -> bool:
    try:
        with keep_folder():
            env = gym.make(wanted, **{name: options[name] for name in options if name != without})
    except FAULTS:
        return False
    close_env(env, wanted.id)
    return True


def _missing(env_id: str, error: Exception) -> UsageError:
    text = str(error)
    newest = newest_version(env_id)
    if newest is not None and newest != env_id:
        # Gymnasium knows these old versions by name only; what they ask for is of no use.
        return UnknownEnvError(
            f"{env_id} cannot be made any more.", where="env.id", hint=f"Did you mean {newest!r}?"
        )
    for extra in (find_family(env_id).extra, *(family.extra for family in families()), IMAGES):
        if extra is not None and extra.module in text.lower():
            return MissingExtraError.of(extra.package, extra.name)
    return MissingExtraError(f"{env_id} needs a package that is not installed: {text}")


def _limit_of(env_id: str, env: AnyEnv) -> int | None:
    """The time limit of a bare environment: Gymnasium's, or the one it keeps itself."""
    registered = env.spec.max_episode_steps if env.spec else None
    known = [limit for limit in (registered, find_family(env_id).limit(env)) if limit]
    return min(known, default=None)


def _limit_above(env: AnyEnv, limit: int | None) -> int | None:
    """The time limit in steps as counted above a wrapper."""
    if isinstance(env, FrameSkip) and env.steps_each_frame and limit is not None:
        return math.ceil(limit / env.low)
    if isinstance(env, TimeLimit):
        return env.max_steps if limit is None else min(limit, env.max_steps)
    return limit


def _has_image(space: Space) -> bool:
    if isinstance(space, gym.spaces.Dict):
        return any(_has_image(inner) for inner in space.spaces.values())
    if isinstance(space, gym.spaces.Tuple):
        return any(_has_image(inner) for inner in space.spaces)
    return is_image(space)
