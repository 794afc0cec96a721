"""The time limit of a command (`max_seconds`): when its last rollout and its last evaluation must end.

It counts from the start of the command, and part of it is kept for what comes after training: the last
evaluation, the report, the videos.
"""

import time
from collections.abc import Callable

now = time.perf_counter

_FIRST = 0.1
"""Share of the limit that is kept for an evaluation while none has been seen."""
_SLACK = 1.5
"""The last evaluation may take this many times what the newest one took."""
_MOST = 0.5
"""Share of the limit that is kept at most: a command that only evaluates would be of no use."""
_REST, _LEAST_REST, _MOST_REST = 0.05, 1.0, 30.0
"""Share of the limit that is kept for saving, the report and the videos, and its bounds in seconds."""


class TimeIsUpError(Exception):
    """The rollout under way cannot end in time."""


class TimeLimit:
    """How much of the time of a command is left, and whether another iteration fits into it."""

    def __init__(self, seconds: float, began: float) -> None:
        self.seconds, self.ends = seconds, began + seconds
        self._began = began
        self._iteration = 0.0
        """Seconds of the newest iteration."""
        self._evaluation = _FIRST * seconds / _SLACK

    @property
    def left(self) -> float:
        return self.ends - now()

    @property
    def is_over(self) -> bool:
        return now() >= self.ends

    @property
    def is_nearly_over(self) -> bool:
        """Is no more left than what is kept for saving, the report and the videos? Then evaluations end."""
        return now() >= self.ends - self._rest

    @property
    def kept(self) -> float:
        """Seconds that are kept for the last evaluation and what follows it."""
        return self._kept(_SLACK)

    def begins_iteration(self) -> bool:
        """True, and another iteration begins, if it can end in time."""
        self._began = now()
        return self._began + self._iteration + self.kept < self.ends

    def ended_iteration(self) -> None:
        """The next iteration will take as long as this one."""
        self._iteration = now() - self._began

    def saw_evaluation(self, seconds: float) -> None:
        """An evaluation has taken so long; so will the last one. One whose process died took no time."""
        self._evaluation = seconds or self._evaluation

    def watching(self, on_step: Callable[[int, int], None]) -> Callable[[int, int], None]:
        """`on_step`, which ends a rollout that takes what an evaluation needs."""
        ends = self.ends - self._kept(1.0)

        def hear(step: int, total: int) -> None:
            on_step(step, total)
            if now() >= ends:
                raise TimeIsUpError

        return hear

    @property
    def _rest(self) -> float:
        return min(_MOST_REST, max(_LEAST_REST, _REST * self.seconds), _MOST * self.seconds)

    def _kept(self, slack: float) -> float:
        return min(slack * self._evaluation + self._rest, _MOST * self.seconds)
