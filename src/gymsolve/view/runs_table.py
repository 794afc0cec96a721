"""The table of runs, for a page that asks every few seconds in a folder of thousands of runs."""

import math
import os
import statistics
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from gymsolve.answers import Answer
from gymsolve.errors import GymsolveError, UsageError, did_you_mean
from gymsolve.runs.index import matching, run_folders
from gymsolve.runs.labels import LABELS_FILE
from gymsolve.runs.records import sample_records
from gymsolve.runs.refs import best_reward
from gymsolve.runs.run import Run
from gymsolve.runs.schema import is_metrics
from gymsolve.runs.summary import SILENT, RunSummary, runs_folder, summarize
from gymsolve.view.run_settings import NamedSetting, StoredSettings, value_order
from gymsolve.view.run_view import RunView

Sort = Literal["created", "name", "status", "progress", "best", "steps"]
SORTS: tuple[Sort, ...] = ("created", "name", "status", "progress", "best", "steps")
_POINTS = 40
"""Records that a small curve is drawn from."""
_MOST_NAMED = 500
"""Runs whose settings are named."""
_GLANCE = 0.05
_CURVE = {"rollout/ep_rew_mean": "training episodes", "eval/mean_reward": "evaluations"}


@dataclass(frozen=True, kw_only=True)
class RunRow(Answer, RunSummary):
    """One row."""

    progress: float | None
    """Share of the budget that is spent."""
    solved: bool
    best_reward: float | None
    threshold: float | None
    curve: list[tuple[int, float]]
    """Environment steps and mean return of training episodes, sampled; of evaluations where there are none,
    or where training episodes are parts of games, whose return no threshold is about."""
    curve_of: str
    """`training episodes` or `evaluations`; empty where there is no curve."""
    alerts: list[dict[str, str]]
    """Alerts that are active, or were when it ended: id, severity, title; the gravest first."""
    host: str
    """The machine that trains or trained it."""
    settings: dict[str, str]
    """Settings that were asked for, as text."""
    part: str
    """Its value of what runs are grouped by; empty without groups."""


@dataclass(frozen=True)
class RowGroup(Answer):
    """Runs with the same value of a setting."""

    value: str
    runs: list[str]
    """Ids of all of them."""
    solved: int
    best: float | None
    """The best of their best evaluations; None where they are of several environments."""
    mean: float | None
    """The mean of their best evaluations."""


@dataclass(frozen=True)
class RunsPage(Answer):
    """Some rows of all that fit."""

    rows: list[RunRow]
    total: int
    running: int
    """The number of runs that train, of all that fit."""
    folder: str
    groups: list[RowGroup]
    """All groups, in their order; rows stand in this order too. Empty without `group_by`."""


@dataclass(frozen=True)
class Shape:
    """Columns of settings, and groups of rows."""

    settings: tuple[str, ...] = ()
    """Settings with a column of their own."""
    group_by: str = ""
    """A setting, or one of `FACTS`, by which rows are grouped."""


_PLAIN = Shape()


