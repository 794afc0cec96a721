"""Where in the user's own code an error arose: the innermost frame that is neither ours nor a library's."""

import sysconfig
import traceback
from pathlib import Path
from typing import Any

__all__ = ["find_crash_site"]

_OURS = str(Path(__file__).parents[1])
_LIBRARIES = tuple({sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def find_crash_site(error: BaseException) -> dict[str, Any] | None:
    """File, line and function; None where only libraries, or another process, were involved."""
    for one in reversed(_chain(error)):
        frames = [frame for frame in traceback.extract_tb(one.__traceback__) if _is_users(frame.filename)]
        if frames:
            last = frames[-1]
            return {"file": last.filename, "line": last.lineno, "function": last.name}
    return None


def _chain(error: BaseException) -> list[BaseException]:
    """The error and what it came from, the first cause last."""
    found: list[BaseException] = []
    here: BaseException | None = error
    while here is not None and here not in found:
        found.append(here)
        here = here.__cause__ or (None if here.__suppress_context__ else here.__context__)
    return found


def _is_users(name: str) -> bool:
    return not name.startswith(("<", _OURS, *_LIBRARIES))
