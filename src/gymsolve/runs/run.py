"""One run: a folder that training writes and everybody else reads.

The process that trains owns the folder from `create_run` or `claim` until `set_status`; others only
read, and ask it to stop with a file. Checkpoints are in `checkpoints.py`.
"""

import contextlib
import math
import os
import re
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gymsolve.errors import RunDamagedError, UnknownRunError, UsageError
from gymsolve.own_code import files_of
from gymsolve.runs import process
from gymsolve.runs.files import locked, os_errors, read_json, remove_leftovers, replace_json, replace_text
from gymsolve.runs.index import LOCK, record_run
from gymsolve.runs.records import (
    Records,
    append_record,
    append_text,
    iterate_records,
    read_records,
    read_thinned,
    split_records,
)
from gymsolve.runs.schema import CONFIG, find_fault, is_metrics
from gymsolve.runs.summary import (
    SCHEMA_VERSION,
    RunSummary,
    Status,
    holds_run,
    is_event,
    read_info,
    runs_folder,
    summarize,
)
from gymsolve.runs.trust import trust_run

RUN_ID = re.compile(r"\d{8}-\d{6}-[A-Za-z0-9._-]+-[0-9a-f]{4}")
"""The names that `create_run` gives folders: time, environment, variant, four digits."""
_MOST_RECORDS = 4000
"""Twice what a run writes (`training/records.py`)."""
_OUTSTANDING = (b'"eval/mean_reward"', b'"train/step_rms"')
"""Marks of records that are kept when a file is thinned: evaluations and costly measurements."""


@dataclass(frozen=True)
class Run:
    """A run on disk; nothing is cached."""

    path: Path

    @property
    def id(self) -> str:
        return self.path.name

    def info(self) -> dict[str, Any]:
        """`run.json` as it is stored; `summary()` also looks at the process."""
        return read_info(self.path)

    def summary(self) -> RunSummary:
        return summarize(self.path)

    @property
    def is_warm_start(self) -> bool:
        """It began with the weights of another run."""
        return (self.info().get("parent") or {}).get("checkpoint") is not None

    @property
    def status(self) -> Status:
        return self.summary().status

    @property
    def duration(self) -> float:
        """Seconds from the start to the last change of status, or to now while it runs."""
        summary = self.summary()
        if not summary.created:
            return 0.0
        end = datetime.now(UTC) if summary.status == "running" else _last_sign(self.path, summary)
        return max(0.0, (end - datetime.fromisoformat(summary.created)).total_seconds())

    def config_json(self) -> dict[str, Any]:
        """`config.json`: schema_version, name, config, provenance."""
        path = self.path / "config.json"
        stored = read_json(path)
        if (fault := find_fault(stored, CONFIG)) is not None:
            raise RunDamagedError(f"the file {fault}.", where=str(path))
        sources = {name: source or "unknown" for name, source in stored["provenance"].items()}
        return stored | {"provenance": sources}

    # ------------------------------------------------------------------ written while training

    def append_metrics(self, record: dict[str, Any]) -> None:
        """Add one record; it carries `env_steps` and `vec_steps`."""
        append_record(self.path / "metrics.jsonl", record)

    def append_event(self, kind: str, **data: Any) -> None:
        append_record(self.path / "events.jsonl", {"time": now(), "kind": kind, **data})

    def log(self, text: str) -> None:
        append_text(self.path / "log.txt", text)

    def set_status(
        self,
        status: Status,
        *,
        reason: str | None = None,
        result: dict[str, Any] | None = None,
        env_steps: int | None = None,
    ) -> None:
        """Store the status; `result` and `env_steps` stay as they are when not given."""
        info = self.info() | {"status": status, "reason": reason, "updated": now()}
        info["env_steps"] = self.summary().env_steps if env_steps is None else env_steps
        if result is not None:
            info["result"] = result
        replace_json(self.path / "run.json", info)
        try:
            with locked(self.path.parent / LOCK):
                record_run(self.path)
        except RunDamagedError as error:  # the index is a copy: training does not fail over it
            self.log(f"index.json was not updated: {error}")

    # ------------------------------------------------------------------------ read by everybody

    def read_metrics(self) -> Records:
        """All records, with NaN for null; longer files of earlier versions are thinned, with a problem."""
        records = self.read_metrics_raw()
        for row in records.rows:
            _restore_nan(row)
        return records

    def read_metrics_raw(self) -> Records:
        """The records of `read_metrics` with null instead of NaN."""
        return read_thinned(self.path / "metrics.jsonl", _MOST_RECORDS, _OUTSTANDING, is_metrics)

    def iterate_metrics(self) -> Iterator[dict[str, Any]]:
        """Every record, one at a time."""
        for row in iterate_records(self.path / "metrics.jsonl", is_metrics):
            _restore_nan(row)
            yield row

    def read_events(self) -> Records:
        return read_records(self.path / "events.jsonl", is_event)

    # ------------------------------------------------------------------------- stop and resume

    def request_stop(self) -> None:
        """Ask the training process to stop; it looks for the request between updates."""
        status = self.status
        if status != "running":
            raise UsageError(f"run {self.id} is not running (it is {status}), so it cannot be stopped.")
        replace_text(self.path / "stop", now() + "\n")

    def stop_requested(self) -> bool:
        return (self.path / "stop").exists()

    def clear_stop(self) -> None:
        with os_errors(self.path / "stop"):
            (self.path / "stop").unlink(missing_ok=True)

    def claim(self, *, command: Sequence[str], force: bool = False, as_trial: bool = False) -> None:
        """Make this process the one that trains an existing run, or refuse while another does.

        A trial that its user resumes is one no longer; the command that it is of resumes it `as_trial`.
        """
        with locked(self.path.parent / LOCK):
            summary = self.summary()
            info = self.info()
            if summary.status == "running" and not force:
                raise _under_way(self.id, info)
            remove_leftovers(self.path)
            self.clear_stop()
            info |= {"status": "running", "reason": None, "updated": now(), "resumed_with": list(command)}
            files = (info.get("code") or {}) | files_of(self.config_json()["config"])
            info |= {"code": files} if files else {}
            info |= {"env_steps": summary.env_steps, "versions": process.versions(), **process.identity()}
            if summary.is_trial and summary.parent is not None and not as_trial:
                info["parent"] = summary.parent | {"kind": "fork"}
            replace_json(self.path / "run.json", info)
            record_run(self.path, last=not as_trial)

    def change_config(self, config_json: dict[str, Any], provenance: dict[str, Any]) -> None:
        """Store other settings, for the process that claimed the run; an event keeps the old ones."""
        stored = self.config_json()
        self.append_event("config_changed", previous=stored["config"])
        trust_run(self.id, config_json)
        replace_json(self.path / "config.json", {**stored, "config": config_json, "provenance": provenance})
        replace_json(self.path / "run.json", self.info() | {"steps": config_json["steps"]})

    def rewind(
        self, env_steps: int, *, unknown: Callable[[dict[str, Any]], bool] = lambda record: False
    ) -> int:
        """Move records beyond a checkpoint to `metrics.discarded.jsonl` before a resume; returns how many.

        They are records of later steps, and earlier ones that are `unknown` to the checkpoint. Events stay.
        """

        def is_beyond(record: dict[str, Any]) -> bool:
            return record.get("env_steps", 0) > env_steps or unknown(record)

        return split_records(self.path / "metrics.jsonl", self.path / "metrics.discarded.jsonl", is_beyond)


