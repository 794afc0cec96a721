"""Starts and resumes runs: the functions behind the Python API and the command line."""

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from gymsolve.metrics.trackers.tracker import make_sinks
from gymsolve.recipes import Overrides
from gymsolve.runs.refs import find_run, open_checkpoint, split_ref
from gymsolve.runs.run import create_run
from gymsolve.runs.summary import runs_folder
from gymsolve.runs.trust import buildable_settings, note_on_trust
from gymsolve.settings.changes import require_budget_left
from gymsolve.training.build import build_trainer
from gymsolve.training.checkpoint import save
from gymsolve.training.execute import execute
from gymsolve.training.finish import leave_report, log_unrecorded_time, notes_on_bad_end
from gymsolve.training.observer import Observer
from gymsolve.training.outcome import Outcome, make_outcome
from gymsolve.training.own_observers import join_observers
from gymsolve.training.planning.plan import Plan, fix_recordings
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
from gymsolve.training.tracking import tracking
from gymsolve.training.watchdog import Watchdog


@dataclass(frozen=True)
class TrialSitting:
    """A sitting of a trial that is no fork: another command began the run, and says where it pauses."""

    until: int | None
    """Environment steps after which the sitting ends with the next evaluation; None is the whole budget. A
    resume goes on as if there had been no pause."""
    origin: str
    """The id of the sweep, as the parent of the run."""


def start_run(  # noqa: PLR0913 - the options of `gymsolve train`
    plan: Plan,
    *,
    start_from: str | None = None,
    runs_dir: Path | str | None = None,
    observer: Observer | None = None,
    command: Sequence[str] | None = None,
    profile: bool = False,
    group: str | None = None,
    began: float | None = None,
    trial: TrialSitting | None = None,
) -> Outcome:
    """Train a planned run to its end; `start_from` is RUN[@CHECKPOINT] whose weights it begins with.

    Runs of one `group` differ in their seed alone. `max_seconds` counts from the moment `began`
    (`time.perf_counter`), by default from now.
    With `profile`, it also writes into the run where the time went.
    """
    called = time.perf_counter()
    plan = fix_recordings(plan, runs_dir)
    config = for_debugger(plan.config)
    watcher = join_observers(config, observer)
    sinks = make_sinks(config.track)
    source = None if start_from is None else open_checkpoint(start_from, runs_dir, policy_only=True)
    built_from = time.perf_counter()
    with Watchdog(config.env), ExitStack() as afterwards, ExitStack() as cleanup:
        trainer = build_trainer(config)
        trainer.clock.count_from(built_from)
        trainer.limit_time(called if began is None else began)
        cleanup.callback(trainer.envs.close)
        require_same_pipeline(trainer)
        notes = notes_at_start(trainer, watcher)
        parent = None
        if trial is not None:
            trainer.sitting.pause_at = trial.until
            parent = {"run": trial.origin, "checkpoint": None, "kind": "trial"}
        if source is not None:
            origin, saved = source
            parent = (parent or {}) | {"run": origin.id, "checkpoint": saved.name}
            notes += [f"not taken over: {misfit}" for misfit in trainer.learner.start_from(saved.policy)]
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
        if source is not None:  # a resume must find these weights, and they are evaluated first
            trainer.counters.judging = 0
            save(trainer, run, "from")
        cleanup.callback(leave_report, run, trainer, watcher)
        for reason in plan.reasons:
            run.log(f"derived: {reason}")
        notes += [f"auto: {reason}" for reason in plan.measured]
        with tracking(run, sinks, watcher, trainer.clock) as tracked:
            outcome = execute(trainer, run, tracked, notes, afterwards, profile=profile)
        log_unrecorded_time(run, trainer)
        return outcome


def resume_run(  # noqa: PLR0913 - the options of `gymsolve resume`
    ref: str,
    *,
    overrides: Overrides = (),
    fresh_optimizer: bool = False,
    runs_dir: Path | str | None = None,
    observer: Observer | None = None,
    command: Sequence[str] | None = None,
    profile: bool = False,
    trust: bool = False,
    began: float | None = None,
    trial: TrialSitting | None = None,
) -> Outcome:
    """Continue a run from a checkpoint (`RUN@last` unless said otherwise), in its own folder.

    A run from elsewhere that names code of its own needs `trust` (`runs/trust.py`). `max_seconds` counts from
    the moment `began`, by default from now.
    """
    called = time.perf_counter()
    name, which = split_ref(ref)
    run = find_run(name, runs_dir)
    config, changes = buildable_settings(run, overrides, trust=trust)
    refuse_changes(changes)
    watcher = join_observers(config, observer)
    sinks = make_sinks(config.track)
    saved = saved_state(run, which)
    ended = notes_on_bad_end(run, saved)
    built_from = time.perf_counter()
    with Watchdog(config.env), ExitStack() as afterwards, ExitStack() as cleanup:
        trainer = build_trainer(for_debugger(config))
        trainer.clock.count_from(built_from)
        trainer.limit_time(called if began is None else began)
        cleanup.callback(trainer.envs.close)
        trainer.sitting.pause_at = None if trial is None else trial.until
        notes = bring_back(trainer, saved, watcher, changes, fresh_optimizer=fresh_optimizer)
        notes += ended + other_arithmetic(trainer, run.read_events().rows)
        idle = nothing_to_do(trainer)
        if idle is not None and which in (None, "last") and may_stay_ended(trainer, run, changes):
            replay_alerts(trainer, run)
            info = run.info()
            return make_outcome(trainer, run, info["status"], info["reason"], nothing_to_do=idle)
        if "steps" in changes and not trainer.counters.solved:
            require_budget_left(run.id, trainer.taken, config.steps, changes)
        # Nothing was written so far; from here on, nothing is refused.
        run.claim(command=list(sys.argv if command is None else command), as_trial=trial is not None)
        set_aside = set_aside_later(trainer, run)
        replay_alerts(trainer, run)
        cleanup.callback(leave_report, run, trainer, watcher)
        notes += reconcile(trainer, run) + rearrange(trainer, run, changes)
        if changes and saved is not None:  # first: evaluations under the old settings must not outlive them
            save(trainer, run, "settings")
        if changes:
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
        log_unrecorded_time(run, trainer)
        return outcome
