"""Forks: a new run that begins in the exact state of another run's checkpoint, or like it at step 0.

`gymsolve fork` makes runs in their own right. Forks that `gymsolve fix` makes are trials of their origin:
they are listed with it and never become `@last`.

`train --from` takes over weights alone; a fork takes over all that a resume would: optimizer, statistics,
random streams, episodes under way. A fork without changes and on the same seed repeats its parent.
"""

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gymsolve.errors import DivergenceError, EnvFaultError, UsageError
from gymsolve.metrics.trackers.tracker import make_sinks
from gymsolve.recipes import Overrides
from gymsolve.runs.loading import Checkpoint, load_checkpoint
from gymsolve.runs.refs import find_run, split_ref
from gymsolve.runs.run import Run, create_run
from gymsolve.runs.trust import buildable_settings
from gymsolve.settings.changes import LASTING, require_budget_left
from gymsolve.training.build import build_trainer
from gymsolve.training.checkpoint import save
from gymsolve.training.execute import execute
from gymsolve.training.finish import leave_report, log_unrecorded_time
from gymsolve.training.observer import Observer
from gymsolve.training.outcome import Outcome
from gymsolve.training.own_observers import join_observers
from gymsolve.training.publish import replay_alerts
from gymsolve.training.restore import restore_trainer
from gymsolve.training.resume import rearrange
from gymsolve.training.startup import doubts_about, for_debugger, notes_at_start, require_same_pipeline
from gymsolve.training.stop import Reason
from gymsolve.training.tracking import tracking
from gymsolve.training.trainer import Trainer
from gymsolve.training.watchdog import Watchdog


@dataclass(frozen=True)
class Fork:
    """Where a run branches off, and how it differs."""

    origin: Run
    checkpoint: str | None
    """None begins at step 0."""
    overrides: Mapping[str, Any]
    """Settings that differ from the origin's. Another seed draws everything random from there on anew."""
    until: int
    """Environment steps, counted from step 0, at which it ends; schedules go by `steps` of the settings."""
    source: str
    """The provenance of changed settings: the command that changed them."""
    kind: Literal["trial", "fork"] = "trial"
    group: str | None = None
    """Of the runs that it is one of."""


def branch_run(  # noqa: PLR0913 - the options of `gymsolve fork`
    ref: str,
    *,
    overrides: Overrides = (),
    runs_dir: Path | str | None = None,
    observer: Observer | None = None,
    command: Sequence[str] | None = None,
    profile: bool = False,
    trust: bool = False,
    group: str | None = None,
    began: float | None = None,
) -> Outcome:
    """Train a new run that begins in the state of `RUN[@CHECKPOINT]` and goes on with other settings.

    `RUN@0` begins at step 0 with the settings of the origin and nothing of its state; only then may
    environment, algorithm and network differ. `max_seconds` counts from the moment
    `began`, by default from now.
    """
    name, which = split_ref(ref)
    origin = find_run(name, runs_dir)
    config, changes = buildable_settings(origin, overrides, trust=trust)
    checkpoint = None if which == "0" else load_checkpoint(origin, which or "last").name
    given = {path: new for path, (_, new) in changes.items()}
    fork = Fork(origin, checkpoint, given, config.steps, "--set on fork", "fork", group)
    sinks = make_sinks(config.track)
    begun = _forked(fork, observer, command, trust=trust, began=began)
    with begun as (trainer, run, notes, afterwards, watcher):
        with ExitStack() as cleanup, tracking(run, sinks, watcher, trainer.clock) as tracked:
            cleanup.callback(leave_report, run, trainer, watcher)
            outcome = execute(trainer, run, tracked, notes, afterwards, profile=profile)
        log_unrecorded_time(run, trainer)
        return outcome


def fork_run(
    fork: Fork,
    *,
    observer: Observer | None = None,
    command: Sequence[str] | None = None,
    trust: bool = False,
    began: float | None = None,
) -> tuple[Run, Reason | None]:
    """Train a fork, as a run beside its origin, and say why it ended; None when it broke down.

    Numbers that overflow and environments that fail are findings here, and the run records them. A resumed
    fork goes on to the whole budget. An origin from elsewhere that names code of its own needs `trust`.
    """
    begun = _forked(fork, observer, command, trust=trust, began=began)
    with begun as (trainer, run, notes, afterwards, watcher):
        try:
            return run, execute(trainer, run, watcher, notes, afterwards).reason
        except (DivergenceError, EnvFaultError):
            return run, None


@contextmanager
def _forked(
    fork: Fork, observer: Observer | None, command: Sequence[str] | None, *, trust: bool, began: float | None
) -> Iterator[tuple[Trainer, Run, list[str], ExitStack, Observer]]:
    """A trainer in the state where the fork begins, its run, what to tell the user, and what ends it all.

    Last come all observers.
    """
    began = time.perf_counter() if began is None else began
    stored = fork.origin.config_json()
    config, changes = buildable_settings(fork.origin, fork.overrides, trust=trust)
    watcher = join_observers(config, observer)
    saved = None if fork.checkpoint is None else load_checkpoint(fork.origin, fork.checkpoint)
    with Watchdog(config.env), ExitStack() as afterwards, ExitStack() as cleanup:
        trainer = build_trainer(for_debugger(config))
        cleanup.callback(trainer.envs.close)
        trainer.limit_time(began)
        if saved is None:
            require_same_pipeline(trainer)
            notes = notes_at_start(trainer, watcher)
        else:
            notes = _take_over(trainer, saved, changes)
        if fork.kind == "fork":
            require_budget_left(fork.origin.id, trainer.taken, config.steps, changes)
        trainer.sitting.until = fork.until
        parent = {"run": fork.origin.id, "checkpoint": None if saved is None else saved.name}
        run = create_run(
            fork.origin.path.parent,
            name=fork.origin.info()["name"],
            config_json=config.model_dump(mode="json"),
            provenance=stored["provenance"] | dict.fromkeys(changes, fork.source),
            command=list(sys.argv if command is None else command),
            seed=config.seed,
            steps=config.steps,
            parent=parent | {"kind": fork.kind},
            group=fork.group,
        )
        replay_alerts(trainer, run)
        if saved is not None:
            notes += rearrange(trainer, run, changes)
            save(trainer, run, "fork")  # so that a resume goes back to here and not to step 0
        yield trainer, run, notes, afterwards, watcher


def _take_over(trainer: Trainer, saved: Checkpoint, changes: Mapping[str, Any]) -> list[str]:
    """Put a checkpoint's state into a trainer with other settings."""
    for path in changes:
        if path.startswith(LASTING) and path != "seed":
            raise UsageError(
                "a fork keeps its environment, algorithm and network.",
                where=path,
                hint="Fork at step 0 instead.",
            )
    notes = restore_trainer(trainer, saved, fresh_optimizer=False)
    # That proof, and an evaluation under way, are the parent's.
    trainer.counters.solved, trainer.counters.judging = False, None
    if "seed" in changes:
        trainer.reseed()
    return [*notes, *doubts_about(trainer, changes)]
