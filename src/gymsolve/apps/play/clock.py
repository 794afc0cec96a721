"""Deadlines of the steps of a session.

A late step moves all later ones, so a machine that was busy for a second does not play the next second too
fast.
"""

import time


class Clock:
    """The deadlines of a session's steps."""

    def __init__(self, fps: float) -> None:
        self._fps = fps
        self.speed = 1.0
        """A factor of the environment's own speed; 0 for as fast as possible."""
        self.due = time.monotonic()
        self.steps = self.late = 0

    @property
    def period(self) -> float:
        """Seconds from one step to the next."""
        return 1.0 / (self._fps * self.speed) if self.speed else 0.0

    def restart(self, after: float = 0.0) -> None:
        """Make the next step due in so many seconds."""
        self.due = time.monotonic() + after

    def wake(self) -> None:
        """Make the next step due at once after a wait for the player."""
        self.due = max(self.due, time.monotonic())

    def wait(self) -> float:
        """Seconds until the next step is due."""
        return max(0.0, self.due - time.monotonic())

    def tick(self) -> float:
        """Begin a step; returns the time when it was due."""
        now, due = time.monotonic(), self.due
        late = now - due > self.period / 2 and self.speed > 0
        self.steps, self.late = self.steps + 1, self.late + late
        self.due = now + self.period if late or not self.speed else due + self.period
        return now if late else due
