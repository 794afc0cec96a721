"""The ends that one sitting of a run may have before its budget is spent. None of them survives a restart."""

from dataclasses import dataclass

from gymsolve.training.time_limit import TimeLimit


@dataclass
class Sitting:
    """From the start or the resume of a run to the end of that command."""

    until: int | None = None
    """Step at which it ends, although the budget and the schedules go on."""
    pause_at: int | None = None
    """Step from which on it ends with an evaluation. Nothing but that evaluation's own cadence decides it, so
    a resume goes on as if there had been no end."""
    time_limit: TimeLimit | None = None
    """The time limit of this command (`max_seconds`), if it has one."""
    ended_by: str | None = None
    """The observer that wants the run to end."""
