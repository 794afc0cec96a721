"""Ends what an environment in this process never returns from.

A thread looks at the main thread's stack every second. Where it finds the same call into an environment for
longer than the settings allow, it interrupts that call with an error that names the environment, the call and
the line it is at, and the run ends as after any fault of an environment. Nothing is marked or timed while
stepping. A call that does not hear the error, since its code catches everything or waits in native code, gets
some more time; then the process ends, with the last checkpoint on disk.

It cannot help where native code keeps Python's lock. The worker pool watches environments in worker
processes (`envs/backends/worker_pool.py`).
"""

import faulthandler
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, Self

from gymsolve.crash_sites import place_of_frame
from gymsolve.envs.build import build_env
from gymsolve.envs.contract_faults import close_env
from gymsolve.envs.describe import masks_in_info
from gymsolve.envs.make import debugger_attached
from gymsolve.envs.processes import WATCH
from gymsolve.envs.replay import Replay
from gymsolve.envs.single_env import draw
from gymsolve.errors import EnvFaultError
from gymsolve.interrupts import raise_outside
from gymsolve.settings.config import EnvConfig

_TICK_SECONDS = 1.0
_REACT_TICKS = 10
"""Between two interruptions of one call."""
_INTERRUPTIONS = 3
_TELL_TICKS = 10
"""Ticks after which the observer reports that a call takes long."""
_CALLS = {
    Replay.step.__code__: ("step", "env.step_timeout"),
    Replay.begin.__code__: ("reset", "env.reset_timeout"),
    masks_in_info.__code__: ("reset", "env.reset_timeout"),
    draw.__code__: ("render", "env.step_timeout"),
    build_env.__code__: ("its constructor", "env.build_timeout"),
    close_env.__code__: ("close", "env.reset_timeout"),
}

_watching: "list[Watchdog]" = []
"""Those whose block is open, the outermost first; only the innermost acts."""


class Watchdog:
    """Watches over environments in this process while its block is open; in the main thread only."""

    def __init__(
        self,
        config: EnvConfig,
        on_end: Callable[[str], None] = lambda text: None,
        on_wait: Callable[[str], None] = lambda text: None,
    ) -> None:
        """`on_end` is called before the process is ended, `on_wait` once for each call that takes long.

        Both get a sentence, and run in the thread that watches.
        """
        self._limits = {
            "env.step_timeout": config.step_timeout,
            "env.reset_timeout": config.reset_timeout,
            "env.build_timeout": config.build_timeout,
        }
        self._on_end, self._on_wait = on_end, on_wait
        self._main = threading.main_thread().ident
        self._error: EnvFaultError | None = None
        self._before: Any = None
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=f"{WATCH} environments", daemon=True)

    def __enter__(self) -> Self:
        here = threading.current_thread() is threading.main_thread()
        if here and sys.platform != "win32" and not debugger_attached():
            # Nobody uses this signal, and unhandled it does nothing. It ends calls that wait in the kernel.
            self._before = signal.signal(signal.SIGURG, self._interrupt)
            _watching.append(self)
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self in _watching:
            _watching.remove(self)
            signal.signal(signal.SIGURG, self._before or signal.SIG_DFL)
            # The stack that it has looked at holds whatever was trained; nothing of it may outlive the block.
            self._over.set()
            self._thread.join()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise_outside(error, frame)

    # ----------------------------------------------------------------------------- in the thread

    def _watch(self) -> None:
        call: FrameType | None = None
        ticks, interruptions = 0, 0
        while not self._over.wait(_TICK_SECONDS):
            innermost, last = self._innermost(), call
            call = None if innermost is None or _watching[-1:] != [self] else _find_call(innermost)
            # Ticks count, not seconds: while the process is stopped (Ctrl-Z) the environment is not to blame.
            ticks, interruptions = (ticks + 1, interruptions) if call is last else (0, 0)
            if call is None or innermost is None or _at_prompt(innermost):
                continue
            name, setting = _CALLS[call.f_code]
            limit = self._limits[setting]
            if ticks == _TELL_TICKS:
                self._on_wait(_waiting(call, innermost, name, limit, ticks * _TICK_SECONDS))
            if limit is None or ticks * _TICK_SECONDS < limit + interruptions * _REACT_TICKS * _TICK_SECONDS:
                continue
            error = _error(call, innermost, name, setting, ticks * _TICK_SECONDS)
            if interruptions == _INTERRUPTIONS:
                self._end(error)
            interruptions += 1
            self._error = error
            assert self._main is not None
            signal.pthread_kill(self._main, signal.SIGURG)

    def _innermost(self) -> FrameType | None:
        return None if self._main is None else sys._current_frames().get(self._main)

    def _end(self, error: EnvFaultError) -> None:
        faulthandler.dump_traceback(file=2)
        sys.stderr.write(f"error: {error}\n")
        try:
            self._on_end(str(error))
        finally:
            os._exit(1)


def _find_call(frame: FrameType | None) -> FrameType | None:
    """The innermost call into an environment that is under way."""
    while frame is not None and frame.f_code not in _CALLS:
        frame = frame.f_back
    return frame


def _at_prompt(frame: FrameType | None) -> bool:
    """Does somebody look at the environment with a debugger?"""
    while frame is not None:
        if frame.f_globals.get("__name__") in ("bdb", "pdb"):
            return True
        frame = frame.f_back
    return False


def _error(call: FrameType, innermost: FrameType, name: str, setting: str, seconds: float) -> EnvFaultError:
    return EnvFaultError(
        f"{_silence(call, innermost, name, seconds)}.",
        hint=f"If that is how long it takes, raise {setting}.",
    )


def _waiting(call: FrameType, innermost: FrameType, name: str, limit: float | None, seconds: float) -> str:
    patience = "nothing limits how long it may take" if limit is None else f"after {limit:g} it is given up"
    return f"{_silence(call, innermost, name, seconds)}; {patience}."


def _silence(call: FrameType, innermost: FrameType, name: str, seconds: float) -> str:
    given = call.f_locals
    who = given["self"].label if "self" in given else given.get("label") or given["config"].id
    return f"{who} has not returned from {name} for {seconds:g} seconds{place_of_frame(innermost, call)}"
