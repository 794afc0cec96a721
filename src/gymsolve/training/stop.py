"""Why a run ends: the budget is spent, it is solved, or somebody asks.

`stop_monitor.py` sees to it that a stop which somebody asked for comes to an end.
"""

import signal
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

from gymsolve.interrupts import raise_outside
from gymsolve.runs.run import Run
from gymsolve.runs.summary import Status

if TYPE_CHECKING:
    from gymsolve.training.trainer import Trainer

Reason = Literal["solved", "steps", "time", "observer", "stop file", "interrupt", "terminated", "hangup"]

ENDS: tuple[Reason, ...] = ("steps", "time", "observer")
"""Ends that are no interruption: the last policy is evaluated, and the run is finished."""

EXIT_CODES: dict[str, int] = {"interrupt": 130, "stop file": 130, "terminated": 143, "hangup": 129}
"""Exit codes by the reason of a stop; 128 and the signal's number, as shells have it."""

_REASONS: dict[int, Reason] = {signal.SIGINT: "interrupt", signal.SIGTERM: "terminated"}
if sys.platform != "win32":
    _REASONS[signal.SIGHUP] = "hangup"  # the terminal was closed

_SAME_SECONDS = {signal.SIGINT: 0.2}
_SAME_SECONDS_ELSE = 0.5
"""A signal that follows this soon is the same request: `timeout`, shells and service managers signal a
process and then its group, so it comes twice. They do so at once, and people wait longer than this."""


class EndAtOnceError(KeyboardInterrupt):
    """Somebody insists, or nothing moves any more: the update under way is not waited for."""

    def __init__(self, exit_code: int, text: str) -> None:
        super().__init__(text)
        self.exit_code = exit_code

    @property
    def status(self) -> Status:
        """How the run ends by this: nobody asked for the end where the exit code is that of a failure."""
        return "crashed" if self.exit_code == 1 else "stopped"


class StopSignal:
    """Remembers a request to stop; a second signal does not wait for the update under way."""

    def __init__(self) -> None:
        self.reason: Reason | None = None
        self.asked_at = 0.0
        """When it was asked for, by the monotonic clock."""
        self.at_once: EndAtOnceError | None = None
        """The error that the thread that trains raises as soon as it can."""
        self.attendant: Callable[[], object] | None = None
        """Counts the signals that nobody has counted yet, once each, from any thread (`stop_monitor.py`)."""
        self.heard: tuple[int, ...] = ()
        """Signals that become requests now."""

    def request(self, reason: Reason) -> None:
        """Ask the loop to end after the current iteration."""
        if self.reason is None:
            self.asked_at = time.monotonic()
            self.reason = reason

    def count(self, number: int) -> None:
        """A signal has come: the first is a request, another one insists."""
        same = _SAME_SECONDS.get(signal.Signals(number), _SAME_SECONDS_ELSE)
        if self.reason is None:
            self.request(_REASONS[number])
        elif self.at_once is None and time.monotonic() - self.asked_at >= same:
            text = "interrupted twice" if number == signal.SIGINT else f"{_REASONS[number]} while stopping"
            self.at_once = EndAtOnceError(128 + number, text)

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Ctrl-C, SIGTERM and SIGHUP become requests while this is open (main thread only)."""
        with _handling(self._on_signal) as heard:
            self.heard = heard
            try:
                yield
            finally:
                self.heard = ()

    def _on_signal(self, number: int, frame: types.FrameType | None) -> None:
        if self.attendant is None:
            self.count(number)
        else:
            self.attendant()
        if self.at_once is not None:
            raise_outside(self.at_once, frame)


@contextmanager
def raising() -> Iterator[None]:
    """Before and after a training, SIGTERM and SIGHUP end the process as Ctrl-C does: in order."""

    def end(number: int, frame: types.FrameType | None) -> None:
        raise_outside(EndAtOnceError(128 + number, _REASONS[number]), frame)

    with _handling(end):
        yield


@contextmanager
def _handling(handler: Callable[[int, types.FrameType | None], None]) -> Iterator[tuple[int, ...]]:
    if threading.current_thread() is not threading.main_thread():
        yield ()
        return
    handlers = {number: signal.getsignal(number) for number in _REASONS}
    # What is ignored stays so: `nohup` and shells' background jobs ask for that.
    before = {number: handler for number, handler in handlers.items() if handler != signal.SIG_IGN}
    for number in before:
        signal.signal(number, handler)
    try:
        yield tuple(before)
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def stop_reason(trainer: "Trainer", run: Run, signalled: StopSignal) -> Reason | None:
    """The first condition that is met, or None to go on."""
    if trainer.is_finally_solved:
        return "solved"
    if signalled.reason is not None:
        return signalled.reason
    if trainer.budget_is_spent:
        return "steps"
    if trainer.sitting.ended_by is not None:
        return "observer"
    if trainer.sitting.time_limit is not None and not trainer.sitting.time_limit.begins_iteration():
        return "time"
    if run.stop_requested():
        signalled.request("stop file")
    return signalled.reason
