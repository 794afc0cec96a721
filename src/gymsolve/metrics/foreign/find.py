"""Which log lies at a path, and what can be known of its run without its settings."""

import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gymsolve.config import TrainConfig
from gymsolve.errors import RunDamagedError, UnknownRunError
from gymsolve.metrics.catalog import hard_bounds
from gymsolve.metrics.foreign.csvlog import read_monitor, read_progress
from gymsolve.metrics.foreign.tensorboard import find_event_files, name_records, read_tensorboard
from gymsolve.metrics.foreign.wandb import WandbRun, find_wandb_files, read_wandb
from gymsolve.metrics.rules.rule import Context
from gymsolve.recipes import validate

__all__ = ["ForeignLog", "read_foreign", "wandb_log"]

_CLOSE = 0.01
"""A largest entropy this near to the logarithm of a whole number is that of a uniform choice."""
_UNIT_GAUSSIAN = 0.5 * math.log(2.0 * math.pi * math.e)
"""Entropy per dimension with which box policies start."""


@dataclass(frozen=True)
class ForeignLog:
    """Somebody else's log, in our terms."""

    kind: str
    name: str
    where: str
    env_id: str | None
    records: list[dict[str, Any]]
    context: Context


def read_foreign(path: Path) -> ForeignLog:
    """Read what is there: a `progress.csv`, Monitor files, TensorBoard events, or an offline run of W&B."""
    try:
        files = find_wandb_files(path)
        if files:
            return wandb_log(read_wandb(files))
        kind, records, env_id = _read(path)
    except OSError as error:
        raise RunDamagedError(f"cannot be read: {error.strerror}.", where=str(path)) from error
    _require_records(records, str(path))
    return ForeignLog(kind, path.name, str(path), env_id, records, _context(kind, records))


def wandb_log(run: WandbRun) -> ForeignLog:
    """A run of W&B, ours with its settings, others' as far as their names are known."""
    if not run.is_ours:
        owner, records = name_records(run.scalars(), run.where) if run.rows else ("", [])
        _require_records(records, run.where)
        kind = f"{owner} W&B"
        env_id = next((str(run.config[key]) for key in ("env_id", "env_name") if key in run.config), None)
        return ForeignLog(kind, run.name, run.where, env_id, records, _context(kind, records))
    records = run.records()
    _require_records(records, run.where)
    settings = {name: run.config[name] for name in TrainConfig.model_fields if name in run.config}
    config = validate(settings, "W&B")
    by_return = config.solved_by == "return"
    bar = run.threshold if config.solved_at is None or not by_return else config.solved_at
    highest = _max_entropy("gymsolve", records)
    known = replace(Context.of(config, None), threshold=bar, max_entropy=highest)
    return ForeignLog("gymsolve W&B", run.name, run.where, config.env.id, records, known)


def _require_records(records: list[dict[str, Any]], where: str) -> None:
    if not records:
        raise RunDamagedError("holds no records yet.", where=where)


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
        hint="Give a run, a progress.csv or monitor.csv of Stable-Baselines3, a TensorBoard folder, "
        "an offline run of W&B, or wandb:ENTITY/PROJECT/RUN.",
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
    if not kind.startswith("CleanRL"):  # others log the spread of every box, so these are choices
        return math.log(max(2, math.ceil(math.exp(highest) - 0.01)))
    nearest, dims = math.log(max(2, round(math.exp(highest)))), highest / _UNIT_GAUSSIAN
    is_box = abs(dims - round(dims)) < _CLOSE
    return nearest if abs(highest - nearest) < _CLOSE * highest and not is_box else None
