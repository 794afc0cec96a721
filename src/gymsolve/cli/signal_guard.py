"""Signals that end a command before or beside a training: Ctrl-C, SIGTERM and SIGHUP end it in order.

Progress bars put the terminal right and processes that were started are ended; with `--json` a program hears
of it. While a run trains, `training/stop.py` takes over.
"""

import os
import signal
import sys
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
if sys.platform != "win32":
    _WORDS[signal.SIGHUP] = "hangup"
_INTERRUPTED = 128 + signal.SIGINT
_STDOUT = 1


class SignalGuard:
    """Hears the signals of one command and remembers which of them ended it.

    Typer turns every one into the exit code of Ctrl-C. Before the command begins and after its answer there
    is nothing to put in order, and an exception might come up in the middle of an import or of Python's own
    end: then a process that is ours `alone` ends on the spot.
    """

    def __init__(self, *, alone: bool, owes: bool) -> None:
        self.number: int | None = None
        self.owes = owes
        """A program still waits for an answer on standard output."""
        self._alone = self._on_the_spot = alone
        self._told: int | None = None

    def exit_code(self, returned: int = _INTERRUPTED) -> int:
        """The exit code of a command that returned this one."""
        return returned if self.number is None or returned != _INTERRUPTED else 128 + self.number

    def begin(self) -> None:
        """From now on there is something to unwind."""
        self._on_the_spot = False

    def leave_with(self, exit_code: int) -> int:
        """The answer is given: whatever comes now, this is the exit code."""
        self._told = exit_code
        self._on_the_spot = self._alone
        return exit_code

    @contextmanager
    def in_order(self) -> Iterator[None]:
        """Ctrl-C, SIGTERM and SIGHUP unwind the main thread and end here; what is ignored stays so."""
        before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            usual = (signal.SIG_DFL, signal.default_int_handler)
            before = {number: old for number in _WORDS if (old := signal.getsignal(number)) in usual}
        for number in before:
            signal.signal(number, self._hear)
        try:
            yield
        except KeyboardInterrupt:
            if (told := self.describe_end(self.exit_code())) is not None:
                print(told, flush=True)
        finally:
            if not self._alone:
                for number, old in before.items():
                    signal.signal(number, old)

    def _hear(self, number: int, frame: types.FrameType | None) -> None:
        self.number = self.number or number
        if self._on_the_spot:
            self._leave(128 + number if self._told is None else self._told)
        raise KeyboardInterrupt

    def _leave(self, exit_code: int) -> None:
        told = self.describe_end(exit_code)
        with suppress(OSError):
            os.write(_STDOUT, b"" if told is None else f"{told}\n".encode())
        os._exit(exit_code)

    def describe_end(self, exit_code: int) -> str | None:
        """What a program that still waits for an answer hears of a command that a signal ended."""
        words = {128 + number: word for number, word in _WORDS.items()}
        if not self.owes or exit_code not in words:
            return None
        self.owes = False
        # Written by hand: a signal may come in the middle of any import, also that of `json`.
        return (
            f'{{"error": {{"message": "{words[exit_code]}", "where": null, "hint": null, '
            f'"exit_code": {exit_code}}}}}'
        )
