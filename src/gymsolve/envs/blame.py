"""Whose line it was: the place in an environment's own code that broke Gymnasium's contract, raised or hangs.

Nothing here is called while all is well.
"""

import inspect
import sys
import sysconfig
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import gymnasium as gym

from gymsolve.errors import GymsolveError

__all__ = ["RESET_CONTRACT", "STEP_CONTRACT", "close_env", "explain_error", "explain_info", "place_of_frame"]

RESET_CONTRACT = "Gymnasium's `reset(seed=…, options=…)` returns (observation, info), and info is a dict"
STEP_CONTRACT = (
    "Gymnasium's `step` returns (observation, reward, terminated, truncated, info): terminated where the "
    "task ended, truncated where a time limit cut it, and info is a dict"
)
_OURS = (str(Path(__file__).parents[1]), str(Path(gym.__file__).parent))
_LIBRARY = str(Path(sysconfig.get_path("stdlib")))


def _own_place(codes: Iterable[tuple[CodeType, int]]) -> str | None:
    """`file:line` of the innermost code that is not ours, Gymnasium's or Python's; given outermost first."""
    found = [(code.co_filename, line) for code, line in codes if not _foreign(code.co_filename)]
    return f"{found[-1][0]}:{found[-1][1]}" if found else None


def place_of_frame(frame: FrameType, until: FrameType) -> str | None:
    """Where a call is that does not return: `frame` is its innermost frame, `until` the outermost."""
    inside: list[tuple[CodeType, int]] = []
    at: FrameType | None = frame
    while at is not None and at is not until:
        inside.insert(0, (at.f_code, at.f_lineno))
        at = at.f_back
    return _own_place(inside)


def explain_error(error: BaseException, env: gym.Env[Any, Any] | None, call: str) -> tuple[str, str | None]:
    """What an environment did wrong in `step` or `reset`, to follow its name; and the fix, if it is known."""
    frames = [(frame.f_code, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    contract = RESET_CONTRACT if call == "reset" else STEP_CONTRACT
    innermost = frames[-1][0].co_filename if frames else ""
    text = str(error)
    if isinstance(error, SystemExit):
        place = _in_brackets(_own_place(frames))
        fix = "An environment must not end the program: raise an error, or return terminated or truncated."
        return f"called sys.exit({error.code!r}){place}", fix
    if (
        env is not None
        and _foreign(innermost)
        and isinstance(error, ValueError | TypeError)
        and "unpack" in text
    ):
        what = "returned something else than its contract says"
        return f"{what} ({text}){_in_brackets(_place_of(env, call))}", f"{contract}."
    name = f"{type(error).__name__}: {text}" if text else type(error).__name__
    return f"raised {name}{_in_brackets(_own_place(frames))}", None


def explain_info(info: Any, env: gym.Env[Any, Any], call: str) -> tuple[str, str]:
    """What is wrong with an `info` that is no dict, to follow the environment's name; and the fix."""
    contract = RESET_CONTRACT if call == "reset" else STEP_CONTRACT
    place = _in_brackets(_place_of(env, call))
    fix = f"{contract}; return {{}} if there is nothing to say."
    return f"returned {type(info).__name__} as info{place}", fix


def close_env(env: gym.Env[Any, Any], label: str) -> None:
    """Close an environment; one that cannot be closed is told, and no reason to end anything."""
    try:
        env.close()
    except GymsolveError as error:  # ours: it did not return
        sys.stderr.write(f"gymsolve: {error}\n")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it is others' code, and all is done
        what, _ = explain_error(error, env, "close")
        sys.stderr.write(f"gymsolve: {label} {what} in close; it is left as it is.\n")


def _place_of(env: gym.Env[Any, Any], call: str) -> str | None:
    """Where the method of the environment itself stands."""
    method = inspect.unwrap(getattr(type(env.unwrapped), call))
    code = method.__code__ if inspect.isfunction(method) else None
    return None if code is None else f"{code.co_filename}:{code.co_firstlineno}"


def _in_brackets(place: str | None) -> str:
    return f" ({place})" if place else ""


def _foreign(name: str) -> bool:
    if name.startswith("<") or name.startswith(_OURS):
        return True
    return name.startswith(_LIBRARY) and "site-packages" not in name
