"""The process behind the inspector's page: it plays episodes, and tells the page as they grow.

A page sends verbs, and every verb is a function in `VERBS`. Rows and pictures do not pass through here: the
page reads them from the run's files, by way of the server. Where a verb fails the page is told why, and the
session goes on.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from gymsolve.config import Role
from gymsolve.errors import GymsolveError, UsageError
from gymsolve.runs.inspections import Inspection, InspectionWriter, run_among
from gymsolve.training.play.inspection import LONGEST, Examiner, Question
from gymsolve.training.play.serve import Channel

__all__ = ["VERBS", "Desk", "ask", "serve", "tell_done", "teller"]

_MOST_EXAMINERS = 3
"""Checkpoints whose networks and environments stay open."""
_MOST_EPISODES = 100
_TELL_SECONDS = 0.1


class Desk:
    """One session: its channel, the run it is about, and the checkpoints that it has open."""

    def __init__(self, channel: Channel, request: dict[str, Any]) -> None:
        self.channel = channel
        self.run = run_among(request.get("runs_dir"), _text(request, "run") or "")
        self.trust = False
        self.asked: Any = None
        """The id of the message that is being answered; everything that is told carries it."""
        self._open: dict[str, Examiner] = {}
        self._waiting: deque[dict[str, Any]] = deque()

    def examiner(self, checkpoint: str | None) -> Examiner:
        """The policy of a checkpoint (None: the best, or the last) and its environment, kept open."""
        key = checkpoint or ""
        if key not in self._open:
            while len(self._open) >= _MOST_EXAMINERS:
                self._open.pop(next(iter(self._open))).close()
            ref = f"{self.run.path}@{checkpoint}" if checkpoint else self.run
            self._open[key] = Examiner(ref, trust=self.trust)
        return self._open[key]

    def tell(self, kind: str, blob: bytes = b"", **message: Any) -> None:
        self.channel.send({"type": kind, "id": self.asked, **message}, blob)

    def next_message(self) -> dict[str, Any]:
        """What the page wants next."""
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

    def close(self) -> None:
        for examiner in self._open.values():
            examiner.close()


def serve(channel: Channel, request: dict[str, Any]) -> None:
    """Answer one page until it is gone."""
    desk = Desk(channel, request)
    try:
        message = {"type": "episodes", **request}
        while True:
            _answer(desk, message)
            message = desk.next_message()
    finally:
        desk.close()


def _answer(desk: Desk, message: dict[str, Any]) -> None:
    kind, desk.asked = message.get("type"), message.get("id")
    verb = VERBS.get(kind) if isinstance(kind, str) else None
    try:
        if verb is None:
            if kind in ("stop", "pause", "continue"):  # it came after the end
                return
            raise UsageError(f"the inspector has no verb {str(kind)[:40]!r}.")
        verb(desk, message)
    except GymsolveError as error:
        desk.tell("failed", verb=kind, text=error.message, hint=error.hint, where=error.where)


def play_episodes(desk: Desk, message: dict[str, Any]) -> None:
    """Play or find the episodes of `count` seeds from `seed` on, one after the other."""
    examiner = desk.examiner(_text(message, "checkpoint"))
    count = _whole(message, "count", 1)
    if not 1 <= count <= _MOST_EPISODES:
        raise UsageError(f"1 to {_MOST_EPISODES} episodes are inspected at a time.", where="count")
    first = _whole(message, "seed", examiner.config.seed)
    for seed in range(first, first + count):
        question = ask(message, seed)
        found = examiner.stored(question) if not message.get("again") else None
        if found is None:
            found = examiner.play(question, teller(desk))
        tell_done(desk, found)
        if found.facts["state"] != "whole":
            break
    desk.tell("done")


def ask(message: dict[str, Any], seed: int) -> Question:
    """What a message wants to see."""
    role: Role = "train" if message.get("role") == "train" else "eval"
    steps = _whole(message, "steps", LONGEST)
    return Question(seed=seed, deterministic=message.get("sampled") is not True, role=role, steps=steps)


def tell_done(desk: Desk, found: Inspection) -> None:
    """The episode is there, to its end."""
    desk.tell("episode", episode=found.summary(), notes=found.facts.get("notes", []))


def teller(desk: Desk) -> Callable[[InspectionWriter, int], bool]:
    """Tells the page how far an episode is."""

    told = 0.0

    def tell(writer: InspectionWriter, states: int) -> bool:
        nonlocal told
        if time.monotonic() - told > _TELL_SECONDS:
            told = time.monotonic()
            desk.tell("states", name=writer.name, states=states, seed=writer.facts["seed"])
        return desk.goes_on()

    return tell


def _text(message: dict[str, Any], name: str) -> str | None:
    value = message.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str) or len(value) > 200:
        raise UsageError(f"{name} is not text.", where=name)
    return value


def _whole(message: dict[str, Any], name: str, usual: int) -> int:
    value = message.get(name)
    if value is None:
        return usual
    if type(value) is not int:
        raise UsageError(f"{name} is not a whole number.", where=name)
    return value


VERBS: dict[str, Callable[[Desk, dict[str, Any]], None]] = {"episodes": play_episodes}
"""What a page may ask for, by the `type` of its message."""
