"""A session of the inspector: its page, its run, and the checkpoints that are open.

Every verb of the page is a function that gets the desk and a message.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from gymsolve.apps.inspector.recorder import EpisodeRecorder
from gymsolve.apps.serve import Channel, noting
from gymsolve.errors import UsageError
from gymsolve.runs.inspections import Inspection, InspectionWriter, run_among
from gymsolve.runs.refs import checkpoint_ref

_MOST_EXAMINERS = 3
"""The most checkpoints whose networks and environments stay open."""
_TELL_SECONDS = 0.1


class Kept(Protocol):
    """Something that has to be closed."""

    def close(self) -> None: ...


class Desk:
    """One session: its channel, its run, and its open checkpoints."""

    def __init__(self, channel: Channel, request: dict[str, Any]) -> None:
        self.channel = channel
        self.run = run_among(request.get("runs_dir"), text_in(request, "run") or "")
        self.trust = False
        self.asked: Any = None
        """The id of the message that is being answered; all answers carry it."""
        self.kept: dict[str, Kept] = {}
        """Objects that verbs keep until a later message, by name."""
        self._open: dict[str, EpisodeRecorder] = {}
        self._waiting: deque[dict[str, Any]] = deque()

    def examiner(self, checkpoint: str | None) -> EpisodeRecorder:
        """The policy of a checkpoint (None: the best, or the last) and its environment, kept open."""
        key = checkpoint or ""
        if key not in self._open:
            while len(self._open) >= _MOST_EXAMINERS:
                self._open.pop(next(iter(self._open))).close()
            self._open[key] = EpisodeRecorder(
                checkpoint_ref(self.run, checkpoint), trust=self.trust, on_wait=noting(self.channel)
            )
        return self._open[key]

    def tell(self, kind: str, blob: bytes = b"", **message: Any) -> None:
        self.channel.send({"type": kind, "id": self.asked, **message}, blob)

    def next_message(self) -> dict[str, Any]:
        """The next message of the page."""
        if self._waiting:
            return self._waiting.popleft()
        message = self.channel.receive(None)
        assert message is not None
        return message

    def goes_on(self) -> bool:
        """False once the page says `stop`; waits while it says `pause`. Other messages wait their turn."""
        paused = False
        while True:
            message = self.channel.receive(None if paused else 0)
            if message is None:
                return True
            kind = message.get("type")
            if kind == "stop":
                return False
            if kind in ("pause", "continue"):
                paused = kind == "pause"
                self.tell("paused" if paused else "continued")
            else:
                self._waiting.append(message)

    def keep(self, name: str, kept: "Kept | None") -> None:
        """Keep an object in place of the last one of that name, which is closed; None only closes it."""
        if (before := self.kept.pop(name, None)) is not None:
            before.close()
        if kept is not None:
            self.kept[name] = kept

    def close(self) -> None:
        for kept in (*self.kept.values(), *self._open.values()):
            kept.close()


Verb = Callable[[Desk, dict[str, Any]], None]
"""Answers one kind of message."""


def tell_done(desk: Desk, inspection: Inspection) -> None:
    """Tell the page that an episode is finished."""
    desk.tell("episode", episode=inspection.summary(), notes=inspection.facts.get("notes", []))


def teller(desk: Desk) -> Callable[[InspectionWriter, int], bool]:
    """A callback that tells the page how far an episode is."""
    last = 0.0

    def tell(writer: InspectionWriter, states: int) -> bool:
        nonlocal last
        if time.monotonic() - last > _TELL_SECONDS:
            last = time.monotonic()
            desk.tell("states", name=writer.name, states=states, seed=writer.facts["seed"])
        return desk.goes_on()

    return tell


def text_in(message: dict[str, Any], name: str) -> str | None:
    """A text field of a message; None where it is empty."""
    value = message.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str) or len(value) > 200:
        raise UsageError(f"{name} is not text.", where=name)
    return value


def whole_in(message: dict[str, Any], name: str, usual: int) -> int:
    """A whole number in a message."""
    value = message.get(name)
    if value is None:
        return usual
    if type(value) is not int:
        raise UsageError(f"{name} is not a whole number.", where=name)
    return value
