"""Why a run ends: the budget is spent, it is solved, or somebody asks."""

import signal
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

from gymsolve.runs.run import Run
from gymsolve.training.trainer import Trainer

__all__ = ["Reason", "StopSignal", "stop_reason"]

Reason = Literal["solved", "steps", "time", "stop file", "interrupt", "terminated"]


_SIGNALS = [signal.SIGINT, signal.SIGTERM]
if sys.platform != "win32":
    _SIGNALS.append(signal.SIGHUP)  # the terminal was closed


class StopSignal:
    """Remembers a request to stop; a second interrupt does not wait for the update under way."""

    def __init__(self, on_request: Callable[[Reason], None] | None = None) -> None:
        self.reason: Reason | None = None
        self._on_request = on_request

    def request(self, reason: Reason) -> None:
        """Ask the loop to end after the current iteration."""
        self.reason = self.reason or reason

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Ctrl-C, SIGTERM and SIGHUP become requests while this is open (main thread only)."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.getsignal(number) for number in _SIGNALS}
        for number in before:
            signal.signal(number, self._on_signal)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _on_signal(self, number: int, frame: types.FrameType | None) -> None:
        if number == signal.SIGINT and self.reason == "interrupt":
            raise KeyboardInterrupt
        first = self.reason is None
        self.request("interrupt" if number == signal.SIGINT else "terminated")
        if first and self._on_request is not None and self.reason is not None:
            self._on_request(self.reason)


def stop_reason(trainer: Trainer, run: Run, signalled: StopSignal) -> Reason | None:
    """The first condition that is met, or None to go on."""
    counters, config = trainer.counters, trainer.config
    if counters.solved and config.eval.stop_when_solved:
        return "solved"
    if signalled.reason is not None:
        return signalled.reason
    if trainer.taken >= config.steps or (trainer.until is not None and counters.env_steps >= trainer.until):
        return "steps"
    if config.max_seconds is not None and counters.seconds >= config.max_seconds:
        return "time"
    return "stop file" if run.stop_requested() else None
