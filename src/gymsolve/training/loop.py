"""The training loop: collect, learn, record, evaluate, save; until there is a reason to stop.

Everything that happens in a run happens here, in this order, in plain sight. The loop checks the stop
conditions before it collects, and once more before it learns if an evaluation has ended meanwhile. It meets
a request to stop at the end of the iteration, so that a resume can continue its checkpoint exactly.
"""

import time

import numpy as np

from gymsolve.envs.determinism import BOUNDS_FIX, place_in_class
from gymsolve.errors import EnvFaultError
from gymsolve.experience.rollout import Rollout
from gymsolve.own_faults import blaming_own
from gymsolve.runs.run import Run
from gymsolve.training.checkpoint import save
from gymsolve.training.evaluation.cadence import evaluation_due, plan_next
from gymsolve.training.evaluation.record import record_evaluations
from gymsolve.training.evaluation.scheduler import EvalScheduler
from gymsolve.training.health.measure import after_update, before_update
from gymsolve.training.health.nonfinite import (
    blame,
    raise_as,
    require_finite_rollout,
    require_finite_update,
)
from gymsolve.training.observer import Observer
from gymsolve.training.own_metrics import require_known_metrics
from gymsolve.training.publish import log_event, write_record
from gymsolve.training.records import next_multiple
from gymsolve.training.stages import advance_stage, finish_stage
from gymsolve.training.stop import Reason, StopSignal, stop_reason
from gymsolve.training.time_limit import TimeIsUpError
from gymsolve.training.trainer import Trainer


def train_loop(
    trainer: Trainer, run: Run, scheduler: EvalScheduler, observer: Observer, signalled: StopSignal
) -> Reason:
    """Train until there is a reason to stop; returns that reason."""
    counters, config = trainer.counters, trainer.config
    trainer.clock.begin()
    while True:
        record_evaluations(trainer, run, observer, scheduler.finished())
        reason = stop_reason(trainer, run, signalled)
        if reason is not None:
            return reason

        began = time.perf_counter()
        trainer.undo = trainer.rollback_point()
        try:
            rollout = collect(trainer, observer)
        except TimeIsUpError:
            give_up_rollout(trainer, run, observer)
            return "time"
        collected = time.perf_counter()
        for fault in rollout.faults:
            log_event(run, observer, "env_fault", counters.env_steps, fault)
        record_evaluations(trainer, run, observer, scheduler.finished())
        if trainer.is_finally_solved:
            forget_rollout(trainer)
            return "solved"

        require_finite_rollout(trainer, rollout)
        with blaming_own(config.algo.name, "algo.name", "update"):
            metrics = learn(trainer, rollout)
        ended = time.perf_counter()
        require_finite_update(trainer, rollout, metrics)
        trainer.undo = None
        count(trainer, rollout, ended - began)
        metrics["time/collect_seconds"] = collected - began
        metrics["time/fps"] = rollout.env_steps / (ended - began)
        trainer.averager.add(metrics)
        _log_strays(trainer, run, observer)
        if counters.env_steps >= counters.next_record:
            write_record(trainer, run, observer)

        change = advance_stage(trainer, rollout)
        save_due = trainer.taken >= counters.next_checkpoint
        if save_due:
            counters.next_checkpoint = next_multiple(trainer.taken, config.checkpoint_every)
        # A stage is evaluated at its very end.
        evaluates = _begin_evaluation(trainer, run, scheduler, observer, stage_ended=change is not None)
        if change is not None:
            finish_stage(trainer, run, observer, change)
        if evaluates:
            record_evaluations(trainer, run, observer, scheduler.submit(trainer, run, observer))
        if save_due and trainer.saved_step != counters.env_steps:
            save(trainer, run, "cadence")


def _begin_evaluation(
    trainer: Trainer, run: Run, scheduler: EvalScheduler, observer: Observer, *, stage_ended: bool
) -> bool:
    """Is it time for an evaluation? Then checkpoints of this moment say so."""
    if not (evaluation_due(trainer) or stage_ended):
        return False
    record_evaluations(trainer, run, observer, scheduler.make_way(trainer, observer))
    if trainer.is_finally_solved:
        return False
    trainer.counters.eval_round += 1
    plan_next(trainer)
    scheduler.announce(trainer)
    return True


