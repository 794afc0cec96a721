"""When the policy is evaluated.

With `eval.every` set, at its multiples. Without it, at every twentieth of the budget, and less often where
episodes are long: evaluation then plays at most a quarter as many steps as training. Steps are counted and
never seconds, so that the same seed gives the same run on any machine.
"""

import math

from gymsolve.training.evaluation.scheduler import EvalOutcome
from gymsolve.training.records import next_multiple
from gymsolve.training.trainer import Trainer

_ROUTINE = 4
"""Steps of training for each step of a routine evaluation."""
_PROOF = 1
"""Steps of training for each step of a whole evaluation with its attempts to prove *solved*. They are five to
ten times as long, and a policy near the threshold may fail many of them."""


def evaluation_due(trainer: Trainer) -> bool:
    """Is it time? Asked after every update."""
    counters, settings = trainer.counters, trainer.config.eval
    if trainer.taken < max(counters.next_eval, settings.warmup):
        return False
    if counters.last_eval is None and _is_bounded(trainer):
        earned_at = _earned_at(trainer)
        if trainer.taken < earned_at:
            # Episodes may become shorter meanwhile, so ask again after each cadence.
            counters.next_eval = min(earned_at, next_multiple(trainer.taken, trainer.config.eval_every))
            return False
    if settings.start_fraction is None or trainer.threshold is None or counters.eval_round:
        return True
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


def space_out(trainer: Trainer, outcome: EvalOutcome) -> None:
    """Put the next evaluation off until training has earned what this one took."""
    if _is_bounded(trainer):
        verdict, counters = outcome.verdict, trainer.counters
        wait = max(_ROUTINE * verdict.routine_steps, _PROOF * verdict.played_steps)
        begun = int(outcome.where[trainer.config.budget_in])
        counters.next_eval = max(counters.next_eval, begun + _in_budget(trainer, wait))


def _is_bounded(trainer: Trainer) -> bool:
    """May evaluations be put off? Not if the settings name a cadence, or if they run in another process."""
    settings = trainer.config.eval
    return not settings.every and not settings.asynchronous


def _earned_at(trainer: Trainer) -> int:
    """Steps of training that earn the first evaluation, whose episodes are expected to last as training's do.

    Where no episode ends and no time limit is known, nothing earns it but the end of the run.
    """
    settings = trainer.config.eval
    if settings.steps is not None:
        return _in_budget(trainer, _ROUTINE * settings.steps)
    length = trainer.window.mean_length or trainer.envs.spec.max_episode_steps
    if length is None:
        return trainer.taken + trainer.config.eval_every
    return _in_budget(trainer, _ROUTINE * settings.episodes * length)


def _in_budget(trainer: Trainer, env_steps: float) -> int:
    """Environment steps in the unit of the budget."""
    copies = trainer.envs.num_envs if trainer.config.budget_in == "vec_steps" else 1
    return math.ceil(env_steps / copies)
