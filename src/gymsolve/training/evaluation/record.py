"""Records finished evaluations: metrics, events, and which checkpoint is best."""

from gymsolve.doctor.quality import quality_so_far
from gymsolve.runs.checkpoints import update_meta
from gymsolve.runs.run import Run
from gymsolve.training.checkpoint import keep_if_best
from gymsolve.training.evaluation.scheduler import EvalOutcome
from gymsolve.training.observer import Observer
from gymsolve.training.publish import log_event, publish
from gymsolve.training.trainer import Trainer


def record_evaluations(trainer: Trainer, run: Run, observer: Observer, outcomes: list[EvalOutcome]) -> None:
    """Record finished evaluations under the step that their weights come from."""
    for outcome in outcomes:
        verdict, counters = outcome.verdict, trainer.counters
        counters.seconds += outcome.seconds
        trainer.clock.add("eval", outcome.seconds)
        if trainer.sitting.time_limit is not None:
            trainer.sitting.time_limit.saw_evaluation(verdict.seconds)
        _log_faults(run, observer, outcome)
        counters.eval_steps += verdict.played_steps
        counters.eval_faults += len(verdict.faults)
        faults = {"eval/faults": counters.eval_faults} if counters.eval_faults else {}
        if counters.judging == outcome.where["env_steps"]:
            counters.judging = None  # also without a verdict: a resume would only fail again
        if verdict.void:
            publish(trainer, run, observer, outcome.where | faults)
            continue
        counters.last_eval = outcome.where["env_steps"]
        trainer.evaluation, trainer.unsaved_verdict = verdict.metrics, True
        counters.solved = counters.solved or verdict.solved
        record = outcome.where | verdict.metrics | faults
        record |= {"eval/seconds": outcome.seconds, "solved": float(verdict.solved)}
        record |= quality_so_far(
            trainer.alerts.history,
            record,
            threshold=trainer.return_threshold,
            budget=trainer.config.env_budget,
            success_needed=trainer.success_threshold,
        )
        publish(trainer, run, observer, record)
        if verdict.cut:
            log_event(run, observer, "note", counters.last_eval, verdict.cut)
        if outcome.checkpoint is not None:
            update_meta(run, outcome.checkpoint, eval=verdict.metrics)
        if keep_if_best(trainer, run, outcome):
            observer.event("best", dict(verdict.metrics))
        if verdict.solved:
            facts = {"threshold": trainer.threshold, "solved_by": trainer.config.solved_by, **verdict.metrics}
            run.append_event("solved", env_steps=outcome.where["env_steps"], **facts)
            observer.event("solved", facts)


def _log_faults(run: Run, observer: Observer, outcome: EvalOutcome) -> None:
    """Log the faults of an evaluation, and that it has no verdict if they left none."""
    steps = outcome.where["env_steps"]
    for fault in outcome.verdict.faults:
        log_event(run, observer, "env_fault", steps, f"{fault} (in an evaluation)")
    if outcome.verdict.void:
        text = (
            f"The evaluation at step {steps} gives no verdict: whatever played its episodes died, each time. "
            f"Look for the cause with: gymsolve eval {run.path}@last"
        )
        log_event(run, observer, "eval_failed", steps, text)
