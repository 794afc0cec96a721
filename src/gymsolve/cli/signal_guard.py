"""Ctrl-C, SIGTERM and SIGHUP unwind a command that does not train; `training/stop.py` handles those that do.

Unwinding restores the terminal and ends the processes that were started. A person reads what has ended the
command; with `--json` that is the answer.
"""

import os
import signal
import sys
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from gymsolve.interrupts import raise_outside

_WORDS = {signal.SIGINT: "stopped by Ctrl-C", signal.SIGTERM: "terminated"}
if sys.platform != "win32":
    _WORDS[signal.SIGHUP] = "hangup"
_INTERRUPTED = 128 + signal.SIGINT
_STDOUT, _STDERR = 1, 2


class SignalGuard:
    """Handles the signals of one command and remembers which of them ended it.

    Typer turns every signal into the exit code of Ctrl-C. Before the command begins and after its answer
    there is nothing to unwind, and an exception could be raised within an import or while Python shuts down:
    then a process that is ours `alone` exits at once.
    """

    def __init__(self, *, alone: bool, owes: bool) -> None:
        self.number: int | None = None
        self.owes = owes
        """A program still waits for an answer on standard output."""
        self._alone = self._at_once = alone
        self._as_json = owes
        self._final_code: int | None = None

    def exit_code(self, returned: int = _INTERRUPTED) -> int:
        """The exit code of a command that returned this one."""
        return returned if self.number is None or returned != _INTERRUPTED else 128 + self.number

    def begin(self) -> None:
        """From now on, signals unwind the command."""
        self._at_once = False

    def leave_with(self, exit_code: int) -> int:
        """The answer is printed: later signals do not change this exit code."""
        self._final_code = exit_code
        self._at_once = self._alone
        return exit_code

    @contextmanager
    def in_order(self) -> Iterator[None]:
        """Ctrl-C, SIGTERM and SIGHUP unwind the main thread up to here; ignored signals stay ignored."""
        before: dict[int, Any] = {}
        if threading.current_thread() is threading.main_thread():
            usual = (signal.SIG_DFL, signal.default_int_handler)
            before = {number: old for number in _WORDS if (old := signal.getsignal(number)) in usual}
        for number in before:
            signal.signal(number, self._hear)
        try:
            yield
        except KeyboardInterrupt:
            self.tell_end(self.exit_code())
        finally:
            if not self._alone:
                for number, old in before.items():
                    signal.signal(number, old)

    def _hear(self, number: int, frame: types.FrameType | None) -> None:
        self.number = self.number or number
        if self._at_once:
            self._leave(128 + number if self._final_code is None else self._final_code)
        raise_outside(KeyboardInterrupt(), frame)

    def _leave(self, exit_code: int) -> None:
        if self._final_code is None:
            for descriptor, text in self._last_words(exit_code):
                with suppress(OSError):
                    os.write(descriptor, f"{text}\n".encode())
        os._exit(exit_code)

    def tell_end(self, exit_code: int) -> None:
        """Print what has ended the command, if it was a signal: as JSON for a program that still waits."""
        streams = {_STDOUT: sys.stdout, _STDERR: sys.stderr}
        for descriptor, text in self._last_words(exit_code):
            print(text, file=streams[descriptor], flush=True)

    def _last_words(self, exit_code: int) -> Iterator[tuple[int, str]]:
        """A line and the descriptor that it is for; none where no signal ended the command."""
        words = {128 + number: word for number, word in _WORDS.items()}
        if exit_code not in words:
            return
        if not self.owes:
            if self.number is not None and not self._as_json:  # a training has said it itself
                yield _STDERR, f"{words[exit_code]}."
            return
        self.owes = False
        # Written by hand: a signal may come in the middle of any import, also that of `json`.
        answer = f'"message": "{words[exit_code]}", "where": null, "hint": null, "exit_code": {exit_code}'
        yield _STDOUT, f'{{"error": {{{answer}}}}}'
