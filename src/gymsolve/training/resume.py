"""Resumes a run: finds its newest state, and repairs what a kill left between two writes.

The state in a checkpoint is the truth. Pointers, records and events are written before or after it, so a
process that dies in between leaves them ahead or behind; here they are brought back in step with the state.
"""

import shlex
from collections.abc import Callable, Collection, Container, Iterable
from contextlib import suppress
from typing import Any

from gymsolve.errors import CheckpointError, UnknownRunError, UsageError
from gymsolve.runs.checkpoints import discard_after, list_checkpoints, mark_best, pointed, read_meta
from gymsolve.runs.loading import Checkpoint, load_checkpoint
from gymsolve.runs.run import Run
from gymsolve.runs.stage_checkpoints import drop_stages_after
from gymsolve.settings.changes import JUDGED, LASTING, PLAYED
from gymsolve.training.evaluation.blind import is_blind
from gymsolve.training.observer import Observer
from gymsolve.training.records import next_multiple
from gymsolve.training.restore import restore_trainer
from gymsolve.training.stages import repair_stage_events
from gymsolve.training.startup import doubts_about, notes_at_start
from gymsolve.training.trainer import Trainer


def saved_state(run: Run, which: str | None) -> Checkpoint | None:
    """The checkpoint to go on from; None where the seed alone brings everything back."""
    if which is not None or list_checkpoints(run):
        return load_checkpoint(run, which or "last")
    if run.is_warm_start:
        info = run.info()
        raise UsageError(
            f"run {run.id} was ended before it had saved the weights it began with.",
            hint=f"Start it again with: {shlex.join(info['command'])}",
        )
    return None


def bring_back(
    trainer: Trainer,
    saved: Checkpoint | None,
    watcher: Observer,
    changes: Container[str],
    *,
    fresh_optimizer: bool,
) -> list[str]:
    """Restore a checkpoint, or look before step 0 as a start does; returns notes for the user."""
    if saved is None:
        begun = "no checkpoint had been written yet: training starts at step 0"
        return [begun, *notes_at_start(trainer, watcher)]
    notes = restore_trainer(trainer, saved, fresh_optimizer=fresh_optimizer)
    trainer.evaluation = saved.meta["eval"]
    return [*notes, *doubts_about(trainer, changes)]


def refuse_changes(changes: Iterable[str]) -> None:
    """Refuse to change settings that would make it another run."""
    for path in changes:
        if path.startswith(LASTING):
            raise UsageError(
                "a run keeps its environment, stages, algorithm, network and seed.",
                where=path,
                hint="Start a new run from its weights with: gymsolve train … --from RUN",
            )


def nothing_to_do(trainer: Trainer) -> str | None:
    """Why a resumed run ends at once, if it will."""
    counters, config = trainer.counters, trainer.config
    if counters.judging is not None:
        return None
    if counters.solved and config.eval.stop_when_solved:
        return "this run is solved already; to train on, add --set eval.stop_when_solved=false"
    if trainer.taken >= config.steps:
        return f"its budget of {config.steps} steps is spent; give a larger one with --steps"
    return None


def may_stay_ended(trainer: Trainer, run: Run, changes: Collection[str]) -> bool:
    """Can a run with nothing left to do be left as it ended, because the changes mean nothing to it?

    A solved run would get another budget that it does not use, and its report another share of it.
    """
    if run.status not in ("solved", "finished"):
        return False
    return not changes or (trainer.counters.solved and set(changes) <= {"steps", "max_seconds"})


def set_aside_later(trainer: Trainer, run: Run) -> dict[str, Any]:
    """Set aside what the run wrote beyond the restored state; returns what, for its event."""
    steps = trainer.counters.env_steps
    records = run.rewind(steps, unknown=_unknown_to(trainer))
    checkpoints = discard_after(run, steps)
    drop_stages_after(run, steps)
    return {"records_set_aside": records, "checkpoints_set_aside": checkpoints}


