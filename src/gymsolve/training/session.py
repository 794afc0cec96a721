"""Starting and resuming runs: the verbs behind the Python API and the command line."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gymsolve.config import JUDGED, LASTING
from gymsolve.errors import UsageError
from gymsolve.metrics.alerts import Alert
from gymsolve.metrics.diagnosis import explain
from gymsolve.metrics.sinks.sink import make_sinks
from gymsolve.recipes import Overrides, apply_overrides, validate
from gymsolve.runs.checkpoints import discard_after, list_checkpoints, pointed
from gymsolve.runs.loading import Checkpoint, load_checkpoint
from gymsolve.runs.refs import find_run, open_checkpoint, split_ref
from gymsolve.runs.run import Run, create_run
from gymsolve.runs.summary import Status
from gymsolve.training.checkpoint import save
from gymsolve.training.ending import Closing, leave_report, notes_on_bad_end
from gymsolve.training.judging.judge import Judge, make_judge
from gymsolve.training.loop import next_multiple, take_judgements, train_loop, write_record
from gymsolve.training.observer import Observer, checked
from gymsolve.training.planning.plan import Plan
from gymsolve.training.publish import replay_alerts
from gymsolve.training.startup import for_debugger, notes_at_start, other_arithmetic, require_same_pipeline
from gymsolve.training.stopping import Reason, StopSignal
from gymsolve.training.tracking import tracking
from gymsolve.training.trainer import Trainer, build_trainer, restore_trainer

__all__ = ["Outcome", "execute", "rearrange", "resume_run", "start_run"]


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
    alerts: tuple[Alert, ...] = ()
    """Every alert that fired: causes first, the most urgent in front, then what follows from them."""
    because: Mapping[str, str] = field(default_factory=dict)
    """Alerts that follow from another one, and its id."""

    def to_json(self) -> dict[str, Any]:
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
            "alerts": [
                {"id": one.id, "severity": one.severity, "active": one.active}
                | {"count": one.count, "because": self.because.get(one.id)}
                for one in self.alerts
            ],
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
    with ExitStack() as cleanup:
        trainer = build_trainer(config)
        cleanup.callback(trainer.envs.close)
        require_same_pipeline(trainer)
        notes = notes_at_start(trainer)
        parent = None
        if source is not None:
            origin, saved = source
            parent = {"run": origin.id, "checkpoint": saved.name}
            notes += [f"not taken over: {misfit}" for misfit in trainer.policy.load_arrays(saved.policy)]
        measured = {"threads": trainer.engine.measured} if trainer.engine.measured else {}
        run = create_run(
            runs_dir,
            name=plan.resolved.name,
            config_json=trainer.config.model_dump(mode="json"),
            provenance=plan.resolved.provenance | measured,
            command=list(sys.argv if command is None else command),
            seed=config.seed,
            steps=config.steps,
            parent=parent,
            group=group,
        )
        replay_alerts(trainer, run)
        cleanup.callback(leave_report, run, trainer, watcher)
        for reason in plan.reasons:
            run.log(f"derived: {reason}")
        notes += [f"auto: {reason}" for reason in plan.measured]
        with tracking(run, sinks, watcher) as tracked:
            return execute(trainer, run, tracked, notes, judge_first=source is not None, profile=profile)


def resume_run(
    ref: str,
    *,
    overrides: Overrides = (),
    fresh_optimizer: bool = False,
    runs_dir: Path | str | None = None,
    observer: Observer | None = None,
    command: Sequence[str] | None = None,
    profile: bool = False,
) -> Outcome:
    """Continue a run from a checkpoint (`RUN@last` unless said otherwise), in its own folder."""
    watcher = checked(observer)
    name, which = split_ref(ref)
    run = find_run(name, runs_dir)
    stored = run.config_json()
    config, changes = apply_overrides(validate(stored["config"], "config.json"), overrides)
    _refuse_changes(changes)
    sinks = make_sinks(config.track)
    saved = _saved_state(run, which)
    ended = notes_on_bad_end(run, saved)
    with ExitStack() as cleanup:
        trainer = build_trainer(for_debugger(config))
        cleanup.callback(trainer.envs.close)
        if saved is not None:
            notes = restore_trainer(trainer, saved, fresh_optimizer=fresh_optimizer)
        else:
            notes = [
                "no checkpoint had been written yet: training starts at step 0",
                *notes_at_start(trainer),
            ]
        notes += ended + other_arithmetic(trainer, run.read_events().rows)
        # Nothing was written so far; from here on, nothing is refused.
        run.claim(command=list(sys.argv if command is None else command))
        dropped = run.rewind(trainer.counters.env_steps)
        discarded = discard_after(run, trainer.counters.env_steps)
        replay_alerts(trainer, run)
        cleanup.callback(leave_report, run, trainer, watcher)
        notes += rearrange(trainer, run, changes)
        if changes:
            sources = stored["provenance"] | dict.fromkeys(changes, "--set on resume")
            run.change_config(config.model_dump(mode="json"), sources)
        run.append_event(
            "resumed",
            env_steps=trainer.counters.env_steps,
            checkpoint=None if saved is None else saved.name,
            changes={path: list(pair) for path, pair in changes.items()},
            fresh_optimizer=fresh_optimizer,
            records_set_aside=dropped,
            checkpoints_set_aside=discarded,
        )
        with tracking(run, sinks, watcher) as tracked:
            return execute(trainer, run, tracked, notes + _nothing_to_do(trainer), profile=profile)


def _nothing_to_do(trainer: Trainer) -> list[str]:
    """Why a resumed run ends at once, if it will."""
    counters, config = trainer.counters, trainer.config
    if counters.solved and config.eval.stop_when_solved:
        return ["this run is solved already; to train on, add --set eval.stop_when_solved=false"]
    if counters.env_steps >= config.steps:
        return [f"its budget of {config.steps} steps is spent; give a larger one with --steps"]
    return []


def _refuse_changes(changes: Iterable[str]) -> None:
    """Refuse to change settings that would make it another run."""
    for path in changes:
        if path.startswith(LASTING):
            raise UsageError(
                "a run keeps its environment, algorithm, network and seed.",
                where=path,
                hint="Start a new run from its weights with: gymsolve train … --from RUN",
            )


def _saved_state(run: Run, which: str | None) -> Checkpoint | None:
    if which is None and not list_checkpoints(run):
        return None  # killed before the first checkpoint: the seed brings everything back
    return load_checkpoint(run, which or "last")


def rearrange(trainer: Trainer, run: Run, changes: Iterable[str]) -> list[str]:
    """Adapt cadences and verdicts to settings that have changed; returns notes for the user."""
    counters, config = trainer.counters, trainer.config
    changed = tuple(path for path in changes if path != "track")  # trackers change nothing
    if changed:
        counters.next_eval = max(next_multiple(counters.env_steps, config.eval_every), config.eval.warmup)
        counters.next_checkpoint = next_multiple(counters.env_steps, config.checkpoint_every)
    other_bar = any(path.startswith(JUDGED) for path in changed)
    if not other_bar and pointed(run, "best") is not None:
        return []
    had = counters.best_return
    counters.solved = counters.solved and not other_bar  # it must be proved again under the new settings
    counters.best_return, counters.best_solved = None, False
    if had is None or not other_bar:
        return []
    return [f"what is judged has changed, so the best return so far ({had:.4g}) no longer compares"]


def execute(
    trainer: Trainer,
    run: Run,
    observer: Observer,
    notes: list[str],
    *,
    judge_first: bool = False,
    profile: bool = False,
) -> Outcome:
    """Run the loop; whatever happens, the run's files then tell what happened."""
    signalled = StopSignal(lambda reason: observer.event("stopping", {"reason": reason}))
    filming, profiled = _filming(trainer, run), _profiled(run) if profile else nullcontext()
    judge = make_judge(trainer, cancelled=lambda: signalled.reason is not None)  # `Closing` ends its process
    with Closing(trainer, run, judge, observer), signalled.listening(), filming, profiled:
        engine = trainer.engine
        means = {"engine": engine.name, "kernels": engine.kernels, "threads": engine.threads}
        means["backend"] = trainer.envs.backend
        began = trainer.counters.env_steps
        run.append_event("started", env_steps=began, threshold=trainer.threshold, **means)
        observer.started(run, trainer)
        for note in notes:
            run.append_event("note", text=note)
            observer.event("note", {"text": note})
        if judge_first:
            take_judgements(trainer, run, observer, judge.submit(trainer, run, observer))
        reason = train_loop(trainer, run, judge, observer, signalled)
        if reason in ("steps", "time"):
            _judge_last(trainer, run, judge, observer)
        take_judgements(trainer, run, observer, judge.drain())
        if trainer.averager.latest:
            write_record(trainer, run, observer)
        if trainer.saved_step != trainer.counters.env_steps:
            save(trainer, run, "end")
        outcome = _finish(trainer, run, reason)
    if outcome.reason in ("solved", "steps", "time"):  # a user who stops a run does not want to wait
        from gymsolve.training.video.automatic import leave_videos

        leave_videos(run, trainer.config, observer)
    return outcome