def _under_way(run: str, info: dict[str, Any]) -> UsageError:
    if process.is_here(info):
        message = f"run {run} is being trained by process {info['pid']} on this machine."
        return UsageError(message, hint=f"Stop it first with: gymsolve stop {run}")
    return UsageError(
        f"run {run} is being trained on another machine, {info['host']!r}, or was copied while it was.",
        hint=f"Stop it there; gymsolve stop {run} reaches it only where both machines share this folder.",
    )


def create_run(  # noqa: PLR0913 - the facts of a run
    base: Path | str | None,
    *,
    name: str,
    config_json: dict[str, Any],
    provenance: dict[str, Any],
    command: Sequence[str],
    seed: int,
    steps: int,
    parent: dict[str, Any] | None = None,
    group: str | None = None,
) -> Run:
    """Make the folder of a new run that this process trains, and enter it in the index.

    `name` is ENV:VARIANT; `parent` is {"run": id, "checkpoint": name} when it starts from another. With
    "kind": "trial" in it, `@last` stays where it is. Runs of one `group` differ in their seed alone.
    """
    folder = runs_folder(base).absolute()
    env_id, algo = config_json["env"]["id"], config_json["algo"]["name"]
    label, _, variant = name.rpartition(":")
    if not label or name == env_id:  # a derived recipe has no variant; `module:Env-v0` is one id
        label, variant = name, algo
    about = {"name": name, "env_id": env_id, "variant": variant, "algo": algo}
    plan = {"command": list(command), "parent": parent, "group": group, "seed": seed, "steps": steps}
    machine = {**process.identity(), "versions": process.versions(), "git": process.git_commit()}
    machine |= {"code": files} if (files := files_of(config_json)) else {}
    state = {"status": "running", "env_steps": 0, "result": None, "reason": None}
    config = {"name": name, "config": config_json, "provenance": provenance}
    with os_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with locked(folder / LOCK):
        path = _new_folder(folder, f"{slug(label)}-{slug(variant)}")
        head = {"schema_version": SCHEMA_VERSION, "id": path.name}
        times = dict.fromkeys(("created", "updated"), now())
        try:
            replace_json(path / "config.json", {"schema_version": SCHEMA_VERSION, **config})
            # Last, because from here on the folder is a run.
            replace_json(path / "run.json", head | about | state | times | plan | machine)
            record_run(path, last=(parent or {}).get("kind") != "trial")
        except RunDamagedError:
            shutil.rmtree(path, ignore_errors=True)
            raise
    trust_run(path.name, config_json)
    return Run(path)


def open_run(path: Path | str) -> Run:
    """The run in a folder; `refs.find_run` also takes ids, prefixes and `@last`."""
    folder = Path(path).absolute()
    if not holds_run(folder):
        raise UnknownRunError(f"'{path}' is not the folder of a run (it has no run.json).")
    run = Run(folder)
    run.info()  # refuse a damaged or newer one here rather than at the first use
    return run


def now() -> str:
    """This moment in UTC, in a form that sorts as text."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def slug(text: str) -> str:
    """A name as part of a folder name; `@` and `:` have meanings in references to runs."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-.")


def _new_folder(base: Path, label: str) -> Path:
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    while True:
        path = base / f"{stamp}-{label}-{os.urandom(2).hex()}"
        with os_errors(path), contextlib.suppress(FileExistsError):
            path.mkdir()
            (path / "checkpoints").mkdir()
            return path


def _restore_nan(row: dict[str, Any]) -> None:
    row.update({key: math.nan for key, value in row.items() if value is None})


def _last_sign(folder: Path, summary: RunSummary) -> datetime:
    """The end of a run: its last change of status, or its last metrics if the process just died."""
    updated = datetime.fromisoformat(summary.updated)
    metrics = folder / "metrics.jsonl"
    if summary.status != "crashed" or not metrics.exists():
        return updated
    return max(updated, datetime.fromtimestamp(metrics.stat().st_mtime, UTC))
