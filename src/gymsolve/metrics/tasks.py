"""What the record of an evaluation says of each of several tasks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gymsolve.text import number, score

_EVAL = "task_eval/"


@dataclass(frozen=True)
class TaskVerdict:
    """How one task went."""

    name: str
    mean: float
    std: float | None
    success_rate: float | None
    threshold: float | None
    """Mean return, or share of successes, that counts as solved; None where none is known."""
    reached: bool

    def gap(self, *, by_success: bool) -> float:
        """How far it is above its threshold, in units of it; 0 where none is known."""
        if self.threshold is None:
            return 0.0
        judged = (self.success_rate or 0.0) if by_success else self.mean
        return (judged - self.threshold) / max(1.0, abs(self.threshold))

    def __str__(self) -> str:
        """`windy 181.2 ± 40.1 (200 needed)`."""
        rate = "" if self.success_rate is None else f", {self.success_rate:.0%} successes"
        if self.threshold is None:
            return f"{self.name} {score(self.mean, self.std)}{rate}"
        state = "reached" if self.reached else "needed"
        return f"{self.name} {score(self.mean, self.std)}{rate} ({number(self.threshold)} {state})"


def task_verdicts(record: Mapping[str, Any]) -> list[TaskVerdict]:
    """The tasks in the record of an evaluation, in their order; empty where there is one."""
    names = [key.removeprefix(_EVAL) for key in record if key.startswith(_EVAL)]
    return [
        TaskVerdict(
            name=name,
            mean=record[f"{_EVAL}{name}"],
            std=record.get(f"task_eval_std/{name}"),
            success_rate=record.get(f"task_eval_success/{name}"),
            threshold=record.get(f"task_threshold/{name}"),
            reached=record.get(f"task_reached/{name}") == 1.0,
        )
        for name in names
    ]


def worst_task(record: Mapping[str, Any], *, by_success: bool) -> str | None:
    """The task that is furthest below its threshold, the first of equals; None where there is one.

    `by_success` says whether thresholds are shares of successes (`solved_by`).
    """
    told = task_verdicts(record)
    return min(told, key=lambda one: one.gap(by_success=by_success)).name if told else None
