"""Whether somebody still waits for the answer of a verb.

A server whose client cancels a call says so here, for the thread of that call; whatever takes long looks now
and then, ends what it has started and gives up. On a command line nobody says so: a signal ends the process.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from gymsolve.errors import GymsolveError

_GONE: ContextVar[threading.Event | None] = ContextVar("nobody waits any more", default=None)


class AbandonedError(GymsolveError):
    """Nobody waits for this answer any more."""


@contextmanager
def wanted_until(gone: threading.Event) -> Iterator[None]:
    """What runs in here is wanted until the event is set."""
    before = _GONE.set(gone)
    try:
        yield
    finally:
        _GONE.reset(before)


def is_wanted() -> bool:
    gone = _GONE.get()
    return gone is None or not gone.is_set()


def require_wanted() -> None:
    """Give up if nobody waits any more."""
    if not is_wanted():
        raise AbandonedError("the call was cancelled.")
