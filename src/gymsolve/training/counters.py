"""Counters: how far a run is, when the next cadences are due, and which checkpoint is best."""

import math
from dataclasses import asdict, dataclass, fields
from typing import Any

from gymsolve.parts import Part
from gymsolve.spec import Array


@dataclass
class Counters(Part):
    """How far the run is."""

    env_steps: int = 0
    """Steps of all environments, summed."""
    vec_steps: int = 0
    """Calls of `step`."""
    updates: int = 0
    seconds: float = 0.0
    """Spent training, over all sittings."""
    next_eval: int = 0
    """In the unit of the budget, as the next checkpoint is; records and measures go by environment steps."""
    next_checkpoint: int = 0
    next_record: int = 0
    next_measure: int = 0
    eval_round: int = 0
    last_eval: int | None = None
    """Step of the newest evaluation that is done."""
    judging: int | None = None
    """Step whose weights are being evaluated; a resume makes up for an evaluation that was cut short."""
    judging_round: int = 0
    """The round of that evaluation: it decides the fresh seeds."""
    best_step: int | None = None
    """Step of the best checkpoint: the truth, of which the file `best` is a copy for others to read."""
    best_return: float | None = None
    best_rate: float | None = None
    """Its share of successes, where that is what is evaluated."""
    best_solved: bool = False
    """The best checkpoint is one that proved the environment solved."""
    best_reached: int = 0
    """Tasks that reached their threshold in its evaluation, where there are several."""
    best_stage: int = 0
    """The stage of a curriculum in which it was evaluated; a later stage beats every earlier one."""
    best_in_stage: float | None = None
    """Its result in that stage."""
    solved: bool = False
    faults: int = 0
    """Processes of the environments that died or hung, and were started again."""
    cut_episodes: int = 0
    """Episodes that went with them."""
    eval_steps: int = 0
    """Environment steps that evaluations have played."""
    eval_faults: int = 0
    """The same of processes in evaluations, whose episodes are played again."""

    def state(self) -> dict[str, Any]:
        return asdict(self)

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        given = {counter.name: state[counter.name] for counter in fields(self) if counter.name in state}
        for name, value in given.items():
            if not _fits_counter(value, vars(self)[name]):
                raise ValueError(f"{name} is {ascii(value)[:40]}")
        vars(self).update(given)
        return []


def _fits_counter(value: Any, like: Any) -> bool:
    if isinstance(like, bool):
        return isinstance(value, bool)
    if like is None:  # a return, or a step that may not have come yet
        return value is None or type(value) in (int, float)
    return type(value) in (int, type(like)) and bool(0 <= value < math.inf)
