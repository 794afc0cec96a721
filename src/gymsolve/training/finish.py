"""How a run ends after an error: its files say what happened, and a checkpoint from before it stays."""

import contextlib
from contextlib import suppress
from types import TracebackType

from gymsolve.crash_sites import find_crash_site
from gymsolve.doctor.failure import bad_number_of
from gymsolve.errors import BadNumber, DivergenceError, GymsolveError, RunDamagedError
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.runs.loading import Checkpoint
from gymsolve.runs.run import Run
from gymsolve.runs.summary import Status
from gymsolve.training.checkpoint import save
from gymsolve.training.evaluation.scheduler import EvalScheduler
from gymsolve.training.observer import Observer
from gymsolve.training.publish import publish_failure, store_alerts
from gymsolve.training.stop import EndAtOnceError
from gymsolve.training.trainer import Trainer


class FailureHandler:
    """Closes everything at the end; after an error the run says so and keeps what can be kept."""

    def __init__(self, trainer: Trainer, run: Run, scheduler: EvalScheduler, observer: Observer) -> None:
        self.trainer, self.run, self.scheduler, self.observer = trainer, run, scheduler, observer

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is not None:
                self._record(error)
        finally:
            self.scheduler.close()

    def _record(self, error: BaseException) -> None:
        try:
            try:
                with suppress(DivergenceError):  # nothing sound is left; what was saved before stays
                    self._save_state()
            finally:  # a few bytes may fit where a checkpoint did not
                self._write_down(error)
        except GymsolveError as second:
            # The disk that failed training fails this too; the first error is the one to report.
            error.add_note(f"The run's final state could not be written: {second}")

    def _save_state(self) -> None:
        """Keep the state of the last whole iteration, unless it is on disk already."""
        trainer = self.trainer
        if trainer.undo is not None:
            trainer.undo()
        if trainer.saved_step != trainer.counters.env_steps:
            save(trainer, self.run, "error")

    def _write_down(self, error: BaseException) -> None:
        """Events and status: what ended the run."""
        run, steps = self.run, self.trainer.counters.env_steps
        store_alerts(self.trainer, run)
        stopped = isinstance(error, KeyboardInterrupt)
        text = str(error) or "interrupted" if stopped else f"{type(error).__name__}: {error}"
        if isinstance(error, GymsolveError) and error.bad is not None:
            self._announce(error, error.bad, text)
        else:
            kind, at = ("interrupted", None) if stopped else ("error", find_crash_site(error))
            run.append_event(kind, env_steps=steps, text=text, **({} if at is None else {"at": at}))
        status: Status = "stopped" if stopped else "crashed"
        if isinstance(error, EndAtOnceError):
            status = error.status
        run.set_status(status, reason=text, env_steps=steps)

    def _announce(self, error: GymsolveError, bad: BadNumber, text: str) -> None:
        """A number that is not finite is an alert too, for everybody who watches."""
        publish_failure(self.trainer, self.run, self.observer, text, bad)
        steps = self.trainer.counters.env_steps
        self.run.append_event("error", env_steps=steps, text=text, bad=bad.to_json())
        saved = list_checkpoints(self.run)
        start = f"Checkpoint {saved[-1]} is from before" if saved else "There is no checkpoint yet"
        error.hint = f"{error.hint} {start}; go on with: gymsolve resume {self.run.id}"


def note_end(trainer: Trainer, run: Run, text: str) -> None:
    """Events and status of a run whose process ends now and cannot save anything any more."""
    steps = trainer.counters.env_steps
    run.append_event("error", env_steps=steps, text=text)
    run.set_status("crashed", reason=text, env_steps=steps)


def notes_on_bad_end(run: Run, saved: Checkpoint | None) -> list[str]:
    """A note on the number that was not finite and ended the run: where a resume goes on."""
    bad = bad_number_of(run.read_events().rows) if run.status == "crashed" else None
    if bad is None:
        return []
    whose = "" if bad.env is None else f" of environment {bad.env}"
    start = "step 0" if saved is None else f"checkpoint {saved.name}, which is from before"
    return [
        f"this run ended at {bad.number} in {bad.place}{whose}{bad.moment}; it goes on from {start}. "
        "Unless its cause is gone it may come again: `gymsolve diagnose` says what helps"
    ]


def log_unrecorded_time(run: Run, trainer: Trainer) -> None:
    """Write an event with the seconds of this sitting that no record holds, by part."""
    with contextlib.suppress(RunDamagedError):  # a disk without room for it has let a training end well
        run.append_event("spent", env_steps=trainer.counters.env_steps, seconds=trainer.clock.unrecorded())


def leave_report(run: Run, trainer: Trainer, observer: Observer) -> None:
    """Write report.md and report.html with the alerts of this process; the rules need not run again."""
    from gymsolve.view.report.write import write_report  # not at a run's start

    try:
        write_report(run, trainer.alerts)
    except GymsolveError as error:
        text = f"no report was written: {error}"
        with contextlib.suppress(RunDamagedError):  # a disk without room for the report has none for this
            run.append_event("note", text=text)
        observer.event("note", {"text": text})