def _profiled(run: Run) -> AbstractContextManager[None]:
    from gymsolve.training.profile.sampling import profiling

    return profiling(run)


def _filming(trainer: Trainer, run: Run) -> AbstractContextManager[None]:
    """Whoever films while the run trains; cameras are imported only where they are used."""
    if not (trainer.config.video.enabled and trainer.config.video.every):
        return nullcontext()
    from gymsolve.training.video.follower import Follower

    return Follower(run, trainer.config, trainer.counters.env_steps)


def _judge_last(trainer: Trainer, run: Run, judge: Judge, observer: Observer) -> None:
    """The final policy gets a verdict too, unless it has one."""
    take_judgements(trainer, run, observer, judge.drain())
    if trainer.counters.last_eval != trainer.counters.env_steps:
        trainer.counters.eval_round += 1
        take_judgements(trainer, run, observer, judge.submit(trainer, run, observer))


def _finish(trainer: Trainer, run: Run, reason: Reason) -> Outcome:
    counters = trainer.counters
    status: Status = "finished" if reason in ("steps", "time") else "stopped"
    if counters.solved:
        status = "solved"
        # A final evaluation may prove it after the budget ended the loop; a request to stop stays the reason.
        reason = (
            "solved" if reason in ("steps", "time") and counters.last_eval == counters.env_steps else reason
        )
    found = explain(trainer.alerts)
    outcome = Outcome(
        run=run,
        status=status,
        reason=reason,
        solved=counters.solved,
        env_steps=counters.env_steps,
        seconds=counters.seconds,
        mean_reward=counters.best_return,
        threshold=trainer.threshold,
        alerts=(*found.roots, *(one.alert for one in found.consequences)),
        because={one.alert.id: one.because for one in found.consequences},
    )
    result = {key: outcome.to_json()[key] for key in ("solved", "mean_reward", "threshold", "seconds")}
    run.append_event("ended", env_steps=counters.env_steps, status=status, reason=reason)
    run.set_status(status, reason=reason, result=result, env_steps=counters.env_steps)
    run.clear_stop()
    return outcome
