"""Play in a terminal: keys come from the keyboard, and the environment is drawn in characters.

The terminal takes the place of the page of a session (`apps/play/person.py`). It does not report when a key
goes up, so every key is a tap. Its settings are restored however play ends. Where standard input is no
terminal, its letters are the keys.
"""

import os
import re
import select
import signal
import sys
import time
from collections import deque
from collections.abc import Callable
from types import FrameType
from typing import Any

from gymsolve.apps.serve import GoneError
from gymsolve.text import number, plural

if sys.platform != "win32":
    import termios
    import tty

_KEYS = {" ": "space", "\r": "enter", "\n": "enter", "\t": "tab", "\x7f": "backspace"}
for _letter, _arrow in zip("ABCD", ("up", "down", "right", "left"), strict=True):
    _KEYS |= {f"\x1b[{_letter}": _arrow, f"\x1bO{_letter}": _arrow}
_PRESSED = re.compile(r"\x1b\[[0-9;]*[A-Za-z~]|\x1bO[A-Za-z]|.", re.DOTALL)
"""A key sends a character or a sequence; an unknown sequence counts as a single key."""
_ARROWS = {"up": "↑", "down": "↓", "left": "←", "right": "→"}
_END = "\x04"
"""Ctrl-D."""
_ESCAPE, _STEP, _TAKE = "\x1b", ".", "tab"
_ROOM = 1024
_WAITS = {
    "begin": "press a key to begin",
    "turn": "your turn",
    "key": "press a key",
    "next": "press a key for the next episode",
    "paused": "paused: each key is one step",
}


