"""Lines that are drawn again in place on a terminal, or said one after the other elsewhere.

Several runs at once have no screen of their own (`screen.py`): they write to files, and only this is shown.
"""

import os
from collections.abc import Callable
from typing import TextIO

from gymsolve.cli.live.screen import terminal_size


class Block:
    """The last lines of a stream, if there is one; a stream that breaks is written to no more."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self._drawn = 0
        self.is_live = stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
        """Lines can be drawn in place."""

    @property
    def is_gone(self) -> bool:
        """Nobody looks."""
        return self._stream is None

    def draw(self, lines_for: Callable[[int], list[str]]) -> None:
        """Draw lines over the last ones; `lines_for` gets the height of the terminal."""
        if self._stream is None:
            return
        columns, height = terminal_size(self._stream)
        lines, width = lines_for(height), max(20, columns - 1)
        up = f"\r\x1b[{self._drawn}A" if self._drawn else "\r"
        self._write(up + "".join(f"{line[:width]}\x1b[K\n" for line in lines) + "\x1b[J")
        self._drawn = len(lines)

    def say(self, text: str) -> None:
        """Write a line of text, unless it is empty."""
        if text:
            self._write(f"{text}\n")

    def give_way(self) -> None:
        """Draw below what is there: something else was written."""
        self._drawn = 0

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            encoding = self._stream.encoding or "utf-8"
            self._stream.write(text.encode(encoding, "replace").decode(encoding))
            self._stream.flush()
        except OSError:
            self._stream = None  # that is no reason to end a training
