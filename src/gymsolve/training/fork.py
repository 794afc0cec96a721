"""Forks: a new run that begins in the exact state of another run's checkpoint, or like it at step 0.

Forks are trials of their origin: they are listed with it and never become `@last`.

`train --from` takes over weights alone; a fork takes over all that a resume would: optimizer, statistics,
random streams, episodes under way. A fork without changes and on the same seed repeats its parent.
"""

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from gymsolve.config import LASTING
from gymsolve.errors import DivergenceError, EnvFaultError, UsageError
from gymsolve.runs.loading import Checkpoint, load_checkpoint
from gymsolve.runs.run import Run, create_run
from gymsolve.runs.trust import buildable_settings
from gymsolve.training.checkpoint import save
from gymsolve.training.observer import Observer, checked
from gymsolve.training.publish import replay_alerts
from gymsolve.training.resuming import rearrange
from gymsolve.training.session import execute
from gymsolve.training.startup import for_debugger, notes_at_start, require_same_pipeline
from gymsolve.training.stopping import Reason
from gymsolve.training.trainer import Trainer, build_trainer, restore_trainer

__all__ = ["Fork", "fork_run"]


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
    """Who changed the settings, for their provenance."""


def fork_run(
    fork: Fork,
    *,
    observer: Observer | None = None,
    command: Sequence[str] | None = None,
    trust: bool = False,
) -> tuple[Run, Reason | None]:
    """Train a fork, as a run beside its origin, and say why it ended; None when it broke down.

    Numbers that overflow and environments that fail are findings here, and the run records them. A resumed
    fork goes on to the whole budget. An origin from elsewhere that names code of its own needs `trust`.
    """
    watcher, stored = checked(observer), fork.origin.config_json()
    config, changes = buildable_settings(fork.origin, fork.overrides, trust=trust)
    saved = None if fork.checkpoint is None else load_checkpoint(fork.origin, fork.checkpoint)
    with ExitStack() as afterwards, ExitStack() as cleanup:
        trainer = build_trainer(for_debugger(config))
        cleanup.callback(trainer.envs.close)
        if saved is None:
            require_same_pipeline(trainer)
            notes = notes_at_start(trainer, watcher)
        else:
            notes = _take_over(trainer, saved, changes)
        trainer.until = fork.until
        run = create_run(
            fork.origin.path.parent,
            name=fork.origin.info()["name"],
            config_json=config.model_dump(mode="json"),
            provenance=stored["provenance"] | dict.fromkeys(changes, fork.source),
            command=list(sys.argv if command is None else command),
            seed=config.seed,
            steps=config.steps,
            parent={
                "run": fork.origin.id,
                "checkpoint": None if saved is None else saved.name,
                "kind": "trial",
            },
        )
        replay_alerts(trainer, run)
        if saved is not None:
            notes += rearrange(trainer, run, changes)
            save(trainer, run, "fork")  # so that a resume goes back to here and not to step 0
        try:
            return run, execute(trainer, run, watcher, notes, afterwards).reason
        except (DivergenceError, EnvFaultError):
            return run, None


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
    return notes
