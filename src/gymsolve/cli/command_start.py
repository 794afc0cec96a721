"""When a command began, from which its time limit counts: with its process, if that is its own."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

_LONGEST_START = 10.0
"""Seconds from the start of a process to its first import of gymsolve, at most. An older process has been
something else before: `exec`, the last line of many scripts that start containers, keeps a process's age."""
_BEGAN: ContextVar[float | None] = ContextVar("when the command began", default=None)


@contextmanager
def counted_from_now(*, alone: bool) -> Iterator[None]:
    """A command begins; a process that is its own `alone` has begun with it, before its imports."""
    moment = time.perf_counter() - (_age_of_process() if alone else 0.0)
    before = _BEGAN.set(moment)
    try:
        yield
    finally:
        _BEGAN.reset(before)


def command_began() -> float:
    """The moment by `time.perf_counter`."""
    began = _BEGAN.get()
    return time.perf_counter() if began is None else began


def _age_of_process() -> float:
    """Seconds since the start of this process; 0 if the system does not say, or it was another program."""
    if sys.platform != "linux":
        return 0.0
    try:
        stat = Path("/proc/self/stat").read_text()
    except OSError:
        return 0.0
    # The command name in parentheses may itself contain spaces and parentheses.
    ticks = int(stat[stat.rindex(")") + 2 :].split()[19])
    age = time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK")
    return age if 0.0 <= age <= _LONGEST_START else 0.0
