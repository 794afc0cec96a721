"""A progress bar on standard error; where that is no terminal, a line of text now and then."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from gymsolve.cli.live.screen import terminal_size
from gymsolve.cli.live.table import small_bar
from gymsolve.cli.printing.tables import can_say, cut, join_pieces
from gymsolve.text import count, duration

_PATIENCE = 1.0
"""Seconds before the bar appears: shorter work needs none."""
_DRAW_SECONDS = 0.2
_SILENCE = 10.0
"""Seconds between lines of text."""
_CLEAR_LINE = "\r\x1b[K"
_ASCII = str.maketrans("━─…", "#-~")

Tell = Callable[[int, int], None]


class Sentences:
    """Lines for logs and pipes."""

    def __init__(self, stream: TextIO, label: str, unit: str) -> None:
        self._stream, self._label, self._unit = stream, label, unit
        self._began = time.perf_counter()
        self._next, self._interval = self._began + _SILENCE, _SILENCE

    def tell(self, done: int, total: int) -> None:
        """Called after every step; mostly it only reads the clock."""
        now = time.perf_counter()
        if now >= self._next:
            self._next = now + self._interval
            self._show(done, total, now - self._began)

    def _show(self, done: int, total: int, seconds: float) -> None:
        far = f"{count(done)} of {count(total)} {self._unit}"
        self._write(f"{self._label}: {far}, {duration(seconds)}\n")

    def _write(self, text: str) -> None:
        with suppress(OSError):  # nobody reads any more; that is no reason to end the work
            self._stream.write(text)
            self._stream.flush()


class ProgressBar(Sentences):
    """One line of a terminal, drawn over itself."""

    def __init__(self, stream: TextIO, label: str, unit: str) -> None:
        super().__init__(stream, label, unit)
        self._next, self._interval = self._began + _PATIENCE, _DRAW_SECONDS
        self._drawn = False

    def clear(self) -> None:
        """Remove the bar."""
        if self._drawn:
            self._write(_CLEAR_LINE)

    def _show(self, done: int, total: int, seconds: float) -> None:
        line = [*small_bar(self._label, (done, total), self._unit), (f"  {duration(seconds)}", "dim")]
        width = terminal_size(self._stream)[0] - 1  # a full line would make the terminal begin another
        text = join_pieces(cut(line, width), colours="NO_COLOR" not in os.environ)
        if not can_say("━─…", self._stream.encoding):
            text = text.translate(_ASCII)
        self._drawn = True
        self._write(_CLEAR_LINE + text)


@contextmanager
def show_progress(label: str, unit: str, *, quiet: bool = False) -> Iterator[Tell | None]:
    """A function to call with (done, total), or None if `quiet`; closing this removes the bar."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield Sentences(sys.stderr, label, unit).tell
        return
    bar = ProgressBar(sys.stderr, label, unit)
    try:
        yield bar.tell
    finally:
        bar.clear()
