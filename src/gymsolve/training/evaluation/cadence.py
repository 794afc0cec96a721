"""When the policy is evaluated.

At multiples of `eval.every`, or of a twentieth of the budget. With a limit to their share of the time,
evaluations are put off until training has earned all of them so far and the next one; the one that ends a run
as solved comes on top. Steps are counted and never seconds, so that the same seed gives the same run on any
machine; `eval.cost` says what a step of evaluation costs in steps of training.
"""

import math

from gymsolve.metrics.training_returns import training_unit
from gymsolve.training.records import next_multiple
from gymsolve.training.trainer import Trainer


def evaluation_due(trainer: Trainer) -> bool:
    """Is it time? Asked after every update."""
    counters, settings = trainer.counters, trainer.config.eval
    if trainer.taken < max(counters.next_eval, settings.warmup):
        return False
    if _is_bounded(trainer):
        earned_at = _earned_at(trainer)
        if trainer.taken < earned_at:
            # Episodes may become shorter meanwhile, so ask again after each cadence.
            counters.next_eval = min(earned_at, next_multiple(trainer.taken, trainer.config.eval_every))
            return False
    if settings.start_fraction is None or trainer.threshold is None or counters.eval_round:
        return True
    if training_unit(trainer.config.env.model_dump(mode="json")):
        return True  # returns of parts of games say nothing of a threshold for whole ones
    # A fraction of a negative threshold lies below it: -100 at 0.8 starts at -125.
    bar = trainer.threshold
    bar = bar * settings.start_fraction if bar >= 0 else bar / settings.start_fraction
    reached = trainer.window.mean_return
    if trainer.config.solved_by == "success_rate":
        reached = trainer.window.metrics().get("rollout/success_rate")
    return reached is not None and reached >= bar


def plan_next(trainer: Trainer) -> None:
    """An evaluation begins; the next one comes a cadence later at the earliest."""
    trainer.counters.next_eval = next_multiple(trainer.taken, trainer.config.eval_every)


def _is_bounded(trainer: Trainer) -> bool:
    """May evaluations be put off? Not without a limit to their share, or if they run in another process."""
    settings = trainer.config.eval
    return settings.greatest_share is not None and not settings.asynchronous


def _earned_at(trainer: Trainer) -> int:
    """Training that earns the evaluations so far and the next one; its episodes may last as training's do.

    Where no episode ends and no time limit is known, nothing earns the first one but the end of the run.
    """
    settings, played = trainer.config.eval, trainer.counters.eval_steps
    if settings.steps is not None:
        return _training_for(trainer, played + settings.steps)
    length = trainer.window.mean_length or trainer.envs.spec.max_episode_steps
    if length is None:
        return trainer.taken + trainer.config.eval_every
    tasks = max(1, len(trainer.config.env.tasks))
    return _training_for(trainer, played + tasks * settings.episodes * length)


def _training_for(trainer: Trainer, evaluated: float) -> int:
    """Training that earns so many steps of evaluation in all, in the unit of the budget."""
    settings = trainer.config.eval
    share, copies = settings.greatest_share, 1
    assert share is not None
    if trainer.config.budget_in == "vec_steps":
        copies = trainer.envs.num_envs
    return math.ceil((1.0 - share) / share * settings.cost * evaluated / copies)
