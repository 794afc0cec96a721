"""Protocols for places where runs train, and for the jobs there: this machine (`local.py`), others later.

A job is one request that was submitted. A run appears in the runs folder only once its training begins, and
for a place elsewhere only once `sync` has copied some of its files.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gymsolve.errors import GymsolveError
from gymsolve.jobs.request import RunRequest
from gymsolve.runs.run import Run

Cursor = Mapping[str, int]
"""Bytes of each file of a run that are here."""


@dataclass(frozen=True)
class Begun:
    """A job whose run trains."""

    name: str
    """Id of the run, or `group:ID` where one job trains several seeds."""
    path: Path
    """Folder of the run, or the file of the group."""
    pid: int
    doubts: tuple[str, ...] = ()
    """Its settings that rarely work."""

    @property
    def run(self) -> Run:
        return Run(self.path)


@dataclass(frozen=True)
class Ended:
    """A job that is over; the run tells its own result."""

    begun: Begun | None
    """None if no run began."""
    error: GymsolveError | None = None
    """The reason why no run began."""


class Job(Protocol):
    """One request at a place."""

    @property
    def key(self) -> str:
        """The name of the job at its place."""

    @property
    def request(self) -> RunRequest: ...

    @property
    def group(self) -> str | None: ...

    def poll(self) -> Begun | Ended | None:
        """The state of the job; None while it starts. Later calls give the same state or a later one."""

    def stop(self) -> None:
        """Ask the run to end after its current update, as soon as it has begun; returns at once."""

    def kill(self) -> None:
        """End it now, and whatever it has started."""

    def sync(self, cursor: Cursor) -> Cursor:
        """Copy what is new since `cursor` into the runs folder."""

    def forget(self) -> None:
        """Delete the records of a job that has ended; `list` no longer has it."""


class Place(Protocol):
    """A place where runs can train."""

    def submit(self, request: RunRequest, *, group: str | None = None) -> Job:
        """Start a run in the background, as a member of a group if one is named."""

    def list(self) -> Sequence[Job]:
        """Jobs that were submitted here and not forgotten, also those of a process that is gone."""
