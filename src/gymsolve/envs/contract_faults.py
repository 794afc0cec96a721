"""Words for breaches of Gymnasium's contract: what an environment did, where in its code, and the fix.

All wording about environments that raise or return the wrong thing stands here. Nothing of it runs while an
environment behaves: callers come here from an `except`, or with a value that has already failed a check.
"""

import inspect
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from gymsolve.crash_sites import (
    FAULTS,
    TRACEBACK,
    describe_error,
    frames_of,
    is_below,
    our_folders,
    place_of_error,
    place_of_line,
    text_of,
)
from gymsolve.envs.arguments import Blame, show
from gymsolve.errors import ConfigError, EnvFaultError, GymsolveError

SPACE_FIX = (
    "Return what observation_space says, for example np.asarray(…, dtype=np.float32), or change the space."
)
_STEP_FIX = "Gymnasium's step returns five values: observation, reward, terminated, truncated, info."
_OLD_STEP = f"{_STEP_FIX} The `done` of older versions is now `terminated` or `truncated`."
_RESET_FIX = "Gymnasium's reset returns two values, observation and info; info may be {}."
_RESET_HEAD = (
    "Declare `def reset(self, *, seed=None, options=None)` and begin with `super().reset(seed=seed)`."
)
_REWARD_FIX = "A reward is one number: return float(reward)."
_EXIT_FIX = "An environment ends an episode by returning terminated=True, never by ending the program."
_SPACES = {
    "action_space": "Set self.action_space in __init__, for example to gymnasium.spaces.Discrete(2).",
    "observation_space": (
        "Set self.observation_space in __init__, for example to gymnasium.spaces.Box(-1, 1, (4,))."
    ),
}


class Breach(NamedTuple):
    """A breach of the contract, in words that follow the environment's name, and the fix."""

    what: str
    fix: str | None = None


def place_of_method(env: gym.Env[Any, Any] | type[Any], name: str) -> str:
    """File and line in brackets: where the environment's class defines a method; nothing if unknown."""
    method = inspect.getattr_static(env if isinstance(env, type) else type(env.unwrapped), name, None)
    if not inspect.isfunction(method):
        return ""
    return place_of_line(method.__code__.co_filename, method.__code__.co_firstlineno)


# ------------------------------------------------------------------------------------ what it was


def explain_error(error: BaseException, method: str, env: gym.Env[Any, Any]) -> Breach:
    """The breach behind an error that came out of `reset` or `step`, with its place."""
    if isinstance(error, SystemExit):
        return Breach(f"ended the program with sys.exit{place_of_error(error)}", _EXIT_FIX)
    if _in_caller(error) and (misfit := _misfit(str(error), method)) is not None:
        return misfit._replace(what=misfit.what + place_of_method(env, method))
    return Breach(f"raised {describe_error(error)}{place_of_error(error)}", TRACEBACK)


def explain_info(info: Any, method: str, env: gym.Env[Any, Any]) -> Breach:
    """The breach of an `info` that is no mapping."""
    place = place_of_method(env, method)
    if info is None:
        return Breach(f"returned None as info{place}", "Return a dict; {} will do.")
    kind = type(info).__name__
    fix = _RESET_FIX if method == "reset" else _STEP_FIX
    return Breach(f"returned a {kind} where info should be, a dict{place}", fix)


def explain_type(name: str, value: Any, env: gym.Env[Any, Any]) -> Breach | None:
    """The breach of a reward, `terminated` or `truncated` with a wrong type; None where the type is right."""
    allowed = (bool, np.bool_) if name != "reward" else (bool, np.bool_, int, float, np.integer, np.floating)
    if isinstance(value, allowed):
        return None
    fix = _REWARD_FIX if name == "reward" else f"`{name}` is True or False: return bool({name})."
    return Breach(f"returned {_shown(value)} as {name}{place_of_method(env, 'step')}", fix)


def _shown(value: Any) -> str:
    if value is None:
        return "None"
    text = repr(value)
    kind = type(value).__name__
    return f"{text} ({kind})" if len(text) <= 40 and "\n" not in text else f"a {kind}"


_NO_NUMBER = ("float()", "arrays can be converted to Python scalars", "could not convert string to float")


def _in_caller(error: BaseException) -> bool:
    """Was it raised by the one who called the environment, and not by code of the environment?"""
    frames = frames_of(error)
    return bool(frames) and is_below(frames[-1][0], our_folders())


