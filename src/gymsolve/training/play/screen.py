"""Pictures on their way to the page: one at a time, each when it is due.

A picture that is due while another is under way is left out. The newest state is always shown in the end.
"""

import time
from collections import deque
from collections.abc import Callable
from typing import Any

from gymsolve.envs.single_env import PlayStage, Scene
from gymsolve.errors import EnvFaultError
from gymsolve.spec import Array
from gymsolve.training.play.picture import encode, tabulate
from gymsolve.training.play.serve import Talk

__all__ = ["Screen"]


class Screen:
    """What the page sees of a stage."""

    def __init__(self, channel: Talk, stage: PlayStage, facts: Callable[[], dict[str, Any]]) -> None:
        """`facts` are told with every picture."""
        self._channel, self._stage, self._facts = channel, stage, facts
        self.undrawn = stage.undrawn
        """Why there is a table instead of a picture; None where there is a picture."""
        self._count = 0
        self._under_way = self._unseen = False
        self._film: deque[tuple[float, Array]] = deque()

    def acknowledge(self) -> None:
        """The page has shown the last picture."""
        self._under_way = False

    def wait(self) -> float | None:
        """Seconds until a picture is due; None where there is none to wait for."""
        if not self._film or self._under_way:
            return None
        return max(0.0, self._film[0][0] - time.monotonic())

    def plan(self, scene: Scene, due: float, period: float) -> None:
        """A step was due at some time: its frames are to be seen until the next one is."""
        frames = [] if self.undrawn is not None else list(scene.between)
        apart = period / (len(frames) + 1)
        self._film = deque((due + number * apart, frame) for number, frame in enumerate(frames))
        if frames:
            self._film.append((due + len(frames) * apart, self._stage.render()))
        self._unseen = True

    def show(self, scene: Scene, *, hurry: bool = False) -> None:
        """Send the newest picture that is due, or in a `hurry` the last, unless one is under way."""
        if self._under_way:
            return
        frame, now = None, time.monotonic()
        while self._film and (self._film[0][0] <= now or hurry):
            frame = self._film.popleft()[1]
        if frame is not None or (self._unseen and not self._film):
            self._send(scene, frame)

    def _send(self, scene: Scene, frame: Array | None) -> None:
        """A picture, by default of how the stage stands, or the table that is there instead of one."""
        self._count += 1
        self._under_way, self._unseen = True, False
        told = {"type": "frame", "frame": self._count, **self._facts()}
        if self.undrawn is None:
            try:
                blob = encode(self._stage.render() if frame is None else frame)
            except EnvFaultError as error:
                self.undrawn = error.message
                self._channel.send({"type": "note", "text": error.args[0], "hint": error.hint})
            else:
                self._channel.send(told, blob)
                return
        shown = (
            {"text": self._stage.write()} if self._stage.writes else {"table": tabulate(self._stage, scene)}
        )
        self._channel.send({**told, **shown})
