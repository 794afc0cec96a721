"""The report that every run leaves, however it ended.

It comes last, when all else is written. Nothing that goes wrong here may change what became of the run:
it is one sentence in the events.
"""

import contextlib

from gymsolve.errors import GymsolveError, RunDamagedError
from gymsolve.runs.run import Run
from gymsolve.training.observer import Observer
from gymsolve.training.trainer import Trainer

__all__ = ["leave_report"]


def leave_report(run: Run, trainer: Trainer, observer: Observer) -> None:
    """Write report.md and report.html; the rules need no second look at what they have followed."""
    from gymsolve.metrics.report.write import write_report  # no run has to wait for it at its start

    try:
        write_report(run, trainer.alerts)
    except GymsolveError as error:
        text = f"no report was written: {error}"
        with contextlib.suppress(RunDamagedError):  # the disk that has no room for it has none for this
            run.append_event("note", text=text)
        observer.event("note", {"text": text})
