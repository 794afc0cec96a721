"""Signals that end a command before or beside a training: Ctrl-C, SIGTERM and SIGHUP end it in order.

Progress bars put the terminal right and processes that were started are ended; with `--json` a program hears
of it. While a run trains, `training/stopping.py` takes over.
"""

import json
import signal
import sys
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Ending", "ending_in_order", "interruption_json"]

_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
if sys.platform != "win32":
    _WORDS[signal.SIGHUP] = "hangup"
_INTERRUPTED = 128 + signal.SIGINT


class Ending:
    """Remembers which signal ended a command: Typer turns every one into the exit code of Ctrl-C."""

    number: int | None = None

    def exit_code(self, returned: int = _INTERRUPTED) -> int:
        """The exit code of a command that returned this one."""
        return returned if self.number is None or returned != _INTERRUPTED else 128 + self.number

    def hear(self, number: int, frame: types.FrameType | None) -> None:
        """A signal handler."""
        self.number = number
        raise KeyboardInterrupt


@contextmanager
def ending_in_order() -> Iterator[Ending]:
    """SIGTERM and SIGHUP unwind the main thread as Ctrl-C does; what is ignored stays so."""
    ending = Ending()
    if threading.current_thread() is not threading.main_thread():
        yield ending
        return
    usual = (signal.SIG_DFL, signal.default_int_handler)
    before = {number: old for number in _WORDS if (old := signal.getsignal(number)) in usual}
    for number in before:
        signal.signal(number, ending.hear)
    try:
        yield ending
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def interruption_json(exit_code: int) -> str | None:
    """What a program hears of a command that ended like this without an answer; None if by no signal."""
    words = {128 + number: word for number, word in _WORDS.items()}
    if exit_code not in words:
        return None
    facts = {"message": words[exit_code], "where": None, "hint": None, "exit_code": exit_code}
    return json.dumps({"error": facts})
