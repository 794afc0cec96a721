"""Stable-Baselines3's `progress.csv` and `monitor.csv`."""

import csv
import itertools
import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from gymsolve.doctor.external_logs.episodes import LoggedEpisode, episode_records
from gymsolve.doctor.external_logs.names import convert
from gymsolve.doctor.external_logs.numbers import as_steps, tame
from gymsolve.errors import RunDamagedError, UsageError

_STEPS = "time/total_timesteps"
_BEYOND = ""
"""The key of cells beyond the last column."""
_MOST_HEAD = 1 << 16


def read_progress(path: Path) -> list[dict[str, Any]]:
    """Records of a `progress.csv`; rows of evaluation and of training come as they were dumped."""
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file, _as_csv(path):
        reader = csv.DictReader(file, restkey=_BEYOND)
        if reader.fieldnames is None or _STEPS not in reader.fieldnames:
            message = f"has no column {_STEPS}, so it is no progress.csv of Stable-Baselines3."
            raise RunDamagedError(message, where=str(path))
        return [record for row in reader if (record := _progress_record(row)) is not None]


@contextmanager
def _as_csv(path: Path) -> Iterator[None]:
    try:
        yield
    except csv.Error as error:  # a cell of more than 128 KiB
        raise RunDamagedError(f"cannot be read as CSV ({error}).", where=str(path)) from error


def _progress_record(row: dict[str, str | None]) -> dict[str, Any] | None:
    steps = as_steps(_number(row.get(_STEPS)))
    if steps is None:
        return None  # a torn last line
    record: dict[str, Any] = {"env_steps": steps}
    for name, text in row.items():
        value = None if name == _BEYOND else _number(text)
        ours = None if value is None else convert(name, value)
        if ours is not None:
            record[ours[0]] = ours[1]
    updates = as_steps(_number(row.get("train/n_updates")))
    if updates is not None:
        record["updates"] = updates
    return record


class _Monitor(NamedTuple):
    """One Monitor file."""

    episodes: list[tuple[float, float, int]]
    """Seconds since the file was begun, return and length."""
    env_id: str | None
    began: float
    """The time when the file was begun; 0 when unknown."""


def read_monitor(paths: Sequence[Path]) -> tuple[list[dict[str, Any]], str | None]:
    """Records of the Monitor files of one training, merged in order of time, and the environment's id."""
    parts = [_read_monitor(path) for path in paths]
    first = min((part.began for part in parts if part.episodes), default=0.0)
    _require_one(paths, parts)
    episodes = sorted(
        (seconds + part.began - first, total, length)
        for part in parts
        for seconds, total, length in part.episodes
    )
    steps = itertools.accumulate(length for _, _, length in episodes)
    logged = [
        LoggedEpisode(step, total, length, seconds)
        for step, (seconds, total, length) in zip(steps, episodes, strict=True)
    ]
    return episode_records(logged), next((part.env_id for part in parts if part.env_id), None)


def _require_one(paths: Sequence[Path], parts: Sequence[_Monitor]) -> None:
    """Refuse files of several trainings: other environments, or one begun when another had ended."""
    spans = sorted((part.began, part.began + max(part.episodes)[0]) for part in parts if part.episodes)
    apart = any(after[0] > before[1] for before, after in pairwise(spans))
    if apart or len({part.env_id for part in parts if part.env_id}) > 1:
        names = "".join(f"\n  {path}" for path in paths)
        raise UsageError(f"'{paths[0].parent}' holds {len(paths)} logs; name one of them:{names}")


def _read_monitor(path: Path) -> _Monitor:
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as file, _as_csv(path):
        head = file.readline(_MOST_HEAD)
        facts = _header(head)
        lines = file if head.startswith("#") else itertools.chain([head], file)
        reader = csv.DictReader(lines, restkey=_BEYOND)
        if reader.fieldnames is None or not {"r", "l", "t"} <= set(reader.fieldnames):
            raise RunDamagedError("has no columns r, l and t, so it is no Monitor file.", where=str(path))
        rows = [tuple(_number(row.get(key)) for key in ("t", "r", "l")) for row in reader]
    name, began = facts.get("env_id"), facts.get("t_start")
    return _Monitor(
        [
            (seconds, total, length)
            for seconds, total, steps in rows
            if seconds is not None and math.isfinite(seconds)
            if total is not None and (length := as_steps(steps))
        ],
        name if isinstance(name, str) else None,
        float(as_steps(began) or 0),
    )


def _header(head: str) -> dict[str, Any]:
    try:
        facts = json.loads(head.removeprefix("#"))
    except (ValueError, RecursionError):
        return {}
    return facts if isinstance(facts, dict) else {}


def _number(text: str | None) -> float | None:
    """A cell; None when it is empty or torn. NaN is a number here: it is a finding."""
    try:
        return tame(float(text)) if text else None
    except ValueError:
        return math.nan if text == "None" else None
