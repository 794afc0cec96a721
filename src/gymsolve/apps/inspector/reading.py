"""Inspected episodes for a server: facts as JSON, rows and pictures as bytes of the files.

Only advantages and returns are computed here, by the functions of training, without torch.
"""

import json
import struct
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from gymsolve.apps.inspector.inspected_episode import InspectedEpisode
from gymsolve.errors import CheckpointError, UnknownRunError, UsageError
from gymsolve.runs.checkpoints import POLICY, read_meta, survey_checkpoints
from gymsolve.runs.files import to_json
from gymsolve.runs.index import list_runs
from gymsolve.runs.inspections import Inspection, list_inspections, open_inspection, run_among
from gymsolve.runs.run import Run
from gymsolve.spec import Array

_MOST_BYTES = 8 << 20
"""The most bytes of an answer, about."""
_MOST_PICTURES = 128
_MOST_RUNS = 500
_WIDE = ("memory", "obs/", "seen/", "planes/")
"""Wide fields: they are read a few rows at a time, the fields before them for a whole episode."""


def runs_to_inspect(runs_dir: Path | str | None) -> dict[str, Any]:
    """Runs of a folder, newest first."""
    runs = list_runs(runs_dir)[:_MOST_RUNS]
    rows = [{"run": run.id, "name": run.name, "env_id": run.env_id, "status": run.status} for run in runs]
    return {"runs": rows}


def inspectable(runs_dir: Path | str | None, run_id: str) -> dict[str, Any]:
    """The checkpoints of a run, and the episodes that were inspected."""
    run = run_among(runs_dir, run_id)
    checkpoints, damage = survey_checkpoints(run)
    summary = run.summary()
    stored = run.config_json()["config"]
    evaluation = stored.get("eval") if isinstance(stored.get("eval"), dict) else {}
    return _plain(
        {
            "run": run.id,
            "name": summary.name,
            "env_id": summary.env_id,
            "status": summary.status,
            "seed": summary.seed,
            "deterministic": evaluation.get("deterministic") is not False,
            "checkpoints": [saved | _policy_digest(run, saved["name"]) for saved in checkpoints],
            "tasks": _tasks(stored),
            "damage": damage,
            "episodes": [inspection.summary() for inspection in list_inspections(run)],
        }
    )


def _tasks(settings: Mapping[str, Any]) -> list[str]:
    """Names of the tasks of a run that has several."""
    env = settings.get("env")
    tasks = env.get("tasks") if isinstance(env, dict) else None
    return list(tasks) if isinstance(tasks, dict) else []


def _policy_digest(run: Run, name: str) -> dict[str, Any]:
    """The digest of a checkpoint's weights: a resumed run may save others under the same name."""
    with suppress(CheckpointError, UnknownRunError):  # removed by the trainer since the listing
        return {"policy_sha256": read_meta(run, name)["files"].get(POLICY, {}).get("sha256")}
    return {}


def episode_facts(runs_dir: Path | str | None, run_id: str, name: str) -> dict[str, Any]:
    """All facts of an episode, and sizes; `head` counts the bytes of a row before its wide fields."""
    stored = _find(runs_dir, run_id, name)
    counts = {"states": stored.states, "frames": stored.frames}
    sizes = {"row_bytes": stored.row_bytes, "head": _head(stored)}
    return _plain({"name": stored.name, **stored.facts, **counts, **sizes})


def episode_rows(
    runs_dir: Path | str | None, run_id: str, name: str, first: int, last: int, *, head: bool
) -> bytes:
    """Rows as they lie in the file, or the first bytes of each."""
    inspection = _find(runs_dir, run_id, name)
    size, width = inspection.row_bytes, _head(inspection)
    most = max(1, _MOST_BYTES // (width if head else size))
    data = inspection.read_rows(first, min(last, first + most))
    if not head:
        return data
    return b"".join(data[at : at + width] for at in range(0, len(data), size))


def episode_frames(runs_dir: Path | str | None, run_id: str, name: str, first: int, last: int) -> bytes:
    """Pictures of the camera: how many, the length of each, then one after another."""
    inspection = _find(runs_dir, run_id, name)
    return _pack(inspection.read_frames(first, min(last, first + _MOST_PICTURES)))


def episode_planes(runs_dir: Path | str | None, run_id: str, name: str, numbers: str) -> bytes:
    """Planes that the network saw, likewise; compressed as they lie in the file."""
    try:
        wanted = [int(number) for number in numbers.split(",")]
    except ValueError as error:
        raise UsageError("planes are asked for by numbers such as 3,4,5.") from error
    if not 0 < len(wanted) <= _MOST_PICTURES or min(wanted) < 0:
        raise UsageError(f"ask for 1 to {_MOST_PICTURES} planes at a time.")
    return _pack(_find(runs_dir, run_id, name).read_planes(wanted))


def episode_credit(
    runs_dir: Path | str | None, run_id: str, name: str, changes: Mapping[str, float | None]
) -> bytes:
    """Advantages and returns under some discount: the length of JSON, the JSON, columns of float32."""
    columns = _load(runs_dir, run_id, name).credit(**changes)
    named = json.dumps({"columns": list(columns), "rows": len(columns["reward"])}).encode()
    named += b" " * (-len(named) % 4)  # floats must be aligned
    packed: list[Array] = [np.ascontiguousarray(array, "<f4") for array in columns.values()]
    return struct.pack("<I", len(named)) + named + b"".join(array.tobytes() for array in packed)


def episode_csv(
    runs_dir: Path | str | None, run_id: str, name: str, changes: Mapping[str, float | None]
) -> str:
    """The table of an episode: what `rollout.csv` of a checkpoint has, and more."""
    return _load(runs_dir, run_id, name).to_csv(**changes)


def _load(runs_dir: Path | str | None, run_id: str, name: str) -> InspectedEpisode:
    return InspectedEpisode(_find(runs_dir, run_id, name))


def _find(runs_dir: Path | str | None, run_id: str, name: str) -> Inspection:
    return open_inspection(run_among(runs_dir, run_id), name)


def _head(inspection: Inspection) -> int:
    """Bytes of a row before its first wide field."""
    size = 0
    for field in inspection.fields:
        if field.name.startswith(_WIDE) and field.name not in ("memory_norm", "memory_change"):
            break
        size += field.bytes
    return size


def _pack(parts: list[bytes]) -> bytes:
    lengths = struct.pack(f"<{len(parts) + 1}I", len(parts), *map(len, parts))
    return lengths + b"".join(parts)


def _plain(data: dict[str, Any]) -> dict[str, Any]:
    """The data with null for NaN and infinity, which JSON does not have."""
    plain: dict[str, Any] = json.loads(to_json(data))
    return plain
