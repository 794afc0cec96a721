"""Results of single tasks in the record of an evaluation."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gymsolve.text import number, score

_EVAL = "task_eval/"


@dataclass(frozen=True)
class TaskVerdict:
    """The result of one task."""

    name: str
    mean: float
    std: float | None
    success_rate: float | None
    threshold: float | None
    """The mean return, or share of successes, that counts as solved; None where none is known."""
    reached: bool

    def gap(self, *, by_success: bool) -> float:
        """The distance above its threshold, in units of the threshold; 0 where none is known."""
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
    """The results of several tasks in the record of an evaluation, in order; empty for a single task."""
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
    """The task that is furthest below its threshold, the first of equals; None for a single task.

    With `by_success`, thresholds are shares of successes (`solved_by`).
    """
    verdicts = task_verdicts(record)
    return min(verdicts, key=lambda task: task.gap(by_success=by_success)).name if verdicts else None
