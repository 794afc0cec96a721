"""Finds the log at a path, reads it, and derives the context of its run without its settings."""

import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from gymsolve.doctor.external_logs.csvlog import read_monitor, read_progress
from gymsolve.doctor.external_logs.places import Place, choose_place, require_readable
from gymsolve.doctor.external_logs.settings import env_of, steps_of
from gymsolve.doctor.external_logs.tensorboard import name_records, read_tensorboard
from gymsolve.doctor.external_logs.wandb import WandbRun, find_wandb_files, read_wandb
from gymsolve.doctor.rules.rule import Context
from gymsolve.errors import RunDamagedError
from gymsolve.metrics.catalog import hard_bounds
from gymsolve.recipes import validate
from gymsolve.settings.config import TrainConfig

_CLOSE = 0.01
"""A largest entropy this near to the logarithm of a whole number counts as that of a uniform choice."""
_AGES = 1e11
"""More seconds than any training takes."""
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
    settings: dict[str, Any] = field(default_factory=dict)
    """Under the names of the tool that wrote it."""
    problems: list[str] = field(default_factory=list)
    """Files and lines that could not be read."""


def read_foreign(path: Path) -> ForeignLog:
    """Read a `progress.csv`, Monitor files, TensorBoard events, or an offline run of W&B."""
    try:
        place = _place(path)
        require_readable((*place.files, *place.monitors))
        return wandb_log(read_wandb(place.files)) if place.tool == "wandb" else _read(place)
    except OSError as error:
        raise RunDamagedError(f"cannot be read: {error.strerror}.", where=str(path)) from error


def _place(path: Path) -> Place:
    """W&B keeps the sittings of a run in folders of their own; everything else lies in one."""
    sittings = find_wandb_files(path) if path.is_dir() else []
    return Place("wandb", path, tuple(sittings)) if sittings else choose_place(path)


def wandb_log(run: WandbRun) -> ForeignLog:
    """A run of W&B: one of gymsolve with its settings, another one as far as its names are known."""
    if not run.is_ours:
        owner, records = name_records(run.scalars(), run.where) if run.rows else ("", [])
        return _made(f"{owner} W&B", run.name, run.where, records, run.config, run.name)
    records = run.records()
    _require_records(records, run.where)
    settings = {name: run.config[name] for name in TrainConfig.model_fields if name in run.config}
    config = validate(settings, "W&B")
    by_return = config.solved_by == "return"
    bar = run.threshold if config.solved_at is None or not by_return else config.solved_at
    highest = _max_entropy("gymsolve", records)
    context = replace(Context.of(config, None), threshold=bar, max_entropy=highest)
    return ForeignLog("gymsolve W&B", run.name, run.where, config.env.id, records, context)


def _require_records(records: list[dict[str, Any]], where: str) -> None:
    if not records:
        raise RunDamagedError("holds no records yet.", where=where)


def _read(place: Place) -> ForeignLog:
    path, where = place.path, str(place.path)
    episodes, name = read_monitor(place.monitors) if place.monitors else ([], None)
    if place.tool == "monitor":
        records, name = read_monitor(place.files)
        return _made("Stable-Baselines3 monitor.csv", path.name, where, records, {}, "", name)
    if place.tool == "progress":
        records = _joined(read_progress(place.files[0]), episodes)
        return _made("Stable-Baselines3 progress.csv", path.name, where, records, {}, "", name)
    events = read_tensorboard(place.files)
    if not events.scalars and events.problems:
        raise RunDamagedError(f"{events.problems[0]}.", where=where)
    owner, records = name_records(events.scalars, where)
    folder = place.files[0].parent.absolute().name
    joined = _joined(records, episodes)
    log = _made(f"{owner} TensorBoard", path.name, where, joined, events.settings, folder, name)
    return replace(log, problems=events.problems)


def _made(
    kind: str,
    name: str,
    where: str,
    records: list[dict[str, Any]],
    settings: dict[str, Any],
    run_name: str,
    env_id: str | None = None,
) -> ForeignLog:
    _require_records(records, where)
    context = replace(_context(kind, records), budget=max(steps_of(settings), records[-1]["env_steps"]))
    _order_time(records)
    settings = _logged(records) | settings
    return ForeignLog(kind, name, where, env_id or env_of(settings, run_name), records, context, settings)


def _logged(records: list[dict[str, Any]]) -> dict[str, Any]:
    """The first values of settings that were logged as metrics."""
    settings: dict[str, Any] = {}
    for metric, name in (("hyper/learning_rate", "learning_rate"), ("hyper/clip_coef", "clip_range")):
        values = (record[metric] for record in records if math.isfinite(record.get(metric, math.nan)))
        first = next(values, None)
        if first is not None:
            settings[name] = first
    return settings


def _order_time(records: list[dict[str, Any]]) -> None:
    """Drop elapsed times that run backwards, or that no training can take."""
    latest = 0.0
    for record in records:
        elapsed = record.get("time/elapsed")
        if elapsed is None:
            continue
        if latest <= elapsed < _AGES:
            latest = elapsed
        else:
            del record["time/elapsed"]


def _joined(records: list[dict[str, Any]], episodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Both logs of one training; a metric that both hold is taken from the first."""
    names = {name for record in records for name in record} - {"env_steps"}
    extra = [{name: value for name, value in row.items() if name not in names} for row in episodes]
    return sorted([*records, *extra], key=lambda record: record["env_steps"])


def _context(kind: str, records: list[dict[str, Any]]) -> Context:
    """The context of a run without its settings; the budget is the number of steps trained."""
    return Context(
        config=None,
        budget=max(record["env_steps"] for record in records),
        max_entropy=_max_entropy(kind, records),
        bounds=hard_bounds(),
    )


def _max_entropy(kind: str, records: list[dict[str, Any]]) -> float | None:
    """The entropy of a uniform policy, derived from the largest entropy in the log; None for boxes."""
    if any("policy/log_std_mean" in record for record in records):
        return None
    entropies = [record["train/entropy"] for record in records if "train/entropy" in record]
    highest = max(filter(math.isfinite, entropies), default=0.0)
    if not 0.0 < highest < 10.0:
        return None
    if not kind.startswith("CleanRL"):  # others log the spread of every box, so these are choices
        return math.log(max(2, math.ceil(math.exp(highest) - 0.01)))
    nearest, dims = math.log(max(2, round(math.exp(highest)))), highest / _UNIT_GAUSSIAN
    is_box = abs(dims - round(dims)) < _CLOSE
    return nearest if abs(highest - nearest) < _CLOSE * highest and not is_box else None