def collect(trainer: Trainer, observer: Observer) -> Rollout:
    """One rollout, with its rewards as extensions shape them."""
    began, limit = time.perf_counter(), trainer.sitting.time_limit
    on_step = observer.rollout_step if limit is None else limit.watching(observer.rollout_step)
    with blaming_own(trainer.config.algo.name, "algo.name", "prepare"):
        trainer.learner.prepare(trainer.progress)
    try:
        rollout = trainer.collector.collect(trainer.streams["policy"], on_step)
    except EnvFaultError as error:
        raise_as(blame(trainer, error), error)
    trainer.clock.add("env", rollout.env_seconds)
    trainer.clock.add("act", time.perf_counter() - began - rollout.env_seconds)
    if rollout.anew:
        trainer.begin(rollout.anew)
    if trainer.extensions:
        with trainer.clock.timing("update"):
            for extension in trainer.extensions.values():
                extension.shape(rollout, trainer.progress)
    return rollout


def forget_rollout(trainer: Trainer) -> None:
    """Nothing will be learned from the rollout under way: it counts nowhere."""
    assert trainer.undo is not None
    trainer.undo()
    trainer.undo = None


def give_up_rollout(trainer: Trainer, run: Run, observer: Observer) -> None:
    """The time is up in the middle of a rollout."""
    step, total = trainer.collector.begun, trainer.config.algo.num_steps
    forget_rollout(trainer)
    text = f"max_seconds is over in step {step} of {total} of a rollout: nothing is learned from it"
    log_event(run, observer, "note", trainer.counters.env_steps, text)


def learn(trainer: Trainer, rollout: Rollout) -> dict[str, float]:
    """Update the policy with a rollout, then the extensions; returns metrics by name."""
    began = time.perf_counter()
    before = before_update(trainer, rollout)
    looked = time.perf_counter()
    learner, progress, streams = trainer.learner, trainer.progress, trainer.streams
    extensions = trainer.extensions.values()
    with np.errstate(all="ignore"):  # `require_finite_update` finds overflows and explains them better
        if any(extension.replaces_update for extension in extensions):
            metrics: dict[str, float] = {}
            learner.newest = None  # there is no credit of this rollout
        else:
            metrics = learner.update(rollout, progress, streams["minibatch"])
            require_known_metrics(trainer.config, metrics)
        for extension in extensions:
            metrics |= extension.learn(rollout, progress, streams["bonus"])
    updated = time.perf_counter()
    metrics["time/update_seconds"] = updated - looked
    metrics |= after_update(trainer, rollout, before, metrics)
    measured = time.perf_counter()
    for extension in extensions:
        metrics |= extension.practise(progress, streams["bonus"])
    trainer.clock.add("update", updated - looked + time.perf_counter() - measured)
    trainer.clock.updates += 1
    trainer.clock.add("diagnose", looked - began + measured - updated)
    return metrics


def count(trainer: Trainer, rollout: Rollout, seconds: float) -> None:
    """Count a rollout that was learned from."""
    for extension in trainer.extensions.values():
        extension.commit(rollout)
    trainer.window.add(rollout.episodes)
    trainer.window.lose(rollout.cut_episodes)
    trainer.counters.env_steps += rollout.env_steps
    trainer.counters.vec_steps += rollout.vec_steps
    trainer.counters.updates += 1
    trainer.counters.seconds += seconds
    if trainer.sitting.time_limit is not None:
        trainer.sitting.time_limit.ended_iteration()
    trainer.counters.faults += len(rollout.faults)
    trainer.counters.cut_episodes += rollout.cut_episodes


def _log_strays(trainer: Trainer, run: Run, observer: Observer) -> None:
    """Log, once, the observations that have left their space since the start."""
    if trainer.probe.bounds is None or not trainer.probe.bounds.strays:
        return
    place = place_in_class(trainer.config.env, "step")
    for stray in trainer.probe.bounds.strays.values():
        log_event(run, observer, "note", trainer.counters.env_steps, f"{stray}; {BOUNDS_FIX}{place}")
    trainer.probe.bounds = None
