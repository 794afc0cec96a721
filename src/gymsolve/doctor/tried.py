"""Remedies that were tried on a run, with their verdicts, read from the run's events."""

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
    original: tuple[float | None, ...]
    changed: tuple[float | None, ...]
    """Returns of the trials without and with the remedy, in the order of their seeds."""
    start: str
    """The run and the checkpoint that a fork begins with to apply the remedy."""
    changes: dict[str, Any]
    """The settings of such a fork."""
    seeds_needed: int | None
    """Seeds that would show a gap like this one."""


def tried_remedies(run: str, events: Iterable[Mapping[str, Any]]) -> dict[str, TriedRemedy]:
    """By the alert's id. Verdicts of versions that claimed more than their seeds showed count as unclear."""
    tried: dict[str, TriedRemedy] = {}
    for event in events:
        alert, runs, certainty = event.get("alert"), event.get("children"), event.get("certainty")
        if event.get("kind") != "fix" or not isinstance(alert, str):
            continue
        verdict: Verdict = "unclear"
        if isinstance(certainty, str):
            verdict = next((word for word in _VERDICTS if word == event.get("verdict")), verdict)
        needed = event.get("seeds_needed")
        tried[alert] = TriedRemedy(
            alert=alert,
            verdict=verdict,
            certainty=certainty if isinstance(certainty, str) else _EARLIER,
            runs=tuple(map(str, runs)) if isinstance(runs, list) else (),
            original=_returns(event, "original"),
            changed=_returns(event, "changed"),
            start=f"{run}@{event.get('env_steps') or 0}",
            changes=_changes(event),
            seeds_needed=needed if isinstance(needed, int) else None,
        )
    return tried


def _returns(event: Mapping[str, Any], side: str) -> tuple[float | None, ...]:
    sides = event.get("returns")
    given = sides.get(side) if isinstance(sides, Mapping) else None
    numbers = given if isinstance(given, list) else []
    return tuple(float(number) if isinstance(number, int | float) else None for number in numbers)


def _changes(event: Mapping[str, Any]) -> dict[str, Any]:
    given = event.get("changes")
    changes = [change for change in given if isinstance(change, Mapping)] if isinstance(given, list) else []
    return {str(change["path"]): change.get("new") for change in changes if "path" in change}