def _unknown_to(trainer: Trainer) -> Callable[[dict[str, Any]], bool]:
    """Tells records that a restored trainer knows nothing of, although they are not of later steps.

    Such are evaluations that ended after the checkpoint was written, and the record at its very step if the
    averages that it was made of are still waiting, and what the end measured beside its last evaluation. All
    of them come again.
    """
    counters, waiting = trainer.counters, bool(trainer.averager.latest)
    evaluated = -1 if counters.last_eval is None else counters.last_eval

    def unknown(record: dict[str, Any]) -> bool:
        step = record.get("env_steps", 0)
        if "eval/mean_reward" in record:
            return bool(step > evaluated)
        if is_blind(record):
            return True
        return waiting and bool(step == counters.env_steps)

    return unknown


def reconcile(trainer: Trainer, run: Run) -> list[str]:
    """Let `best` and the events say what the restored state says; returns notes for the user."""
    counters, notes = trainer.counters, []
    if counters.judging is not None:
        if str(counters.judging) in list_checkpoints(run):
            notes.append(f"the evaluation at step {counters.judging} was cut short and is made up for")
        else:
            counters.judging = None
    repair_stage_events(trainer, run)
    if counters.best_step is None and _is_best(trainer):
        counters.best_step = counters.env_steps
    if counters.best_step is not None:
        with suppress(CheckpointError, UnknownRunError):  # gone or damaged: then nothing is to be put right
            _point_to_best(trainer, run, str(counters.best_step))
    return notes


def _is_best(trainer: Trainer) -> bool:
    """Was the restored checkpoint saved as best by a version that did not store this?"""
    counters, evaluation = trainer.counters, trainer.evaluation
    if evaluation is None or counters.last_eval != counters.env_steps:
        return False
    return counters.best_return is not None and evaluation["eval/mean_reward"] == counters.best_return


def _point_to_best(trainer: Trainer, run: Run, name: str) -> None:
    metrics = read_meta(run, name)["eval"] or {}
    if pointed(run, "best") != name:
        mark_best(run, name)
    step = int(name)
    logged = {(event["kind"], event.get("env_steps")) for event in run.read_events().rows}
    if ("best", step) not in logged:
        run.append_event("best", env_steps=step, checkpoint=name, **metrics)
    if trainer.counters.best_solved and ("solved", step) not in logged:
        bar = {"threshold": trainer.threshold, "solved_by": trainer.config.solved_by}
        run.append_event("solved", env_steps=step, **bar, **metrics)


def rearrange(trainer: Trainer, run: Run, changes: Iterable[str]) -> list[str]:
    """Adapt cadences and verdicts to settings that have changed; returns notes for the user."""
    counters, config, notes = trainer.counters, trainer.config, list[str]()
    changed = tuple(path for path in changes if path != "track")  # trackers change nothing
    if "env.num_envs" in changed and trainer.learner.replay is not None:
        notes.append("the replay buffer starts empty: its steps are those of another number of copies")
    if changed:
        counters.next_eval = max(next_multiple(trainer.taken, config.eval_every), config.eval.warmup)
        counters.next_checkpoint = next_multiple(trainer.taken, config.checkpoint_every)
    if any(path.startswith(PLAYED) for path in changed):
        trainer.window.forget()
    other_bar = any(path.startswith(JUDGED) for path in changed)
    if not other_bar and pointed(run, "best") is not None:
        return notes
    had = counters.best_return
    counters.solved = counters.solved and not other_bar  # it must be proved again under the new settings
    counters.best_step, counters.best_solved = None, False
    counters.best_return, counters.best_rate, counters.best_reached = None, None, 0
    counters.best_stage, counters.best_in_stage = 0, None
    if other_bar and counters.last_eval == counters.env_steps:  # else the next evaluation comes anyway
        counters.eval_round += 1
        counters.judging, counters.judging_round = counters.env_steps, counters.eval_round
    if had is not None and other_bar:
        notes.append(
            f"what is evaluated has changed, so the best return so far ({had:.4g}) no longer compares"
        )
    return notes
