"""The process behind a session of the browser: `python -m gymsolve.apps.serve KIND SOCKET`.

It reads messages from the server's socket, and the function of its kind answers them. An error in an
environment or a network ends only this process; the server tells the page.
"""

import json
import os
import queue
import socket
import struct
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, Protocol

from gymsolve.errors import GymsolveError

KINDS = {"play": "gymsolve.apps.play.person", "inspect": "gymsolve.apps.inspector.inspector"}
"""The module whose `serve(channel, request)` answers a kind of session."""
_HEADER = struct.Struct("<II")  # lengths of the JSON and of what follows it
_PATIENCE = 1.5
"""Seconds to close an environment once the page is gone."""


class GoneError(Exception):
    """The page is gone; there is nobody to answer."""


class Talk(Protocol):
    """The user's side of a session: a page, or a terminal."""

    def receive(self, timeout: float | None = None) -> dict[str, Any] | None:
        """The next message; None when none came within so many seconds (None waits for ever)."""

    def send(self, message: dict[str, Any], blob: bytes = b"") -> None:
        """Send a message and, with it, bytes such as an encoded picture."""


def noting(talk: Talk) -> Callable[[str], None]:
    """A callback that sends a sentence as a note, from any thread, if the page is still there."""

    def note(text: str) -> None:
        with suppress(GoneError):
            talk.send({"type": "note", "text": text})

    return note


class Channel:
    """Messages from a page, and to it."""

    def __init__(self, end: socket.socket) -> None:
        self._end, self._lock = end, threading.Lock()
        self._inbox: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._gone = False
        threading.Thread(target=self._read, daemon=True, name="gymsolve watch: messages").start()

    def receive(self, timeout: float | None = None) -> dict[str, Any] | None:
        if self._gone:
            raise GoneError
        try:
            waits = timeout is None or timeout > 0
            message = self._inbox.get(timeout=timeout) if waits else self._inbox.get(False)
        except queue.Empty:
            return None
        if message is None:
            self._gone = True
            raise GoneError
        return message

    def send(self, message: dict[str, Any], blob: bytes = b"") -> None:
        """Send a message and, with it, bytes such as an encoded picture."""
        text = json.dumps(message, ensure_ascii=False, allow_nan=False).encode()
        try:
            with self._lock:
                self._end.sendall(_HEADER.pack(len(text), len(blob)) + text + blob)
        except OSError as error:
            raise GoneError from error

    def _read(self) -> None:
        with suppress(OSError, EOFError), self._end.makefile("rb") as stream:
            while True:
                text, blob = _HEADER.unpack(_exactly(stream, _HEADER.size))
                self._inbox.put(json.loads(_exactly(stream, text)))
                _exactly(stream, blob)
        self._inbox.put(None)
        time.sleep(_PATIENCE)  # an environment that hangs would keep this process for ever
        os._exit(0)


def _exactly(stream: Any, count: int) -> bytes:
    content: bytes = stream.read(count)
    if len(content) < count:
        raise EOFError
    return content


def main() -> int:
    """Serve one session; the exit code."""
    kind, end = sys.argv[1], socket.socket(fileno=int(sys.argv[2]))
    os.set_inheritable(end.fileno(), False)
    channel = Channel(end)
    try:
        request = channel.receive()
        serve: Callable[[Channel, dict[str, Any]], None] = import_module(KINDS[kind]).serve
        assert request is not None
        serve(channel, request)
    except GoneError:
        pass
    except GymsolveError as error:
        sys.stderr.write(f"error: {error}\n")
        with suppress(GoneError):
            channel.send({"type": "error", "text": error.args[0], "hint": error.hint, "where": error.where})
    return 0


if __name__ == "__main__":
    sys.exit(main())
