"""Stable-Baselines3's `progress.csv` and `monitor.csv`."""

import csv
import itertools
import json
import math
from pathlib import Path
from typing import Any

from gymsolve.errors import RunDamagedError
from gymsolve.metrics.foreign.episodes import LoggedEpisode, episode_records
from gymsolve.metrics.foreign.names import convert

__all__ = ["read_monitor", "read_progress"]

_STEPS = "time/total_timesteps"


def read_progress(path: Path) -> list[dict[str, Any]]:
    """Records of a `progress.csv`; rows of evaluation and of training come as they were dumped."""
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        reader = csv.DictReader(file)
        if reader.fieldnames is None or _STEPS not in reader.fieldnames:
            raise RunDamagedError(
                f"has no column {_STEPS}, so it is no progress.csv of Stable-Baselines3.", where=str(path)
            )
        return [record for row in reader if (record := _progress_record(row)) is not None]


def _progress_record(row: dict[str, str | None]) -> dict[str, Any] | None:
    steps = _number(row.get(_STEPS))
    if steps is None:
        return None  # a torn last line
    record: dict[str, Any] = {"env_steps": int(steps)}
    for name, text in row.items():
        value = _number(text)
        ours = None if value is None else convert(name, value)
        if ours is not None:
            record[ours[0]] = ours[1]
    updates = _number(row.get("train/n_updates"))
    if updates is not None:
        record["updates"] = int(updates)
    return record


def read_monitor(paths: list[Path]) -> tuple[list[dict[str, Any]], str | None]:
    """Records of one or more Monitor files, merged in order of time, and the environment's id."""
    episodes: list[tuple[float, float, float]] = []
    name: str | None = None
    for path in paths:
        found, env = _read_monitor(path)
        episodes += found
        name = name or env
    episodes.sort()
    steps = itertools.accumulate(int(length) for _, _, length in episodes)
    logged = [
        LoggedEpisode(step, total, length, seconds)
        for step, (seconds, total, length) in zip(steps, episodes, strict=True)
    ]
    return episode_records(logged), name


def _read_monitor(path: Path) -> tuple[list[tuple[float, float, float]], str | None]:
    """Seconds, return and length of each episode."""
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        head = file.readline()
        name = _env_id(head)
        lines = file if head.startswith("#") else itertools.chain([head], file)
        reader = csv.DictReader(lines)
        if reader.fieldnames is None or not {"r", "l", "t"} <= set(reader.fieldnames):
            raise RunDamagedError("has no columns r, l and t, so it is no Monitor file.", where=str(path))
        rows = [tuple(_number(row.get(key)) for key in ("t", "r", "l")) for row in reader]
    return [(t, r, length) for t, r, length in rows if t is not None and r is not None and length], name


def _env_id(head: str) -> str | None:
    try:
        found = json.loads(head.removeprefix("#"))
    except ValueError:
        return None
    name = found.get("env_id") if isinstance(found, dict) else None
    return name if isinstance(name, str) else None


def _number(text: str | None) -> float | None:
    """A cell; None when it is empty or torn. NaN is a number here: it is a finding."""
    try:
        return float(text) if text else None
    except ValueError:
        return math.nan if text == "None" else None
