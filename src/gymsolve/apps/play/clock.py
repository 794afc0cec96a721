"""When the next step is due: absolute deadlines, and no catching up.

A step that comes late moves all later ones, so a machine that was busy for a second does not race through a
second of the game afterwards.
"""

import time


class Clock:
    """The deadlines of a session's steps."""

    def __init__(self, fps: float) -> None:
        self._fps = fps
        self.speed = 1.0
        """How many times as fast as the environment's own time; 0 for as fast as it goes."""
        self.due = time.monotonic()
        self.steps = self.late = 0

    @property
    def period(self) -> float:
        """Seconds from one step to the next."""
        return 1.0 / (self._fps * self.speed) if self.speed else 0.0

    def restart(self, after: float = 0.0) -> None:
        """The next step is due in so many seconds; nobody is late."""
        self.due = time.monotonic() + after

    def wake(self) -> None:
        """After a wait for the player, the next step is due at once."""
        self.due = max(self.due, time.monotonic())

    def wait(self) -> float:
        """Seconds until the next step is due."""
        return max(0.0, self.due - time.monotonic())

    def tick(self) -> float:
        """A step begins; the moment it was due."""
        now, due = time.monotonic(), self.due
        late = now - due > self.period / 2 and self.speed > 0
        self.steps, self.late = self.steps + 1, self.late + late
        self.due = now + self.period if late or not self.speed else due + self.period
        return now if late else due
