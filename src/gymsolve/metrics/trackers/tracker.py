"""What a tracker is told of a run, and when; which trackers there are."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from gymsolve.errors import MissingExtraError
from gymsolve.metrics.tables.learning import DECADES
from gymsolve.metrics.wording import event_evidence
from gymsolve.registry import TRACKERS, lookup


@dataclass(frozen=True)
class RunFacts:
    """Which run it is."""

    id: str
    path: Path
    name: str
    """`ENV:VARIANT`."""
    env_id: str
    variant: str
    algo: str
    seed: int
    begins: int
    """Where on the axis this sitting begins; 0 unless it is resumed."""
    lines: int
    """Records and events of earlier sittings: never fewer than any tracker was told of."""
    axis: str = "env_steps"
    """What charts count: `env_steps` or `vec_steps`, both of which every record has."""
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """What entropy, actions and observations cannot leave, by metric."""

    @property
    def label(self) -> str:
        """What trackers show as the run's name."""
        return f"{self.variant}-{self.id}"


class Sink(Protocol):
    """A tracker. Any method may raise: the caller reports it and goes on without the tracker."""

    def open(self, facts: RunFacts, config: Mapping[str, Any]) -> str | None:
        """Training has started, or goes on; a sentence for the user, such as where to look."""

    def record(self, record: Mapping[str, Any]) -> None:
        """What `metrics.jsonl` has just been given, with NaN where it has null."""

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        """What observers are told: `alert`, `solved`, `best`, `note` …"""

    def video(self, path: Path, steps: int) -> None:
        """A finished mp4, and the steps of training behind the policy in it, as the axis counts them."""

    def close(self, status: str, result: Mapping[str, Any]) -> None:
        """The run is over, however it ended; everything must be out when this returns."""


def make_sinks(names: Iterable[str]) -> dict[str, Sink]:
    """Trackers by name, nothing of them begun; a missing package is refused here."""
    for name in names:
        # A folder `./wandb`, as trackers leave behind, looks like a package without a file of its own.
        found = None if name == "csv" else find_spec(name)
        if name != "csv" and (found is None or found.origin is None):
            raise MissingExtraError.of(name, name)
    return {name: lookup(TRACKERS, name, "track")() for name in names}


def gradient_histograms(record: Mapping[str, Any]) -> dict[str, tuple[list[float], list[float]]]:
    """Shares and edges (as log10 of the size) of each part's gradient; empty when none was measured."""
    parts = [name.removesuffix("_zero") for name in record if name.endswith("_zero")]
    edges = [float(power) for power in (*DECADES, DECADES[-1] + 1)]
    return {
        part: ([float(record[f"{part}_1e{power}"]) for power in DECADES], edges)
        for part in parts
        if part.startswith("gradient/")
    }


def alert_text(data: Mapping[str, Any]) -> str:
    """An alert in words: its evidence, what is behind it and what to change."""
    said = f"{event_evidence(data)}. {data['cause']}"
    changes = [change["advice"] or f"{change['path']}={change['new']}" for change in data["changes"]]
    return f"{said} Try: {'; '.join(changes)}" if changes else said