class RunsTable:
    """Rows of the runs in a folder. A run is read again only when one of its files has changed."""

    def __init__(self, folder: Path | str | None) -> None:
        self.folder = runs_folder(folder).absolute()
        self._summaries: dict[str, tuple[Any, RunSummary]] = {}
        self._rows: dict[str, tuple[Any, RunRow]] = {}
        self._best: dict[str, tuple[Any, float | None]] = {}
        self._lock = threading.Lock()
        self._settings = StoredSettings(self.folder)

    def look(
        self,
        query: str = "",
        *,
        sort: str = "created",
        descending: bool = True,
        offset: int = 0,
        limit: int = 50,
        trials: bool = False,
        shape: Shape = _PLAIN,
        check: Callable[[], None] = lambda: None,
    ) -> RunsPage:
        """The rows from `offset` on, of the runs that fit a query as `gymsolve runs` takes it.

        `check` is called now and then, and raises where nobody waits for the answer any more.
        """
        chosen = next((name for name in SORTS if name == sort), None)
        if chosen is None:
            hint = did_you_mean(sort, SORTS) or f"One of: {', '.join(SORTS)}."
            raise UsageError(f"runs cannot be sorted by {sort!r}.", where="sort", hint=hint)
        with self._alone(check):
            fitting = matching(self._all(check), query, trials=trials)
            ordered = sorted(fitting, key=lambda run: self._key(run, chosen), reverse=descending)
            groups = self._groups(ordered, shape.group_by, check) if shape.group_by else []
            if groups:
                place = {name: at for at, group in enumerate(groups) for name in group.runs}
                ordered.sort(key=lambda run: place[run.id])
            rows = [self._shaped(run, shape) for run in ordered[offset : offset + limit]]
        running = sum(run.status == "running" for run in fitting)
        return RunsPage(rows, len(fitting), running, str(self.folder), groups)

    def name_settings(self, query: str = "", check: Callable[[], None] = lambda: None) -> list[NamedSetting]:
        """Settings of the newest runs that fit a query; those that differ come first."""
        with self._alone(check):
            fitting = matching(self._all(check), query, trials=False)
            newest = sorted(fitting, key=lambda run: run.created, reverse=True)[:_MOST_NAMED]
            return self._settings.name_all(newest, check)

    @contextmanager
    def _alone(self, check: Callable[[], None]) -> Iterator[None]:
        """One request at a time reads the folders."""
        while not self._lock.acquire(timeout=_GLANCE):
            check()
        try:
            yield
        finally:
            self._lock.release()

    def _groups(self, runs: list[RunSummary], path: str, check: Callable[[], None]) -> list[RowGroup]:
        members: dict[str, list[RunSummary]] = {}
        for run in runs:
            check()
            members.setdefault(self._settings.value(run, path), []).append(run)
        return [self._group(value, members[value]) for value in sorted(members, key=value_order)]

    def _group(self, value: str, runs: list[RunSummary]) -> RowGroup:
        alike = len({run.env_id for run in runs}) == 1  # rewards of different environments do not compare
        rewards = [self._best_reward(Run(self.folder / run.id)) for run in runs] if alike else []
        known = [reward for reward in rewards if reward is not None and math.isfinite(reward)]
        best, mean = (max(known), statistics.fmean(known)) if known else (None, None)
        return RowGroup(value, [run.id for run in runs], sum(run.is_solved for run in runs), best, mean)

    def _shaped(self, summary: RunSummary, shape: Shape) -> RunRow:
        row = self._row(summary)
        settings = {path: self._settings.value(summary, path) for path in shape.settings}
        part = self._settings.value(summary, shape.group_by) if shape.group_by else ""
        return replace(row, settings=settings, part=part) if settings or part else row

    def _all(self, check: Callable[[], None]) -> list[RunSummary]:
        there = {path.name: path for path in run_folders(self.folder)}
        gone = self._summaries.keys() - there.keys()  # deleted since
        if gone:
            self._settings.forget(gone)
        for name in gone:
            for kept in (self._summaries, self._rows, self._best):
                kept.pop(name, None)
        summaries = []
        for path in there.values():
            check()
            summaries.append(self._summary(path))
        return summaries

    def _summary(self, path: Path) -> RunSummary:
        stamp = _stamp(f"{path}/run.json"), _stamp(f"{path}/{LABELS_FILE}")
        kept = self._summaries.get(path.name)
        if kept is not None and kept[0] == stamp:
            return kept[1]
        summary = summarize(path)
        by_process = summary.status == "running" or summary.reason == SILENT
        self._summaries[path.name] = ("look again" if by_process else stamp, summary)
        return summary

    def _best_reward(self, run: Run) -> float | None:
        stamp = _stamp(run.path / "checkpoints" / "best")
        kept = self._best.get(run.id)
        if kept is None or kept[0] != stamp:
            kept = self._best[run.id] = stamp, best_reward(run)
        return kept[1]

    def _key(self, summary: RunSummary, sort: Sort) -> tuple[Any, ...]:
        values: dict[Sort, Any] = {
            "created": summary.created,
            "name": (summary.name or summary.id).lower(),
            "status": summary.status,
            "progress": _progress(summary) or 0.0,
            "steps": summary.env_steps,
        }
        if sort == "best":
            best = self._best_reward(Run(self.folder / summary.id))
            return best is not None, best or 0.0, summary.created, summary.id
        return values[sort], summary.created, summary.id

    def _row(self, summary: RunSummary) -> RunRow:
        run = Run(self.folder / summary.id)
        files = ("run.json", "metrics.jsonl", "events.jsonl", "checkpoints/best")
        stamp = (summary, *(_stamp(run.path / name) for name in files))
        kept = self._rows.get(run.id)
        if kept is None or kept[0] != stamp:
            kept = self._rows[run.id] = stamp, self._read(run, summary)
        return kept[1]

    def _read(self, run: Run, summary: RunSummary) -> RunRow:
        view = RunView(run)
        try:
            threshold, host, alerts = view.threshold, str(view.info["host"]), view.alert_causes
            names = [*_CURVE][1:] if view.training_unit else [*_CURVE]
            rows = sample_records(run.path / "metrics.jsonl", _POINTS, is_metrics)
        except GymsolveError:  # a damaged run is a row too; its summary says what is wrong
            threshold, host, rows, alerts, names = None, "", [], [], []
        name, curve = _curve(rows, names)
        return RunRow(
            **vars(summary),
            progress=_newest_progress(rows) or _progress(summary),
            solved=summary.is_solved,
            best_reward=self._best_reward(run),
            threshold=threshold,
            curve=curve,
            curve_of=_CURVE.get(name, ""),
            alerts=alerts,
            host=host,
            settings={},
            part="",
        )


def _newest_progress(rows: list[dict[str, Any]]) -> float | None:
    """The share of the budget by the newest record, which knows what the budget counts."""
    shares = [row["progress"] for row in rows if row.get("progress") is not None]
    return min(1.0, float(shares[-1])) if shares else None


def _curve(rows: list[dict[str, Any]], names: Sequence[str]) -> tuple[str, list[tuple[int, float]]]:
    """The first of these metrics that has a curve, and the curve."""
    for name in names:
        points = {row["env_steps"]: float(row[name]) for row in rows if row.get(name) is not None}
        finite = sorted((step, value) for step, value in points.items() if math.isfinite(value))
        if len(finite) > 1:
            return name, finite
    return "", []


def _progress(summary: RunSummary) -> float | None:
    return min(1.0, summary.env_steps / summary.steps) if summary.steps else None


def _stamp(path: Path | str) -> tuple[int, int, int] | None:
    """Changes whenever a file does; None where there is none."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
