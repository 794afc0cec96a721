"""Saving a trainer into its run, and proving that a best checkpoint stands on its own."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gymsolve.errors import CheckpointError
from gymsolve.experience.learner import Policy
from gymsolve.experience.table import rollout_csv
from gymsolve.runs.checkpoints import (
    POLICY,
    list_checkpoints,
    mark_best,
    part_folder,
    prune,
    save_checkpoint,
)
from gymsolve.runs.loading import load_policy_file
from gymsolve.runs.part_files import seal_part_files
from gymsolve.runs.run import Run
from gymsolve.runs.stage_checkpoints import mark_stage
from gymsolve.spec import Array, Obs
from gymsolve.training.health.nonfinite import require_finite_weights
from gymsolve.training.trainer import Trainer

if TYPE_CHECKING:
    from gymsolve.training.evaluation.scheduler import EvalOutcome

_CLOSE = 1e-4
"""Relative difference that rounding may make between a policy and its copy: some orders more than it does."""


def save(trainer: Trainer, run: Run, reason: str) -> Path:
    """Write the whole state, with the metrics of the evaluation that these weights got, if any."""
    with trainer.clock.timing("checkpoint"):
        path = _write(trainer, run, reason)
        trainer.saved_step, trainer.unsaved_verdict = trainer.counters.env_steps, False
        spare = {str(trainer.counters.judging), *_before_alerts(trainer, run)}
        for extension in trainer.extensions.values():
            spare |= set(map(str, extension.spare_checkpoints()))
        prune(run, trainer.config.checkpoint.keep, spare=spare)
    return path


def _write(trainer: Trainer, run: Run, reason: str) -> Path:
    counters = trainer.counters
    evaluated = counters.last_eval == counters.env_steps
    weights, moments = trainer.policy.arrays(), trainer.arrays()
    require_finite_weights(trainer, weights | moments)
    return save_checkpoint(
        run,
        counters.env_steps,
        policy=weights,
        policy_metadata=trainer.policy.metadata(),
        trainer_arrays=moments,
        trainer_state=trainer.state(),
        meta={
            "vec_steps": counters.vec_steps,
            "updates": counters.updates,
            "reason": reason,
            "eval": trainer.evaluation if evaluated else None,
            **_part_files(trainer, run),
        },
        extras=_last_rollout(trainer) | _extra_files(trainer),
    )


def _part_files(trainer: Trainer, run: Run) -> dict[str, Any]:
    """Let parts write files of their own; `part_files` of meta.json, where there are any."""
    folder = part_folder(run)
    needed = trainer.write_files(folder)
    return {"part_files": seal_part_files(folder, needed)} if needed else {}


def _before_alerts(trainer: Trainer, run: Run) -> set[str]:
    """The last checkpoint from before each alert that has a remedy: where `gymsolve fix` tries it."""
    steps = [int(name) for name in list_checkpoints(run)]
    onsets = [alert.onset for alert in trainer.alerts.alerts() if alert.changes]
    return {str(max(before)) for onset in onsets if (before := [step for step in steps if step < onset])}


def _extra_files(trainer: Trainer) -> dict[str, bytes]:
    """Files that extensions leave for people."""
    return {
        name: data
        for extension in trainer.extensions.values()
        for name, data in extension.extra_files().items()
    }


def _last_rollout(trainer: Trainer) -> dict[str, bytes]:
    """The rollout that the weights last learned from, as a table of up to 2000 rows."""
    credit = trainer.learner.newest  # given anew it would be another one: an update moves what measures it
    if credit is None or not trainer.collector.filled:
        return {}
    return {"rollout.csv": rollout_csv(trainer.collector.rollout, credit, most_rows=2000).encode()}


def keep_if_best(trainer: Trainer, run: Run, outcome: "EvalOutcome") -> bool:
    """Mark the evaluated weights as best if nothing so far beats them.

    Solved comes first, then the number of solved tasks, the share of successes where that decides, the mean
    return.

    Of a curriculum, the farthest stage first, and what was achieved in it. Of equals the latest is best. The
    checkpoint names itself as best before the pointer does; `reconcile` puts the pointer right should the
    process die in between.
    """
    verdict, counters = outcome.verdict, trainer.counters
    if not verdict.complete or math.isnan(verdict.mean):
        return False
    stage, in_stage = _in_stage(trainer, outcome)
    reached = (stage, verdict.solved, in_stage, verdict.reached, verdict.rate or 0.0, verdict.mean)
    if reached < _best_so_far(trainer, staged=trainer.stages is not None):
        return False
    counters.best_stage, counters.best_in_stage = stage, in_stage
    counters.best_solved, counters.best_step = verdict.solved, outcome.where["env_steps"]
    counters.best_rate, counters.best_return = verdict.rate, verdict.mean
    counters.best_reached = verdict.reached
    last = None if trainer.stages is None else trainer.stages.note_best(stage, counters.best_step)
    if outcome.checkpoint is None:
        path = save(trainer, run, "best")
        require_same_policy(trainer, path)
    else:  # the scheduler compared it while the live policy was still the same
        path = run.path / "checkpoints" / outcome.checkpoint
    mark_best(run, path.name)
    if last is not None:
        mark_stage(run, last, path.name)
    run.append_event("best", env_steps=outcome.where["env_steps"], checkpoint=path.name, **verdict.metrics)
    return True


def _in_stage(trainer: Trainer, outcome: "EvalOutcome") -> tuple[int, float]:
    """The stage that the evaluated weights were in, and what they achieved there; 0 without a curriculum."""
    if trainer.stages is None:
        return 0, 0.0
    stage = trainer.stages.stage_at(outcome.where["env_steps"])
    kind = "task_eval_success" if trainer.config.solved_by == "success_rate" else "task_eval"
    achieved = outcome.verdict.metrics.get(f"{kind}/{trainer.stages.stages[stage]}")
    return stage, -math.inf if achieved is None else achieved


def _best_so_far(trainer: Trainer, *, staged: bool) -> tuple[float, ...]:
    counters = trainer.counters
    least = -math.inf if counters.best_return is None else counters.best_return
    in_stage = counters.best_in_stage if staged else 0.0
    return (
        *(counters.best_stage, counters.best_solved, -math.inf if in_stage is None else in_stage),
        *(counters.best_reached, counters.best_rate or 0.0, least),
    )


def require_same_policy(trainer: Trainer, path: Path) -> None:
    """Rebuild the policy from its file alone; it must act, value and remember as the live one does now."""
    saved = trainer.engine.load_policy(*load_policy_file(path / POLICY), trainer.config)
    collector = trainer.collector
    now = collector.obs, collector.masks, collector.agent.memory
    if not _alike(_answers(trainer.policy, *now), _answers(saved, *now)):
        raise CheckpointError(
            "the saved policy does not act like the live one; this is a bug, please report it.",
            where=str(path),
        )


def _answers(policy: Policy, obs: Obs, masks: Array | None, memory: Array | None) -> list[Array]:
    """Likeliest actions first, then everything that a policy makes of observations."""
    chosen = policy.choose(obs, masks, memory)
    considered = policy.consider(obs, masks, chosen.actions, memory)
    after = [] if chosen.memory is None else [chosen.memory]
    return [chosen.actions, considered.params, considered.values, *after]


def _alike(live: list[Array], saved: list[Array]) -> bool:
    """Are actions equal, and all other numbers up to rounding?

    A number that is not finite must be so in both; training names such numbers later, with their owner.
    """
    pairs = zip(live[1:], saved[1:], strict=True)
    return np.array_equal(live[0], saved[0], equal_nan=True) and all(
        np.allclose(left, right, rtol=_CLOSE, atol=_CLOSE * _largest(left), equal_nan=True)
        for left, right in pairs
    )


def _largest(numbers: Array) -> float:
    """The largest finite number, by size."""
    return float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0))
