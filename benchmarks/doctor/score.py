"""What diagnoses are worth: was the fault noticed, was its cause named first, is health called ill."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.doctor.results import Result

__all__ = ["TARGETS", "Score", "is_healthy", "is_named", "is_noticed", "score"]

TARGETS = {"recall": 0.85, "root": 0.70, "false_alarms": 0.05}


@dataclass(frozen=True)
class Score:
    """Shares; None where there was nothing to judge."""

    faulty: int
    recall: float | None
    """Of faulty runs, those in which an alert fired that names the fault or is a known symptom of it."""
    root: float | None
    """Of faulty runs, those whose first root cause names the fault."""
    healthy: int
    false_alarms: float | None
    """Of healthy runs, those in which any warning or error fired, however short."""

    def met(self) -> bool:
        return (
            (self.recall or 0.0) >= TARGETS["recall"]
            and (self.root or 0.0) >= TARGETS["root"]
            and (1.0 if self.false_alarms is None else self.false_alarms) <= TARGETS["false_alarms"]
        )


def is_healthy(result: Result) -> bool:
    """No alert could name what is wrong, for nothing is."""
    return not result["names"]


def is_noticed(result: Result) -> bool:
    return bool(set(result["fired"]) & {*result["names"], *result["shows"]})


def is_named(result: Result) -> bool:
    return bool(result["roots"]) and result["roots"][0] in result["names"]


def score(results: Iterable[Result]) -> Score:
    runs = list(results)
    faulty = [one for one in runs if not is_healthy(one)]
    healthy = [one for one in runs if is_healthy(one)]
    return Score(
        faulty=len(faulty),
        recall=_share([is_noticed(one) for one in faulty]),
        root=_share([is_named(one) for one in faulty]),
        healthy=len(healthy),
        false_alarms=_share([bool(one["fired"]) for one in healthy]),
    )


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None
