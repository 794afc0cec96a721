"""Tells a long call that its client has cancelled it.

A server sets the event for the thread of the call. Code that takes long checks it now and then, ends what it
has started and gives up. On a command line a signal ends the process instead.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from gymsolve.errors import GymsolveError

_GONE: ContextVar[threading.Event | None] = ContextVar("nobody waits any more", default=None)


class AbandonedError(GymsolveError):
    """The client cancelled this call."""


@contextmanager
def wanted_until(gone: threading.Event) -> Iterator[None]:
    """Code in this context is cancelled once the event is set."""
    before = _GONE.set(gone)
    try:
        yield
    finally:
        _GONE.reset(before)


def is_wanted() -> bool:
    gone = _GONE.get()
    return gone is None or not gone.is_set()


def require_wanted() -> None:
    """Raise if the call was cancelled."""
    if not is_wanted():
        raise AbandonedError("the call was cancelled.")
