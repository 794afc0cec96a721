"""The interface of trackers, the facts they get of a run, and a function that makes them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from gymsolve.errors import MissingExtraError
from gymsolve.metrics.action_shares import Histogram, action_histograms
from gymsolve.metrics.tables.learning import DECADES
from gymsolve.metrics.wording import event_evidence
from gymsolve.registry import TRACKERS, lookup


@dataclass(frozen=True)
class RunFacts:
    """Facts about the run that is tracked."""

    id: str
    path: Path
    name: str
    """`ENV:VARIANT`."""
    env_id: str
    variant: str
    algo: str
    seed: int
    begins: int
    """The step at which this sitting begins; 0 unless the run is resumed."""
    lines: int
    """The number of records and events of earlier sittings, never fewer than a tracker has logged."""
    axis: str = "env_steps"
    """The x-axis of charts: `env_steps` or `vec_steps`; every record has both."""
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Bounds of entropy, actions and observations, by metric."""

    @property
    def label(self) -> str:
        """The run's name in trackers."""
        return f"{self.variant}-{self.id}"


class Sink(Protocol):
    """A tracker. Any method may raise: the caller reports it and goes on without the tracker."""

    def open(self, facts: RunFacts, config: Mapping[str, Any]) -> str | None:
        """Training has started or resumed; returns a sentence for the user, such as an address."""

    def record(self, record: Mapping[str, Any]) -> None:
        """A record that was appended to `metrics.jsonl`, with NaN where the file has null."""

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        """An event that observers get: `alert`, `solved`, `best`, `note` …"""

    def video(self, path: Path, steps: int) -> None:
        """A finished mp4, and the training steps of its policy, in units of the axis."""

    def close(self, status: str, result: Mapping[str, Any]) -> None:
        """The run is over, however it ended; all data must be written when this returns."""


def make_sinks(names: Iterable[str]) -> dict[str, Sink]:
    """Trackers by name, not opened yet; a missing package is an error."""
    for name in names:
        # A folder `./wandb`, as trackers leave behind, looks like a package without a file of its own.
        package = None if name == "csv" else find_spec(name)
        if name != "csv" and (package is None or package.origin is None):
            raise MissingExtraError.of(name, name)
    return {name: lookup(TRACKERS, name, "track")() for name in names}


def histograms(record: Mapping[str, Any]) -> dict[str, Histogram]:
    """Histograms of actions and gradients in a record, by name."""
    gradients = {f"{part}_histogram": bars for part, bars in gradient_histograms(record).items()}
    return action_histograms(record) | gradients


def gradient_histograms(record: Mapping[str, Any]) -> dict[str, Histogram]:
    """Shares and edges (as log10 of the size) of each part's gradient; empty when none was measured."""
    parts = [name.removesuffix("_zero") for name in record if name.endswith("_zero")]
    edges = [float(power) for power in (*DECADES, DECADES[-1] + 1)]
    return {
        part: ([float(record[f"{part}_1e{power}"]) for power in DECADES], edges)
        for part in parts
        if part.startswith("gradient/")
    }


def alert_text(data: Mapping[str, Any]) -> str:
    """An alert in words: its evidence, its cause and the changes to try."""
    text = f"{event_evidence(data)}. {data['cause']}"
    changes = [change["advice"] or f"{change['path']}={change['new']}" for change in data["changes"]]
    return f"{text} Try: {'; '.join(changes)}" if changes else text
