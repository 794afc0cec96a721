"""Where an error was raised, in words: the line of the user's own code, and what it said.

Code of the user's own is what is neither gymsolve, Gymnasium, nor installed. Nothing of it runs until
something has failed.
"""

import os
import sysconfig
import traceback
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

FAULTS = (Exception, SystemExit)
"""Errors that code of the user's own may raise; a KeyboardInterrupt is the user's own wish."""
TRACEBACK = "With --debug you see the traceback."

_Frame: TypeAlias = tuple[str, int, str]
"""File, line and function."""


def place_of_error(error: BaseException) -> str:
    """File and line in brackets: the innermost line of the user's own code that an error went through.

    Where only installed packages took part, their innermost line; nothing if no code but ours did.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return place_of_line(error.filename, error.lineno or 0)
    return _innermost([frame for cause in _chain(error) for frame in frames_of(cause)])


def find_crash_site(error: BaseException) -> dict[str, Any] | None:
    """File, line and function of the user's own code; None where only packages, or processes, took part."""
    own = [frame for cause in _chain(error) for frame in frames_of(cause) if _is_users(frame)]
    if not own:
        return None
    file, line, function = own[-1]
    return {"file": file, "line": line, "function": function}


def place_of_frame(frame: FrameType, until: FrameType) -> str:
    """Where a call is that does not return: `frame` is its innermost frame, `until` the outermost."""
    frames: list[_Frame] = []
    at: FrameType | None = frame
    while at is not None and at is not until:
        frames.insert(0, (at.f_code.co_filename, at.f_lineno, at.f_code.co_name))
        at = at.f_back
    return _innermost(frames)


def _innermost(frames: list[_Frame]) -> str:
    """The innermost line that is not ours; one of the user's own, if there is any."""
    strange = [frame for frame in frames if _is_strange(frame)]
    telling = [frame for frame in strange if _is_users(frame)] or strange
    return place_of_line(*telling[-1][:2]) if telling else ""


def _is_strange(frame: _Frame) -> bool:
    return not is_below(frame[0], our_folders()) and not frame[0].startswith("<")


def _is_users(frame: _Frame) -> bool:
    return _is_strange(frame) and not is_below(frame[0], _installed())


def _chain(error: BaseException) -> list[BaseException]:
    """The error and what led to it, the first cause last: Gymnasium raises some errors again in its words."""
    chain: list[BaseException] = []
    here: BaseException | None = error
    while here is not None and here not in chain:
        chain.append(here)
        here = here.__cause__ or (None if here.__suppress_context__ else here.__context__)
    return chain


def frames_of(error: BaseException) -> list[_Frame]:
    stack = traceback.extract_tb(error.__traceback__)
    return [(frame.filename, frame.lineno or 0, frame.name) for frame in stack]


def place_of_line(path: str, line: int) -> str:
    here = os.path.relpath(path) if is_below(path, (str(Path.cwd()),)) else path
    return f" ({here}, line {line})"


def is_below(path: str, folders: tuple[str, ...]) -> bool:
    return any(path.startswith(folder + os.sep) for folder in folders)


@cache
def our_folders() -> tuple[str, ...]:
    """The folders of gymsolve and of Gymnasium."""
    gymnasium = find_spec("gymnasium")
    theirs = [] if gymnasium is None else list(gymnasium.submodule_search_locations or ())
    return (str(Path(__file__).parent), *theirs)


@cache
def _installed() -> tuple[str, ...]:
    return tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def describe_error(error: BaseException) -> str:
    """`ZeroDivisionError: engine on fire`; the first line of a message that has several.

    Of an error without a message, the line of code that raised it.
    """
    name, lines = type(error).__name__, text_of(error).strip().splitlines()
    if lines:
        return f"{name}: {lines[0].rstrip('.')}"
    frames = traceback.extract_tb(error.__traceback__)
    code = (frames[-1].line or "").strip() if frames else ""
    return f"{name} at `{code}`" if code else name


def text_of(error: BaseException) -> str:
    """The text of an error, without the list of arguments that Gymnasium appends."""
    return str(error).partition(" was raised from the environment creator")[0]
