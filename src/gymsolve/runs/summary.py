"""The summary of a run that lists show, read from its folder alone.

`run.json` holds what was true when it was last written; whether the run still runs, and how far it
has come, is looked up when asked.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from gymsolve.errors import RunDamagedError
from gymsolve.runs import process
from gymsolve.runs.files import read_json
from gymsolve.runs.records import last_record, read_records
from gymsolve.runs.schema import EVENT, INFO, find_fault, is_shallow

SCHEMA_VERSION = 1
Status = Literal["running", "finished", "solved", "stopped", "crashed", "damaged"]
"""`damaged` is never stored: it is a run whose `run.json` cannot be read."""
SILENT = "the process ended without a word"
"""The reason of a run whose process is gone, and left none."""
STATUSES: tuple[str, ...] = get_args(Status)


@dataclass(frozen=True)
class RunSummary:
    """One row of `gymsolve runs`, and one entry of `index.json`."""

    id: str
    name: str = ""
    env_id: str = ""
    variant: str = ""
    algo: str = ""
    status: Status = "damaged"
    created: str = ""
    updated: str = ""
    seed: int | None = None
    steps: int | None = None
    env_steps: int = 0
    result: dict[str, Any] | None = None
    reason: str | None = None
    parent: dict[str, Any] | None = None
    group: str | None = None
    """The id that the runs of one `train --seeds` share."""

    @property
    def is_trial(self) -> bool:
        """It tried something for another run, which it is listed with."""
        return (self.parent or {}).get("kind") == "trial"

    @property
    def is_solved(self) -> bool:
        """It is solved now, or its last verdict says so."""
        return self.status == "solved" or bool((self.result or {}).get("solved"))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def runs_folder(base: Path | str | None = None) -> Path:
    """Where runs live: the argument, else $GYMSOLVE_RUNS, else `runs` in the working directory."""
    return Path(base or os.environ.get("GYMSOLVE_RUNS") or "runs")


def holds_run(folder: Path) -> bool:
    """Is this the folder of a run, be it damaged? One without `run.json` was left by a start that never was.

    Nor is it one if its name could steer a terminal.
    """
    return folder.name.isprintable() and os.path.lexists(f"{folder}/run.json")


def is_event(row: Mapping[str, Any]) -> bool:
    """Is this a line of `events.jsonl`?"""
    return find_fault(row, EVENT) is None and is_shallow(row)


def read_info(folder: Path) -> dict[str, Any]:
    """`run.json` of a run, checked to be of a version this code understands, and field by field.

    Where only the end of the run is told wrongly, its events tell it.
    """
    path = folder / "run.json"
    info = read_json(path)
    version = info.get("schema_version")
    if type(version) is not int or version < 1:
        raise RunDamagedError("the file names no schema_version.", where=str(path))
    if version > SCHEMA_VERSION:
        raise RunDamagedError(
            f"the run was written by a newer gymsolve (schema {version}, this one reads {SCHEMA_VERSION}).",
            where=str(path),
            hint="Upgrade with: pip install -U gymsolve",
        )
    fault = find_fault(info, INFO)
    if fault is not None:
        info |= _told_by_events(folder)
        fault = find_fault(info, INFO)
    if fault is not None:
        raise RunDamagedError(f"the file {fault}.", where=str(path))
    return info


def _told_by_events(folder: Path) -> dict[str, Any]:
    """How a run ended; nothing where no event says so."""
    ends = [row for row in read_records(folder / "events.jsonl", is_event).rows if row["kind"] == "ended"]
    if not ends:
        return {}
    end = {key: ends[-1].get(key) for key in ("status", "reason", "env_steps")}
    return {**end, "updated": ends[-1]["time"], "result": None}


def summarize(folder: Path) -> RunSummary:
    """The state of a run as of now; damage shows as a status, so that one bad run hides no other."""
    try:
        info = read_info(folder)
        fields = {key: info[key] for key in RunSummary.__dataclass_fields__ if key not in ("id", "group")}
        fields |= {"parent": _parent(info), "group": info.get("group")}
        if info["status"] == "running":
            fields["env_steps"] = _reached(folder, info["env_steps"])
            if not process.is_alive(info, folder):
                fields |= {"status": "crashed", "reason": SILENT}
    except RunDamagedError as error:
        return RunSummary(id=folder.name, reason=str(error))
    return RunSummary(id=folder.name, **fields)


def _parent(info: dict[str, Any]) -> dict[str, Any] | None:
    """Where the run comes from; runs of earlier versions tell only by their command that they are trials."""
    parent: dict[str, Any] | None = info["parent"]
    if parent is not None and "kind" not in parent and info["command"][1:2] == ["fix"]:
        return parent | {"kind": "trial"}
    return parent


def _reached(folder: Path, stored: int) -> int:
    """Environment steps of the newest record, since `run.json` is not rewritten at every update."""
    record = last_record(folder / "metrics.jsonl") or {}
    steps = record.get("env_steps")
    return steps if type(steps) is int and 0 <= steps < 1 << 63 else stored
