"""Starting and resuming runs: the verbs behind the Python API and the command line."""

import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gymsolve.doctor.alerts import Alert
from gymsolve.doctor.diagnosis import explain
from gymsolve.metrics.trackers.tracker import make_sinks
from gymsolve.recipes import Overrides
from gymsolve.registry import VIDEOS, load
from gymsolve.runs.refs import find_run, open_checkpoint, split_ref
from gymsolve.runs.run import Run, create_run
from gymsolve.runs.summary import Status, runs_folder
from gymsolve.runs.trust import buildable_settings, note_on_trust
from gymsolve.training.build import build_trainer
from gymsolve.training.checkpoint import save
from gymsolve.training.evaluation.scheduler import EvalScheduler, make_scheduler
from gymsolve.training.finish import FailureHandler, leave_report, note_end, notes_on_bad_end, tell_spent
from gymsolve.training.loop import record_evaluations, train_loop, write_record
from gymsolve.training.observer import Observer, checked
from gymsolve.training.planning.plan import Plan
from gymsolve.training.publish import replay_alerts, store_alerts
from gymsolve.training.resume import (
    bring_back,
    may_stay_ended,
    nothing_to_do,
    rearrange,
    reconcile,
    refuse_changes,
    saved_state,
    set_aside_later,
)
from gymsolve.training.startup import for_debugger, notes_at_start, other_arithmetic, require_same_pipeline
from gymsolve.training.stop import Reason, StopSignal
from gymsolve.training.stop_monitor import StopMonitor
from gymsolve.training.tracking import tracking
from gymsolve.training.trainer import Trainer
from gymsolve.training.watchdog import Watchdog


@dataclass(frozen=True)
class Outcome:
    """How a training ended."""

    run: Run
    status: Status
    reason: Reason
    solved: bool
    env_steps: int
    seconds: float
    mean_reward: float | None
    """Mean return of the best evaluation, if there was one."""
    threshold: float | None
    """Mean return that counts as solved; None where none is known, or where successes decide."""
    alerts: tuple[Alert, ...] = ()
    """Every alert that fired: causes first, the most urgent in front, then what follows from them."""
    because: Mapping[str, str] = field(default_factory=dict)
    """Alerts that follow from another one, and its id."""
    success_rate: float | None = None
    """Share of successes in the best evaluation, where that decides (`solved_by`)."""
    success_threshold: float | None = None
    nothing_to_do: str | None = None
    """Why a resume found nothing to do, and so changed nothing."""

    @property
    def success(self) -> dict[str, float | None]:
        """What is to be said of successes; nothing where the return decides."""
        if self.success_threshold is None:
            return {}
        return {"success_rate": self.success_rate, "success_threshold": self.success_threshold}

    def to_json(self) -> dict[str, Any]:
        idle = {} if self.nothing_to_do is None else {"nothing_to_do": self.nothing_to_do}
        return {
            "run": self.run.id,
            "path": str(self.run.path),
            "status": self.status,
            "reason": self.reason,
            "solved": self.solved,
            "env_steps": self.env_steps,
            "seconds": round(self.seconds, 3),
            "mean_reward": self.mean_reward,
            "threshold": self.threshold,
            **self.success,
            "alerts": [
                {"id": one.id, "severity": one.severity, "active": one.active}
                | {"count": one.count, "because": self.because.get(one.id)}
                for one in self.alerts
            ],
            **idle,
        }


def start_run(
    plan: Plan,
    *,
    start_from: str | None = None,
    runs_dir: Path | str | None = None,
    observer: Observer | None = None,
    command: Sequence[str] | None = None,
    profile: bool = False,
    group: str | None = None,
) -> Outcome:
    """Train a planned run to its end; `start_from` is RUN[@CHECKPOINT] whose weights it begins with.

    Runs of one `group` differ in their seed alone.
    With `profile`, it also writes into the run where the time went.
    """
    watcher, config = checked(observer), for_debugger(plan.config)
    sinks = make_sinks(config.track)
    source = None if start_from is None else open_checkpoint(start_from, runs_dir, policy_only=True)
    began = time.perf_counter()
    with Watchdog(config.env), ExitStack() as afterwards, ExitStack() as cleanup:
        trainer = build_trainer(config)
        trainer.clock.count_from(began)
        cleanup.callback(trainer.envs.close)
        require_same_pipeline(trainer)
        notes = notes_at_start(trainer, watcher)
        parent = None
        if source is not None:
            origin, saved = source
            parent = {"run": origin.id, "checkpoint": saved.name}
            notes += [f"not taken over: {misfit}" for misfit in trainer.policy.load_arrays(saved.policy)]
        measured = {"threads": trainer.engine.measured} if trainer.engine.measured else {}
        run = create_run(
            plan.home / runs_folder(runs_dir),
            name=plan.resolved.name,
            config_json=trainer.config.model_dump(mode="json"),
            provenance=plan.resolved.provenance | measured,
            command=list(sys.argv if command is None else command),
            seed=config.seed,
            steps=config.steps,
            parent=parent,
            group=group,
        )
        notes += note_on_trust(run)
        replay_alerts(trainer, run)
        if source is not None:  # a resume must find these weights, and they are judged before anything else
            trainer.counters.judging = 0
            save(trainer, run, "from")
        cleanup.callback(leave_report, run, trainer, watcher)
        for reason in plan.reasons:
            run.log(f"derived: {reason}")
        notes += [f"auto: {reason}" for reason in plan.measured]
        with tracking(run, sinks, watcher, trainer.clock) as tracked:
            outcome = execute(trainer, run, tracked, notes, afterwards, profile=profile)
        tell_spent(run, trainer)
        return outcome


