"""The summary of a run that lists show, read from its folder alone.

`run.json` holds the state as of its last change; whether the run still runs, and its steps, are looked up.
"""

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from gymsolve.errors import RunDamagedError
from gymsolve.runs import process
from gymsolve.runs.files import adrift, is_adrift, read_json
from gymsolve.runs.labels import read_labels
from gymsolve.runs.records import last_record, read_records
from gymsolve.runs.schema import EVENT, EVENTS, INFO, find_fault, is_shallow

SCHEMA_VERSION = 1
Status = Literal["running", "finished", "solved", "stopped", "crashed", "damaged"]
"""`damaged` is never stored: it is a run whose `run.json` cannot be read."""
SILENT = "the process ended without a word"
"""The reason of a run whose process is gone without a reason."""
STATUSES: tuple[str, ...] = get_args(Status)
_ELSEWHERE = ("id", "group", "label", "tags")
"""Fields of a summary that `run.json` does not have, or not always."""


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
    label: str = ""
    """The name that a person gave it; it is found by this as by its id."""
    tags: list[str] = field(default_factory=list)

    @property
    def is_trial(self) -> bool:
        """The run is a trial of a remedy for another run."""
        return (self.parent or {}).get("kind") == "trial"

    @property
    def is_solved(self) -> bool:
        """It is solved now, or its last verdict says so."""
        return self.status == "solved" or bool((self.result or {}).get("solved"))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def runs_folder(base: Path | str | None = None) -> Path:
    """The folder of the runs: the argument, else $GYMSOLVE_RUNS, else `runs` in the working directory."""
    folder = Path(base or os.environ.get("GYMSOLVE_RUNS") or "runs")
    if is_adrift(folder):  # no run would be found, which is not the same as that there is none
        raise adrift()
    return folder


def holds_run(folder: Path) -> bool:
    """The folder holds a run, which may be damaged: it has a `run.json` and a printable name."""
    return folder.name.isprintable() and os.path.lexists(f"{folder}/run.json")


def is_event(row: Mapping[str, Any]) -> bool:
    """The row is a valid line of `events.jsonl`."""
    if find_fault(row, EVENT) is not None or not is_shallow(row):
        return False
    return find_fault(row, EVENTS.get(row["kind"], {})) is None


def read_info(folder: Path) -> dict[str, Any]:
    """`run.json` of a run, with its version and every field checked.

    Where only fields about the end of the run are wrong, they are taken from its events.
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
        info |= _end_in_events(folder)
        fault = find_fault(info, INFO)
    if fault is not None:
        raise RunDamagedError(f"the file {fault}.", where=str(path))
    return {"command": [], "versions": {}, **info}


def _end_in_events(folder: Path) -> dict[str, Any]:
    """Fields about the end of a run, from its newest `ended` event; none without one."""
    ends = [row for row in read_records(folder / "events.jsonl", is_event).rows if row["kind"] == "ended"]
    if not ends:
        return {}
    fields = {key: ends[-1].get(key) for key in ("status", "reason", "env_steps")}
    return {**fields, "updated": ends[-1]["time"], "result": None}


def summarize(folder: Path) -> RunSummary:
    """The state of a run as of now; damage is a status, so that a bad run does not hide others."""
    named = read_labels(folder)
    label, tags = named.label, list(named.tags)
    try:
        info = read_info(folder)
        fields = {key: info[key] for key in RunSummary.__dataclass_fields__ if key not in _ELSEWHERE}
        fields |= {"parent": _parent(info), "group": info.get("group"), "label": label, "tags": tags}
        if info["status"] == "running":
            fields["env_steps"] = _reached(folder, info["env_steps"])
            if not process.is_alive(info, folder):
                fields |= {"status": "crashed", "reason": SILENT}
    except RunDamagedError as error:
        return RunSummary(id=folder.name, reason=str(error), label=label, tags=tags)
    return RunSummary(id=folder.name, **fields)


def _parent(info: dict[str, Any]) -> dict[str, Any] | None:
    """The parent of a run; in earlier versions, only the command shows that a run is a trial."""
    parent: dict[str, Any] | None = info["parent"]
    if parent is not None and "kind" not in parent and info["command"][1:2] == ["fix"]:
        return parent | {"kind": "trial"}
    return parent


def _reached(folder: Path, stored: int) -> int:
    """Environment steps of the newest record, since `run.json` is not rewritten at every update."""
    record = last_record(folder / "metrics.jsonl") or {}
    steps = record.get("env_steps")
    return steps if type(steps) is int and 0 <= steps < 1 << 63 else stored
