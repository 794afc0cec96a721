"""A progress bar on standard error, on terminals only."""

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from gymsolve.cli.live.screen import terminal_size
from gymsolve.cli.live.table import small_bar
from gymsolve.cli.printing.tables import can_say, cut, styled
from gymsolve.text import duration

__all__ = ["ProgressBar", "show_progress"]

_PATIENCE = 1.0
"""Seconds before it appears: what is done by then needs no bar."""
_DRAW_SECONDS = 0.2
_CLEAR_LINE = "\r\x1b[K"
_ASCII = str.maketrans("━─…", "#-~")

Tell = Callable[[int, int], None]


class ProgressBar:
    """One line of a terminal, drawn over itself."""

    def __init__(self, stream: TextIO, label: str, unit: str) -> None:
        self._stream, self._label, self._unit = stream, label, unit
        self._began = time.perf_counter()
        self._next = self._began + _PATIENCE
        self._drawn = False

    def tell(self, done: int, total: int) -> None:
        """Called after every step: mostly it only looks at the clock."""
        now = time.perf_counter()
        if now >= self._next:
            self._next = now + _DRAW_SECONDS
            self._draw(done, total, now - self._began)

    def clear(self) -> None:
        """Leave the line as if nothing had been there."""
        if self._drawn:
            self._write(_CLEAR_LINE)

    def _draw(self, done: int, total: int, seconds: float) -> None:
        line = [*small_bar(self._label, (done, total), self._unit), (f"  {duration(seconds)}", "dim")]
        width = terminal_size(self._stream)[0] - 1  # a full line would make the terminal begin another
        colours = "NO_COLOR" not in os.environ
        text = "".join(styled(text, style if colours else "") for text, style in cut(line, width))
        self._drawn = True
        self._write(_CLEAR_LINE + text)

    def _write(self, text: str) -> None:
        if not can_say("━─…", self._stream.encoding):
            text = text.translate(_ASCII)
        with suppress(OSError):  # the terminal was closed; that is no reason to end the work
            self._stream.write(text)
            self._stream.flush()


@contextmanager
def show_progress(label: str, unit: str) -> Iterator[Tell | None]:
    """A function to call with (done, total), or None without a terminal; closing this removes the bar."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield None
        return
    bar = ProgressBar(sys.stderr, label, unit)
    try:
        yield bar.tell
    finally:
        bar.clear()