def resume_run(
    ref: str,
    *,
    overrides: Overrides = (),
    fresh_optimizer: bool = False,
    runs_dir: Path | str | None = None,
    observer: Observer | None = None,
    command: Sequence[str] | None = None,
    profile: bool = False,
    trust: bool = False,
) -> Outcome:
    """Continue a run from a checkpoint (`RUN@last` unless said otherwise), in its own folder.

    A run from elsewhere that names code of its own needs `trust` (`runs/trust.py`).
    """
    watcher = checked(observer)
    name, which = split_ref(ref)
    run = find_run(name, runs_dir)
    config, changes = buildable_settings(run, overrides, trust=trust)
    refuse_changes(changes)
    sinks = make_sinks(config.track)
    saved = saved_state(run, which)
    ended = notes_on_bad_end(run, saved)
    began = time.perf_counter()
    with Watchdog(config.env), ExitStack() as afterwards, ExitStack() as cleanup:
        trainer = build_trainer(for_debugger(config))
        trainer.clock.count_from(began)
        cleanup.callback(trainer.envs.close)
        notes = bring_back(trainer, saved, watcher, fresh_optimizer=fresh_optimizer)
        notes += ended + other_arithmetic(trainer, run.read_events().rows)
        idle = nothing_to_do(trainer)
        if idle is not None and which in (None, "last") and may_stay_ended(trainer, run, changes):
            replay_alerts(trainer, run)
            return _as_it_ended(trainer, run, idle)
        # Nothing was written so far; from here on, nothing is refused.
        run.claim(command=list(sys.argv if command is None else command))
        set_aside = set_aside_later(trainer, run)
        replay_alerts(trainer, run)
        cleanup.callback(leave_report, run, trainer, watcher)
        notes += reconcile(trainer, run) + rearrange(trainer, run, changes)
        if changes:
            if saved is not None:  # first, for the proofs of old settings must not outlive them
                save(trainer, run, "settings")
            sources = run.config_json()["provenance"] | dict.fromkeys(changes, "--set on resume")
            run.change_config(config.model_dump(mode="json"), sources)
        run.append_event(
            "resumed",
            env_steps=trainer.counters.env_steps,
            checkpoint=None if saved is None else saved.name,
            changes={path: list(pair) for path, pair in changes.items()},
            fresh_optimizer=fresh_optimizer,
            **set_aside,
        )
        store_alerts(trainer, run)
        with tracking(run, sinks, watcher, trainer.clock) as tracked:
            idle = nothing_to_do(trainer)
            notes += [idle] if idle else []
            outcome = execute(trainer, run, tracked, notes, afterwards, profile=profile)
        tell_spent(run, trainer)
        return outcome


