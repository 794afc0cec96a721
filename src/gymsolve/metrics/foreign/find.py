"""Which log lies at a path, and what can be known of its run without its settings."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gymsolve.errors import RunDamagedError, UnknownRunError
from gymsolve.metrics.catalog import hard_bounds
from gymsolve.metrics.foreign.csvlog import read_monitor, read_progress
from gymsolve.metrics.foreign.tensorboard import find_event_files, read_tensorboard
from gymsolve.metrics.rules.rule import Context

__all__ = ["ForeignLog", "read_foreign"]

_CLOSE = 0.01
"""A largest entropy this near to the logarithm of a whole number is that of a uniform choice."""
_UNIT_GAUSSIAN = 0.5 * math.log(2.0 * math.pi * math.e)
"""Entropy per dimension with which box policies start."""


@dataclass(frozen=True)
class ForeignLog:
    """Somebody else's log, in our terms."""

    kind: str
    path: Path
    env_id: str | None
    records: list[dict[str, Any]]
    context: Context


def read_foreign(path: Path) -> ForeignLog:
    """Read what is there: a `progress.csv`, Monitor files, or TensorBoard events."""
    try:
        kind, records, env_id = _read(path)
    except OSError as error:
        raise RunDamagedError(f"cannot be read: {error.strerror}.", where=str(path)) from error
    if not records:
        raise RunDamagedError("holds no records yet.", where=str(path))
    return ForeignLog(kind, path, env_id, records, _context(kind, records))


def _read(path: Path) -> tuple[str, list[dict[str, Any]], str | None]:
    if path.is_file():
        if path.name.endswith("monitor.csv"):
            return "Stable-Baselines3 monitor.csv", *read_monitor([path])
        if path.suffix == ".csv":
            return "Stable-Baselines3 progress.csv", read_progress(path), None
        if "tfevents" in path.name:
            return *read_tensorboard([path]), None
    elif path.is_dir():
        progress, monitors = path / "progress.csv", sorted(path.glob("*monitor.csv"))
        if progress.is_file():
            records = read_progress(progress)
            episodes, name = read_monitor(monitors) if monitors else ([], None)
            return "Stable-Baselines3 progress.csv", _joined(records, episodes), name
        events = find_event_files(path)
        if events:
            return *read_tensorboard(events), None
        if monitors:
            return "Stable-Baselines3 monitor.csv", *read_monitor(monitors)
    raise UnknownRunError(
        f"'{path}' holds no log that can be read.",
        hint="Give a run, a progress.csv or monitor.csv of Stable-Baselines3, or a TensorBoard folder.",
    )


def _joined(records: list[dict[str, Any]], episodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Both logs of one training; what both measure is taken from the first."""
    known = {name for record in records for name in record} - {"env_steps"}
    extra = [{name: value for name, value in one.items() if name not in known} for one in episodes]
    return sorted([*records, *extra], key=lambda record: record["env_steps"])


def _context(kind: str, records: list[dict[str, Any]]) -> Context:
    """What can be told without settings; the budget is what was trained."""
    return Context(
        config=None,
        budget=max(record["env_steps"] for record in records),
        max_entropy=_max_entropy(kind, records),
        bounds=hard_bounds(),
    )


def _max_entropy(kind: str, records: list[dict[str, Any]]) -> float | None:
    """The number of choices shows in the largest entropy that was logged; None for boxes."""
    if any("policy/log_std_mean" in record for record in records):
        return None
    entropies = [record["train/entropy"] for record in records if "train/entropy" in record]
    highest = max((one for one in entropies if math.isfinite(one)), default=0.0)
    if not 0.0 < highest < 10.0:
        return None
    if kind.startswith("Stable-Baselines3"):  # it logs the spread of every box, so these are choices
        return math.log(max(2, math.ceil(math.exp(highest) - 0.01)))
    nearest, dims = math.log(max(2, round(math.exp(highest)))), highest / _UNIT_GAUSSIAN
    is_box = abs(dims - round(dims)) < _CLOSE
    return nearest if abs(highest - nearest) < _CLOSE * highest and not is_box else None
