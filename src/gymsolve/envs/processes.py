"""Processes of our own: how they start, whom they obey, and how they end.

Ctrl-C, a closed terminal, `timeout`, systemd and SLURM signal all processes of a training at once. Only the
process that trains decides what such a signal means, so all others ignore them from their first moment. Each
ends with its owner, however that ends: the connection closes, and on Linux the kernel tells them as well.
"""

import ctypes
import multiprocessing
import os
import signal
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.util import Finalize
from typing import Any

_PATIENCE = 5.0
"""Seconds that a process gets to close what it holds."""
_LAST_SECONDS = 10
"""Seconds that a process without an owner gets for the same."""
ENGINE_DIED = 70
"""Exit code of a worker that cannot go on because the program behind an environment died."""
_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux's prctl."""
_STOPS = [signal.SIGINT, signal.SIGTERM]
if sys.platform != "win32":
    _STOPS.append(signal.SIGHUP)

_ours: "weakref.WeakSet[Connection]" = weakref.WeakSet()
"""Our ends of all connections. A fork has copies of them, and as long as it does, nobody sees them close."""


WATCH = "gymsolve watch:"
"""How names of threads begin that only wait and look: they hold no lock then, so a fork may lose them."""


def can_fork() -> bool:
    """Is a fork of this process safe?"""
    busy = [thread for thread in threading.enumerate() if not thread.name.startswith(WATCH)]
    return sys.platform == "linux" and len(busy) == 1 and "torch" not in sys.modules


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Processes that start inside this block begin with requests to stop blocked."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _STOPS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class OwnProcess:
    """A process that runs `serve(its end of a connection, …)`, and our end of it."""

    def __init__(
        self, serve: Callable[..., None], *arguments: Any, fork: bool = True, daemon: bool = True
    ) -> None:
        """`fork` takes milliseconds instead of a second, where it is safe; a daemon may have no children."""
        kind = "fork" if fork and can_fork() else "spawn"
        context: Any = multiprocessing.get_context(kind)
        self.connection, theirs = context.Pipe()
        _ours.add(self.connection)
        lasting = threading.current_thread() is threading.main_thread()
        self.process = context.Process(target=_begin, args=(serve, lasting, theirs, arguments), daemon=daemon)
        try:
            with signals_blocked():
                if kind == "spawn" and sys.platform != "win32":
                    resource_tracker.ensure_running()  # its start ends with some signals let through again
            with signals_blocked():
                self.process.start()
        except BaseException:  # a signal too: without a process, nobody would close this end
            self.connection.close()
            raise
        finally:
            theirs.close()
        # An owner that ends without closing would wait for ever for processes that ignore its SIGTERM.
        self._finish = Finalize(self, _end, (self.process, self.connection, _PATIENCE), exitpriority=10)

    def end(self, patience: float = _PATIENCE) -> None:
        """Close the connection, which ends the process; after so many seconds, kill it."""
        self._finish.cancel()
        _end(self.process, self.connection, patience)

    def describe_end(self) -> str:
        """How a process that is gone has ended, as the end of a sentence."""
        self.process.join(_PATIENCE)
        code = self.process.exitcode
        if code is None:
            return "closed its connection"
        if code < 0:
            return f"was killed ({signal.Signals(-code).name})"
        if code == ENGINE_DIED:
            return "ended because the engine of an environment died"
        return f"ended by itself (exit code {code})"


def _end(process: Any, connection: Connection, patience: float) -> None:
    connection.close()
    process.join(patience)
    if process.is_alive():
        process.kill()
        process.join()


# ---------------------------------------------------------------------------------- the new process


def _begin(
    serve: Callable[..., None], lasting: bool, connection: Connection, arguments: tuple[Any, ...]
) -> None:
    for end in list(_ours):
        end.close()
    _ignore_stops()
    if lasting:  # the kernel tells of the end of the thread that started us, and that one is the last to end
        _end_with_owner()
    with suppress(OSError):
        os.dup2(2, 1)  # what an environment prints must not come between the lines that a program reads
    serve(connection, *arguments)


def _ignore_stops() -> None:
    parent = os.getppid()

    def ignore(number: int, frame: types.FrameType | None) -> None:
        if os.getppid() != parent:
            # What we do may never end, and then nothing sees the connection close. An alarm kills.
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(_LAST_SECONDS)

    # A handler, not SIG_IGN, which programs that an environment starts would inherit: it could not end them.
    for number in _STOPS:
        signal.signal(number, ignore)
    if sys.platform != "win32":
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _STOPS)


def _end_with_owner() -> None:
    """Ask the kernel for a SIGTERM when the owner dies."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGTERM)