def execute(
    trainer: Trainer,
    run: Run,
    observer: Observer,
    notes: list[str],
    afterwards: ExitStack,
    *,
    profile: bool = False,
) -> Outcome:
    """Run the loop; whatever happens, the run's files then tell what happened.

    `afterwards` is closed after the environments: until then somebody watches whether a stop comes to an end.
    """
    signalled = StopSignal()
    attendant = StopMonitor(signalled, run, trainer, observer)
    afterwards.callback(attendant.close)
    attending = attendant.attending()
    filming, profiled = _filming(trainer, run), _profiled(run) if profile else nullcontext()
    # `FailureHandler` ends the scheduler's process.
    judge = make_scheduler(trainer, cancelled=lambda: signalled.reason is not None)
    watching = Watchdog(trainer.config.env, lambda text: note_end(trainer, run, text))
    with (
        FailureHandler(trainer, run, judge, observer),
        signalled.listening(),
        attending,
        filming as follower,
        profiled,
        watching,
    ):
        if follower is not None:
            observer = follower.minding(observer)
        engine = trainer.engine
        means = {"engine": engine.name, "kernels": engine.kernels, "threads": engine.threads}
        means["backend"] = trainer.envs.backend
        began = trainer.counters.env_steps
        run.append_event("started", env_steps=began, threshold=trainer.return_threshold, **means)
        observer.started(run, trainer)
        for note in notes:
            run.append_event("note", text=note)
            observer.event("note", {"text": note})
        if trainer.counters.judging is not None:
            record_evaluations(trainer, run, observer, judge.make_up(trainer, run, observer))
        reason = train_loop(trainer, run, judge, observer, signalled)
        if reason in ("steps", "time"):
            _judge_last(trainer, run, judge, observer)
            if trainer.counters.judging is not None and signalled.reason is not None:
                reason = signalled.reason  # the last word on it is missing, and a resume says it
        if trainer.saved_step != trainer.counters.env_steps or trainer.unsaved_verdict:
            save(trainer, run, "end")
        if trainer.averager.latest:
            # After the checkpoint: a resume sets this record aside and goes on as if there had been no end.
            write_record(trainer, run, observer)
        outcome = _finish(trainer, run, reason)
    ended = outcome.reason in ("solved", "steps", "time")  # a user who stops a run does not want to wait
    if ended and trainer.config.video.enabled:
        leave_videos = load(VIDEOS["at the end"], "video")
        with trainer.clock.timing("video"):
            leave_videos(run, trainer.config, observer, outcome.seconds)
    return outcome


def _profiled(run: Run) -> AbstractContextManager[None]:
    from gymsolve.training.profile.sampling import profiling

    return profiling(run)


def _filming(trainer: Trainer, run: Run) -> AbstractContextManager[Any]:
    """Whoever films while the run trains; cameras are imported only where they are used."""
    if not (trainer.config.video.enabled and trainer.config.video.every):
        return nullcontext()
    film: AbstractContextManager[Any] = load(VIDEOS["while training"], "video")(
        run, trainer.config, trainer.counters.env_steps
    )
    return film


def _judge_last(trainer: Trainer, run: Run, judge: EvalScheduler, observer: Observer) -> None:
    """The final policy gets a verdict too, unless it has one."""
    record_evaluations(trainer, run, observer, judge.drain(observer))
    if trainer.counters.last_eval != trainer.counters.env_steps:
        trainer.counters.eval_round += 1
        record_evaluations(trainer, run, observer, judge.submit(trainer, run, observer))
        record_evaluations(trainer, run, observer, judge.drain(observer))


def _as_it_ended(trainer: Trainer, run: Run, why: str) -> Outcome:
    """The outcome of a run that has ended and has nothing left to do; nothing is written."""
    info = run.info()
    return _outcome(trainer, run, info["status"], info["reason"], nothing_to_do=why)


def _finish(trainer: Trainer, run: Run, reason: Reason) -> Outcome:
    counters = trainer.counters
    status: Status = "finished" if reason in ("steps", "time") else "stopped"
    if counters.solved:
        status = "solved"
        # A final evaluation may prove it after the budget ended the loop; a request to stop stays the reason.
        proven = trainer.config.eval.stop_when_solved and counters.last_eval == counters.env_steps
        reason = "solved" if reason in ("steps", "time") and proven else reason
    outcome = _outcome(trainer, run, status, reason)
    result = {key: outcome.to_json()[key] for key in ("solved", "mean_reward", "threshold", "seconds")}
    result |= outcome.success
    store_alerts(trainer, run)
    run.append_event("ended", env_steps=counters.env_steps, status=status, reason=reason)
    run.set_status(status, reason=reason, result=result, env_steps=counters.env_steps)
    run.clear_stop()
    return outcome


def _outcome(
    trainer: Trainer, run: Run, status: Status, reason: Reason, *, nothing_to_do: str | None = None
) -> Outcome:
    counters, found = trainer.counters, explain(trainer.alerts)
    return Outcome(
        run=run,
        status=status,
        reason=reason,
        solved=counters.solved,
        env_steps=counters.env_steps,
        seconds=counters.seconds,
        mean_reward=counters.best_return,
        threshold=trainer.return_threshold,
        success_rate=counters.best_rate,
        success_threshold=trainer.success_threshold,
        alerts=found.alerts,
        because={one.alert.id: one.because for one in found.consequences},
        nothing_to_do=nothing_to_do,
    )