class Terminal:
    """The player at a terminal, in place of a page."""

    def __init__(self, *, lasting: bool) -> None:
        """A `lasting` session goes on after the end of the input, since it ends by itself."""
        self._input, self._lasting = sys.stdin.fileno(), lasting
        self._live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self._inbox: deque[dict[str, Any]] = deque()
        self._over, self._heard, self._stepped = False, True, False
        self._bound: set[str] = set()
        self._state: dict[str, Any] = {}
        self._drawn = 0
        """Lines of the newest picture, which the next one replaces."""
        self._last_words = ""
        self._undo: list[Callable[[], object]] = []

    # ------------------------------------------------------------------------------- the keyboard

    def __enter__(self) -> "Terminal":
        if os.isatty(self._input):
            before = termios.tcgetattr(self._input)
            self._undo.append(lambda: termios.tcsetattr(self._input, termios.TCSADRAIN, before))
            tty.setcbreak(self._input)
            self._answer(signal.SIGCONT, lambda *_: tty.setcbreak(self._input))  # after Ctrl-Z
        for ending in (signal.SIGTERM, signal.SIGHUP):
            self._answer(ending, _leave)
        return self

    def _answer(self, which: signal.Signals, handler: Callable[[int, FrameType | None], object]) -> None:
        before = signal.signal(which, handler)
        self._undo.append(lambda: signal.signal(which, before))

    def __exit__(self, *exc: object) -> None:
        while self._undo:
            self._undo.pop()()

    def receive(self, timeout: float | None = None) -> dict[str, Any] | None:
        """The next key as the message of a page; one step at a time, so that each is seen."""
        if self._stepped and timeout == 0:
            self._stepped = False
            return None
        if not self._inbox:
            self._wait(timeout)
        if not self._inbox:
            return None
        message = self._inbox.popleft()
        self._stepped = message["type"] == "keys" and not message["pressed"]
        return message

    def _wait(self, timeout: float | None) -> None:
        if self._over or (not self._heard and timeout is None):
            raise GoneError
        if not self._heard:
            time.sleep(timeout or 0.0)
        elif select.select([self._input], [], [], timeout)[0]:
            typed = os.read(self._input, _ROOM).decode(errors="replace")
            if not typed:
                self._heard, self._over = False, not self._lasting
            self._press(typed)

    def _press(self, typed: str) -> None:
        for raw in _PRESSED.findall(typed):
            if self._over:
                return
            key = _KEYS.get(raw, raw.lower())
            if key in self._bound:
                self._inbox += ({"type": "keys", "pressed": [key]}, {"type": "keys", "pressed": []})
            elif raw == _END:
                self._over = True
            else:
                self._settle(key)

    def _settle(self, key: str) -> None:
        """Handle the keys that mean the same in every environment."""
        mode = self._state.get("mode")
        if key == _STEP:
            self._inbox.append({"type": "step"})
        elif key == _ESCAPE:
            self._turn("pause", "paused", "Paused: each key is one step.", "It goes on.")
        elif key == _TAKE and mode != "you":
            self._turn("takeover", "takeover", "You act; Tab hands back.", f"{mode} acts.")

    def _turn(self, kind: str, name: str, on: str, off: str) -> None:
        self._state[name] = not self._state.get(name)
        self._inbox.append({"type": kind, "on": self._state[name]})
        self._remark(on if self._state[name] else off)

    # --------------------------------------------------------------------------------- the screen

    def send(self, message: dict[str, Any], blob: bytes = b"") -> None:
        """Show a message of the session."""
        kind = message["type"]
        if kind == "frame":
            self._show(message)
        elif kind == "ready":
            self._greet(message)
        elif kind == "state":
            self._state = message
        elif kind == "episode":
            kept = f", kept in {message['kept']}" if message["kept"] else ""
            steps, earned = plural(message["length"], "step"), number(message["raw_return"])
            result = f"return {earned} after {steps} ({message['end']})"
            self._last_words = f"episode {message['number']}: {result}{kept}\n"
        elif kind in ("note", "refusal"):
            self._remark(message["text"])

    def _remark(self, text: str) -> None:
        """Write a line that stays, below the newest picture."""
        self._write(f"{text}\n")
        self._drawn = 0

    def _greet(self, ready: dict[str, Any]) -> None:
        bindings = ready["controls"]["bindings"]
        labels = {row["keys"][0]: row["label"] for row in bindings if len(row["keys"]) == 1}
        self._bound = set(labels)
        keys = "  ".join(f"{_ARROWS.get(key, key)} {label}" for key, label in labels.items())
        if not sys.stdout.isatty():  # nobody looks on
            self._inbox.append({"type": "speed", "factor": 0})
        self._write(f"{ready['name']}    {keys}\n")
        self._write("Esc pauses, . takes a step, Tab takes over and hands back, Ctrl-D ends\n\n")

    def _show(self, frame: dict[str, Any]) -> None:
        """Draw a state in place of the previous one."""
        self._inbox.appendleft({"type": "ack", "frame": frame["frame"]})  # shown: the next may come
        picture = frame.get("text")
        if picture is None:
            picture = "\n".join(f"{name}  {value}" for name, value in frame["table"])
        lines = [*picture.strip("\n").split("\n"), self._line(frame)]
        if self._live and self._drawn:
            self._write(f"\x1b[{self._drawn}A\r\x1b[J")
        self._write("\n".join(lines) + "\n")
        self._drawn = len(lines)
        if frame["end"] is not None and self._last_words:  # the last picture of an episode stays
            self._write(self._last_words + "\n")
            self._last_words, self._drawn = "", 0
        self._over = self._over or frame["waits"] == "done"

    def _line(self, frame: dict[str, Any]) -> str:
        parts = [f"step {frame['step']}", f"return {number(frame['raw_return'])}"]
        if frame["action"]:
            parts.append(f"{frame['action']} ({frame['who']})")
        if frame["value"] is not None:
            parts.append(f"value {number(frame['value'])}")
        if frame["waits"] in _WAITS:
            parts.append(_WAITS[frame["waits"]])
        return "  ".join(parts)

    @staticmethod
    def _write(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()


def _leave(which: int, frame: FrameType | None) -> None:
    """End the process at a signal; leaving restores the terminal."""
    sys.exit(128 + which)
