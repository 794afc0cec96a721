"""Remedies that were tried on a run, and what came of it, by the run's events."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gymsolve.answers import Answer

Verdict = Literal["helped", "hurt", "unclear"]
_VERDICTS: tuple[Verdict, ...] = ("helped", "hurt", "unclear")
_EARLIER = "an earlier version judged it, by fewer seeds than can show a difference"


@dataclass(frozen=True)
class TriedRemedy(Answer):
    """The newest trials of an alert's remedy."""

    alert: str
    verdict: Verdict
    certainty: str
    """How sure the verdict is, in words."""
    runs: tuple[str, ...]
    """The trials: runs with and without the remedy."""


def tried_remedies(events: Iterable[Mapping[str, Any]]) -> dict[str, TriedRemedy]:
    """By the alert's id. Verdicts of versions that claimed more than their seeds showed count as unclear."""
    tried: dict[str, TriedRemedy] = {}
    for event in events:
        alert, runs, certainty = event.get("alert"), event.get("children"), event.get("certainty")
        if event.get("kind") != "fix" or not isinstance(alert, str):
            continue
        verdict: Verdict = "unclear"
        if isinstance(certainty, str):
            verdict = next((word for word in _VERDICTS if word == event.get("verdict")), verdict)
        tried[alert] = TriedRemedy(
            alert,
            verdict,
            certainty if isinstance(certainty, str) else _EARLIER,
            tuple(map(str, runs)) if isinstance(runs, list) else (),
        )
    return tried