def _misfit(text: str, method: str) -> Breach | None:
    """The breach behind a complaint of the code that called an environment."""
    if "unexpected keyword argument 'seed'" in text or "unexpected keyword argument 'options'" in text:
        return Breach(f"has a reset that does not take {text.rpartition(' ')[2]}", _RESET_HEAD)
    if "unpack" in text and method == "reset":
        return Breach("returned an observation without info", _RESET_FIX)
    if "unpack" in text:
        got = re.search(r"got (\d+)", text)
        if got is None:
            return Breach("returned something other than five values", _STEP_FIX)
        return Breach(f"returned {got[1]} values", _OLD_STEP if got[1] == "4" else _STEP_FIX)
    if any(words in text for words in _NO_NUMBER):
        kind = re.search(r"not '(\w+)'", text)
        reward = (
            {"NoneType": "None"}.get(kind[1], f"a {kind[1]}") if kind else "something other than a number"
        )
        return Breach(f"returned {reward} as reward", _REWARD_FIX)
    return None


# ------------------------------------------------------------------------- how it came to be


def build_fault(
    env_id: str, error: BaseException, kwargs: dict[str, Any], creator: Any, culprit: Blame | None
) -> GymsolveError:
    """The constructor raised; arguments that it does not take are the user's to mend."""
    why = text_of(error)
    place = place_of_error(error)
    if isinstance(error, SystemExit):
        return EnvFaultError(
            f"{env_id} ended the program with sys.exit when it was built{place}.", hint=_EXIT_FIX
        )
    if isinstance(error, TypeError) and "unexpected keyword argument" in why and kwargs:
        hint = _accepted(creator)
        return ConfigError(f"{env_id} does not accept them: {why}.", where="env.kwargs", hint=hint)
    if isinstance(error, TypeError) and (missing := re.search(r"missing \d+ required .*?'(\w+)'", why)):
        hint = f"Give it one: --set env.kwargs.{missing[1]}=…"
        return ConfigError(f"{env_id} needs an argument: {why}.", where="env.kwargs", hint=hint)
    if kwargs:
        return refuse_arguments(env_id, "built", error, kwargs, culprit)
    return EnvFaultError(f"{env_id} could not be built: {describe_error(error)}{place}.", hint=TRACEBACK)


def refuse_arguments(
    env_id: str, done: str, error: BaseException, kwargs: dict[str, Any], culprit: Blame | None
) -> ConfigError:
    """With these arguments it cannot be `done` (built, reset); the `culprit`, where one was found."""
    shown = culprit.shown if culprit else ", ".join(f"{name}={show(value)}" for name, value in kwargs.items())
    what = f"{env_id} cannot be {done} with {shown}: {describe_error(error)}{place_of_error(error)}."
    where, hint = (culprit.where, culprit.fix) if culprit else ("env.kwargs", TRACEBACK)
    return ConfigError(what, where=where, hint=hint)


def _accepted(creator: Any) -> str | None:
    if not callable(creator):
        return None
    try:
        parameters = list(inspect.signature(creator).parameters)
    except (TypeError, ValueError):  # code that Python cannot look into
        return None
    return f"It takes: {', '.join(parameters)}." if parameters else "It takes none."


def require_spaces(env: gym.Env[Any, Any], env_id: str) -> None:
    """Refuse an environment without spaces, or with something else in their place."""
    for name, fix in _SPACES.items():
        try:
            space = getattr(env, name)
        except AttributeError as error:
            raise EnvFaultError(f"{env_id} has no {name}{_place_of_class(env)}.", hint=fix) from error
        if not isinstance(space, spaces.Space):
            given = f"the class {space.__name__}" if isinstance(space, type) else f"{space!r}"
            what = f"the {name} of {env_id} is {given}, no Gymnasium space{_place_of_class(env)}."
            raise EnvFaultError(what, hint=fix)


def _place_of_class(env: gym.Env[Any, Any]) -> str:
    return place_of_method(env, "__init__") or place_of_method(env, "reset")


@contextmanager
def keep_folder() -> Iterator[None]:
    """Code of an environment may change the working directory; here everything goes on where it was."""
    before = Path.cwd()
    try:
        yield
    finally:
        os.chdir(before)


def close_env(env: gym.Env[Any, Any], label: str) -> str | None:
    """Close an environment; a sentence if that failed, which is no reason to lose what was done with it.

    `label` is its name for the watchdog of calls that do not return (`training/watchdog.py`).
    """
    try:
        env.close()
    except FAULTS as error:
        return f"its close raised {describe_error(error)}{place_of_error(error)}"
    return None
