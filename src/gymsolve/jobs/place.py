"""Protocols for places where runs train, and for the jobs there: this machine (`local.py`), others later.

A job is one request that was submitted. A run appears in the runs folder only once its training begins, and
for a place elsewhere only once `sync` has brought something of it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gymsolve.errors import GymsolveError
from gymsolve.jobs.request import RunRequest
from gymsolve.runs.run import Run

Cursor = Mapping[str, int]
"""How many bytes of each file of a run are here."""


@dataclass(frozen=True)
class Begun:
    """A job whose run trains."""

    name: str
    """Id of the run, or `group:ID` where one job trains several seeds."""
    path: Path
    """Folder of the run, or the file of the group."""
    pid: int

    @property
    def run(self) -> Run:
        return Run(self.path)


@dataclass(frozen=True)
class Ended:
    """A job that is over; what became of its run stands in the run."""

    begun: Begun | None
    """None if no run began."""
    error: GymsolveError | None = None
    """Why no run began."""


class Job(Protocol):
    """One request at a place."""

    @property
    def key(self) -> str:
        """Names the job at its place."""

    @property
    def request(self) -> RunRequest: ...

    @property
    def group(self) -> str | None: ...

    def poll(self) -> Begun | Ended | None:
        """How it stands now; None while it starts. Asking again gives the same answer or a later one."""

    def stop(self) -> None:
        """Ask the run to end after its update under way, as soon as it has begun; returns at once."""

    def kill(self) -> None:
        """End it now, and whatever it has started."""

    def sync(self, cursor: Cursor) -> Cursor:
        """Bring what is new since `cursor` into the runs folder."""

    def forget(self) -> None:
        """Drop what the place keeps of a job that has ended; `list` no longer names it."""


class Place(Protocol):
    """Somewhere runs can train."""

    def submit(self, request: RunRequest, *, group: str | None = None) -> Job:
        """Start it in the background, as one of a group if one is named."""

    def list(self) -> Sequence[Job]:
        """Jobs that were submitted here and not forgotten, also by a process that is gone."""
