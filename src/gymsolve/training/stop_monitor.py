"""Sees to it that a stop comes to an end, also where the thread that trains is stuck in an environment.

A thread of its own hears signals (through a socket, since Python's handlers wait for the thread that is
stuck) and looks for the stop file. It says at once what was asked for and what happens now. When nothing
moves for `grace_seconds` after that, or somebody insists, it interrupts the training; should even that have
no effect, it writes down what happened and tells the observer that the run is abandoned. The console then
ends the process. It cannot help where native code hangs and keeps Python's lock: only `kill -9` does, and a
resume copes with that.
"""

import _thread
import select
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from gymsolve.envs.processes import WATCH
from gymsolve.errors import GymsolveError
from gymsolve.runs.run import Run
from gymsolve.training.observer import Observer
from gymsolve.training.stop import EXIT_CODES, EndAtOnceError, StopSignal
from gymsolve.training.trainer import Trainer

_LOOK_SECONDS = 0.5
_REACT_SECONDS, _UNWIND_SECONDS = 5.0, 60.0
"""For the training to hear that it is interrupted, and then to save what it can and to close everything."""
_ASKED = {
    "interrupt": "stopping",
    "terminated": "terminated by a signal",
    "hangup": "the terminal was closed",
    "stop file": "asked to stop by `gymsolve stop`",
}
_OVER = b"\0"


class StopMonitor:
    """Watches over the end of one training."""

    def __init__(self, signalled: StopSignal, run: Run, trainer: Trainer, observer: Observer) -> None:
        self._signalled, self._run, self._trainer, self._observer = signalled, run, trainer, observer
        self._ours, self._theirs = socket.socketpair()
        self._ours.setblocking(False)
        self._theirs.setblocking(False)
        self._thread = threading.Thread(target=self._watch, daemon=True, name=f"{WATCH} stop")
        self._announcing = threading.Lock()
        self._announcer: threading.Thread | None = None
        self._resting = False
        self._unwinding = False
        self._interrupted_at: float | None = None

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch the training inside this block; afterwards only an end that is overdue."""
        before = signal.set_wakeup_fd(self._theirs.fileno(), warn_on_full_buffer=False) if self._hears else -1
        self._signalled.attendant = self._count_signals if self._hears else None
        self._thread.start()
        try:
            yield
        finally:
            self._signalled.attendant = None
            if self._hears:
                signal.set_wakeup_fd(before)
            self._resting, self._unwinding = self._signalled.at_once is None, True
            self._announce()
            if self._announcer is not None:
                self._announcer.join(_REACT_SECONDS)  # its words come before the verdict

    def close(self) -> None:
        """End the thread."""
        with suppress(OSError):
            self._theirs.send(_OVER)
        if self._thread.is_alive():
            self._thread.join(_REACT_SECONDS)
        if not self._thread.is_alive():
            self._ours.close()
            self._theirs.close()

    @property
    def _hears(self) -> bool:
        return bool(self._signalled.heard)

    # ----------------------------------------------------------------------------- in the thread

    def _watch(self) -> None:
        moved, pulse = time.monotonic(), self._pulse()
        while not self._look():
            if self._resting:
                continue
            if self._signalled.reason is None and self._run.stop_requested():
                self._signalled.request("stop file")
            if self._signalled.reason is not None:
                self._announce()
            now, beat = time.monotonic(), self._pulse()
            if beat != pulse:
                moved, pulse = now, beat
            self._press(now, now - moved)

    def _look(self) -> bool:
        """Wait for signals, but not long; True once it is over."""
        select.select([self._ours], [], [], _LOOK_SECONDS)
        return _OVER in self._count_signals()

    def _count_signals(self) -> bytes:
        """Count what has come; the thread that trains does so too, and each signal goes to one of both."""
        try:
            numbers = self._ours.recv(4096)
        except BlockingIOError:
            return b""
        for number in numbers:
            if number in self._signalled.heard:
                self._signalled.count(number)
        return numbers

    def _pulse(self) -> tuple[int, int, int]:
        counters = self._trainer.counters
        return counters.env_steps, counters.updates, self._trainer.collector.begun

    def _announce(self) -> None:
        """Say which stop was requested, in a thread: a halted terminal blocks its writer."""
        reason = self._signalled.reason
        if reason is None:
            return
        grace = self._trainer.config.grace_seconds
        text = (
            f"{_ASKED[reason]}: the update under way is finished and saved first; Ctrl-C again does not "
            f"wait, and after {grace:g} s in which nothing moves it ends without that"
        )
        with self._announcing:  # the thread that trains comes here too, at its end
            if self._announcer is None:
                words = f"{WATCH} words"
                self._announcer = threading.Thread(target=self._say, args=(text,), daemon=True, name=words)
                self._announcer.start()

    def _say(self, text: str) -> None:
        facts = {"reason": self._signalled.reason, "text": text}
        with suppress(GymsolveError):  # a full disk is no reason not to stop
            self._run.append_event("stopping", env_steps=self._trainer.counters.env_steps, **facts)
        self._observer.event("stopping", facts)

    def _press(self, now: float, still: float) -> None:
        """Interrupt the training if its end is overdue, and give it up if that was of no use."""
        signalled = self._signalled
        if signalled.at_once is None:
            signalled.at_once = self._overdue(now, still)
        if signalled.at_once is None:
            return
        if self._interrupted_at is None:
            self._interrupted_at = now
            if signalled.heard:
                _wake_main(signalled.heard[0])  # its handler raises `at_once`
        elif now - self._interrupted_at > (_UNWIND_SECONDS if self._unwinding else _REACT_SECONDS):
            self._give_up(signalled.at_once)

    def _overdue(self, now: float, still: float) -> EndAtOnceError | None:
        reason = self._signalled.reason
        grace, begun = self._trainer.config.grace_seconds, self._trainer.collector.begun
        where = f" in step {begun} of a rollout" if begun else ""
        if reason is not None and min(still, now - self._signalled.asked_at) >= grace:
            text = f"{reason}: nothing has moved for {grace:g} s{where}, so the end was not waited for"
            return EndAtOnceError(EXIT_CODES[reason], text)
        if begun and still >= grace and self._trainer.time_is_up:
            text = f"time: max_seconds is over, and nothing has moved for {still:.0f} s{where}"
            return EndAtOnceError(1, text)
        return None

    def _give_up(self, error: EndAtOnceError) -> None:
        """The training does not even hear that it is interrupted."""
        self._resting = True
        with suppress(GymsolveError):
            if self._run.status == "running":
                steps = self._trainer.counters.env_steps
                self._run.append_event("interrupted", env_steps=steps, text=str(error))
                self._run.set_status(error.status, reason=str(error), env_steps=steps)
        self._observer.event("abandoned", {"text": str(error), "exit_code": error.exit_code})


def _wake_main(number: int) -> None:
    """Send the main thread a signal, which also ends its waiting in the kernel."""
    main = threading.main_thread().ident
    if sys.platform == "win32" or main is None:
        _thread.interrupt_main(signal.Signals(number))
    else:
        signal.pthread_kill(main, number)
