"""A terminal whose last lines are redrawn in place, while events and other output scroll above them.

A few control codes suffice: no training should wait for a library that draws.
"""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from io import TextIOBase
from threading import RLock
from typing import TextIO

from gymsolve.cli.live.table import render
from gymsolve.cli.live.view import View
from gymsolve.cli.printing.tables import Line, can_say, join_pieces, styled, text_width

_PLAIN = "\x1b[0m"
_CLEAR_LINE, _CLEAR_BELOW = "\x1b[K", "\x1b[J"
_ASCII = str.maketrans("▁▂▃▄▅▆▇█━─↑↓…–±×≥≤≠·", "_.:-=+*##-^v~-~x><!.")
"""Each character becomes a single one, so that columns stay aligned."""

Size = Callable[[], tuple[int, int]]


class LiveScreen:
    """The live table on a terminal; each drawing is a single write."""

    def __init__(self, stream: TextIO, size: Size, *, colours: bool = True) -> None:
        self._stream: TextIO | None = stream
        self._size, self._colours = size, colours
        self._ascii = not can_say("▁█━↑…±–", stream.encoding)
        self._drawn: list[Line] = []
        self._drawn_width = 0
        self._last: View | None = None
        self._lock = RLock()  # threads of an environment may print

    @classmethod
    @contextmanager
    def opened(cls, stream: TextIO) -> Iterator["LiveScreen"]:
        """A screen that leaves the final state on the terminal when it closes.

        The cursor is never hidden: nobody could show it again after `kill -9`. It rests below the table.
        """
        screen = cls(stream, lambda: terminal_size(stream), colours="NO_COLOR" not in os.environ)
        try:
            with redirect_stdout(_Above(screen, sys.stdout)), redirect_stderr(_Above(screen, sys.stderr)):
                yield screen
        finally:
            screen._write(_PLAIN)  # an exception may have come in the middle of a write
            if screen._last is not None:
                screen._last.ended = screen._last.ended or "ended"
                screen.draw(screen._last, time.perf_counter())

    def line(self, text: str) -> None:
        with self._lock:
            line = styled(text, "dim" if self._colours else "")
            self._write(f"{self._up()}{_CLEAR_BELOW}{line}\n{self._text(self._drawn)}")

    def alert(self, text: str) -> None:
        pass  # the table shows it as long as it lasts

    def progress(self, text: str) -> None:
        pass  # the table shows it all the time

    def draw(self, view: View, now: float) -> None:
        with self._lock:
            self._last = view
            width, height = self._size()
            lines = render(view, now, width, height)
            text = f"{self._up()}{self._text(lines)}{_CLEAR_BELOW}"
            self._drawn, self._drawn_width = lines, width
            self._write(text)

    def give_way(self) -> None:
        """Leave what is there and draw below it: something was written past this screen."""
        self._drawn = []

    def _up(self) -> str:
        """The code that moves to the table's first line; a terminal that became narrower has folded lines."""
        width, rows = max(1, self._size()[0]), len(self._drawn)
        if width < self._drawn_width:
            widths = (sum(text_width(text) for text, _ in line) for line in self._drawn)
            rows = sum(max(1, -(-drawn // width)) for drawn in widths)
        return f"\r\x1b[{rows}A" if rows else "\r"

    def _text(self, lines: list[Line]) -> str:
        texts = (join_pieces(line, colours=self._colours) for line in lines)
        return "".join(f"{text}{_CLEAR_LINE}\n" for text in texts)

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        if self._ascii:
            text = text.translate(_ASCII).encode("ascii", "replace").decode()
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            self._stream = None  # the terminal was closed; that is no reason to end a training


class _Above(TextIOBase):
    """A stream that writes what others print above the table, line by line."""

    def __init__(self, screen: LiveScreen, stream: TextIO) -> None:
        self._screen, self._stream, self._begun = screen, stream, ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._stream.encoding

    def write(self, text: str) -> int:
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._screen.line(line)
        return len(text)

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()


def terminal_size(stream: TextIO) -> tuple[int, int]:
    """Columns and lines of this stream's terminal; COLUMNS and LINES where it does not know its size."""
    with suppress(OSError):
        size = os.get_terminal_size(stream.fileno())
        if size.columns and size.lines:
            return size.columns, size.lines
    return shutil.get_terminal_size()
