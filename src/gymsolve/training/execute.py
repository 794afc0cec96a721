"""One sitting of a run: evaluate what is owed, train, evaluate the end, save, and write how it ended."""

import math
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

from gymsolve.registry import VIDEOS, load
from gymsolve.runs.run import Run
from gymsolve.runs.summary import Status
from gymsolve.text import took
from gymsolve.training.checkpoint import save
from gymsolve.training.evaluation.blind import record_blind
from gymsolve.training.evaluation.record import record_evaluations
from gymsolve.training.evaluation.scheduler import EvalScheduler, make_scheduler
from gymsolve.training.finish import FailureHandler, note_end
from gymsolve.training.loop import train_loop
from gymsolve.training.observer import Observer
from gymsolve.training.outcome import Outcome, make_outcome
from gymsolve.training.profile.sampling import profiling
from gymsolve.training.publish import log_event, store_alerts, write_record
from gymsolve.training.stop import ENDS, Reason, StopSignal
from gymsolve.training.stop_monitor import StopMonitor
from gymsolve.training.trainer import Trainer
from gymsolve.training.watchdog import Watchdog


def execute(
    trainer: Trainer,
    run: Run,
    observer: Observer,
    notes: list[str],
    afterwards: ExitStack,
    *,
    profile: bool = False,
) -> Outcome:
    """Train until there is a reason to stop; the run's files say what happened, also after an error.

    The caller closes `afterwards` after the environments: until then the monitor ends a stop that hangs.
    """
    signalled = StopSignal()
    monitor = StopMonitor(signalled, run, trainer, observer)
    afterwards.callback(monitor.close)

    def cancelled() -> bool:
        return signalled.reason is not None or trainer.evaluates_no_more

    scheduler = make_scheduler(trainer, cancelled)
    with (
        FailureHandler(trainer, run, scheduler, observer),  # which ends the scheduler's process, too
        signalled.listening(),
        monitor.watching(),
        _recorder(trainer, run) as recorder,
        profiling(run) if profile else nullcontext(),
        Watchdog(trainer.config.env, lambda text: note_end(trainer, run, text)),
    ):
        if recorder is not None:
            observer = recorder.minding(observer)
        _log_start(trainer, run, observer, notes)
        owed = trainer.counters.judging
        if owed is not None:
            record_evaluations(trainer, run, observer, scheduler.make_up(trainer, run, observer))
        reason = train_loop(trainer, run, scheduler, observer, signalled)
        if reason in ENDS:
            _evaluate_last(trainer, run, scheduler, observer)
            if trainer.counters.judging is not None:  # it is missing, and a resume makes up for it
                reason = signalled.reason or "time"
        if _is_unsaved(trainer):
            save(trainer, run, "end")
        if reason == "time" and trainer.counters.judging is not None:
            _note_missing_evaluation(trainer, run, observer, owed)
        # After the checkpoint: a resume sets these records aside and goes on as if there had been no end.
        elif reason in ENDS and not trainer.is_paused:
            record_blind(trainer, run, observer, cancelled)
        if trainer.averager.latest:
            write_record(trainer, run, observer)
        outcome = _finish(trainer, run, reason)
    # A user who stops a run does not want to wait.
    ended = outcome.reason in ("solved", *ENDS) and not trainer.is_paused
    if ended and trainer.config.video.enabled:
        leave_videos = load(VIDEOS["at the end"], "video")
        with trainer.clock.timing("video"):
            limit = trainer.sitting.time_limit
            left = math.inf if limit is None else limit.left
            leave_videos(run, trainer.config, observer, outcome.seconds, left)
    return outcome


def _log_start(trainer: Trainer, run: Run, observer: Observer, notes: list[str]) -> None:
    """Write the event that a sitting starts, and the notes on it."""
    engine = trainer.engine
    run.append_event(
        "started",
        env_steps=trainer.counters.env_steps,
        threshold=trainer.return_threshold,
        engine=engine.name,
        kernels=engine.kernels,
        threads=engine.threads,
        backend=trainer.envs.backend,
    )
    observer.started(run, trainer)
    for note in notes:
        run.append_event("note", text=note)
        observer.event("note", {"text": note})


def _recorder(trainer: Trainer, run: Run) -> AbstractContextManager[Any]:
    """The recorder of videos while the run trains, imported only where there is one."""
    if not (trainer.config.video.enabled and trainer.config.video.every):
        return nullcontext()
    record_videos = load(VIDEOS["while training"], "video")
    recorder: AbstractContextManager[Any] = record_videos(run, trainer.config, trainer.counters.env_steps)
    return recorder


def _evaluate_last(trainer: Trainer, run: Run, scheduler: EvalScheduler, observer: Observer) -> None:
    """Evaluate the final policy, unless it is evaluated already or an evaluation was cut off."""
    counters = trainer.counters
    record_evaluations(trainer, run, observer, scheduler.drain(observer))
    if counters.last_eval != counters.env_steps and counters.judging is None:
        counters.eval_round += 1
        if trainer.evaluates_no_more:
            scheduler.announce(trainer)
            return
        record_evaluations(trainer, run, observer, scheduler.submit(trainer, run, observer))
        record_evaluations(trainer, run, observer, scheduler.drain(observer))


def _is_unsaved(trainer: Trainer) -> bool:
    """Is there anything that the newest checkpoint does not know?"""
    counters = trainer.counters
    owed = counters.judging == counters.env_steps  # it may have been announced since
    return trainer.saved_step != counters.env_steps or trainer.unsaved_verdict or owed


def _note_missing_evaluation(trainer: Trainer, run: Run, observer: Observer, owed: int | None) -> None:
    """Say which evaluation is missing; one that was `owed` at the beginning does not fit into the limit."""
    step, seconds = trainer.counters.judging, trainer.config.max_seconds or 0.0
    longer = f" --max-seconds {math.ceil(2.0 * seconds)}" if owed == step else ""
    text = (
        f"max_seconds ({took(seconds)}) left no time for the evaluation at step {step}, which decides "
        f"neither solved nor best; make up for it with: gymsolve resume {run.id}{longer}"
    )
    log_event(run, observer, "note", trainer.counters.env_steps, text)


def _finish(trainer: Trainer, run: Run, reason: Reason) -> Outcome:
    """Write how the run ended."""
    counters = trainer.counters
    status: Status = "finished" if reason in ENDS else "stopped"
    if counters.solved:
        status = "solved"
        # A final evaluation may prove it after the budget ended the loop; a request to stop stays the reason.
        proven = trainer.config.eval.stop_when_solved and counters.last_eval == counters.env_steps
        reason = "solved" if reason in ENDS and proven else reason
    outcome = make_outcome(trainer, run, status, reason)
    result = {key: outcome.to_json()[key] for key in ("solved", "mean_reward", "threshold", "seconds")}
    result |= outcome.success
    store_alerts(trainer, run)
    run.append_event("ended", env_steps=counters.env_steps, status=status, reason=reason)
    run.set_status(status, reason=reason, result=result, env_steps=counters.env_steps)
    run.clear_stop()
    return outcome
