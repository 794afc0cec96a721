"""Several runs beside each other: results, settings that differ, curves on a common axis."""

import math
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from gymsolve.doctor.history import History, read_rows
from gymsolve.doctor.quality import training_quality
from gymsolve.recipes import flatten, validate
from gymsolve.runs.refs import needed_reward
from gymsolve.runs.run import Run
from gymsolve.runs.summary import Status
from gymsolve.settings.config import INCIDENTAL
from gymsolve.text import UNITS, plural
from gymsolve.view.report.figures import Curves, Line, Point

Axis = Literal["env_steps", "vec_steps", "time"]
AXES: dict[Axis, str] = {
    "env_steps": UNITS["env_steps"],
    "vec_steps": UNITS["vec_steps"],
    "time": "seconds of training",
}


_LETTERS = string.ascii_uppercase + string.ascii_lowercase


@dataclass(frozen=True)
class Contender:
    """One of the runs that are compared."""

    letter: str
    run: Run
    status: Status
    env_id: str
    threshold: float | None
    success_needed: float | None
    """Share of successes, where that decides and not the return."""
    settings: dict[str, Any]
    budget: int
    """In environment steps."""
    rows: list[dict[str, Any]]
    history: History
    problems: list[str]

    @property
    def evaluations(self) -> list[dict[str, Any]]:
        return [row for row in self.rows if _is_finite(row.get("eval/mean_reward"))]

    @property
    def label(self) -> str:
        return f"{self.run.id} (running)" if self.status == "running" else self.run.id

    def results(self, axis: Axis) -> dict[str, Any]:
        """What it reached, and what that took."""
        judged = self.evaluations
        rewards = [row["eval/mean_reward"] for row in judged]
        shares = [row["eval/success_rate"] for row in judged if _is_finite(row.get("eval/success_rate"))]
        seconds = self.history.last("time/elapsed")
        steps = max((int(row.get("env_steps") or 0) for row in self.rows), default=0)
        crossed = next((row for row in judged if self._reaches(row)), None)
        return {
            "final_reward": rewards[-1] if rewards else None,
            "best_reward": max(rewards, default=None),
            "best_success": None if self.success_needed is None else max(shares, default=None),
            "training_reward": next(iter(self._newest("rollout/ep_rew_mean")), None),
            "threshold": self.threshold,
            "success_needed": self.success_needed,
            "reached_at": None if crossed is None else self.place(crossed, axis),
            "fps": steps / seconds if seconds else None,
            "quality": self._quality(steps),
        }

    def _quality(self, steps: int) -> float | None:
        """A single evaluation is no curve, unless it solved the environment."""
        solved = any(row.get("solved") == 1.0 for row in self.evaluations)
        if len(self.evaluations) < 2 and not solved:
            return None
        return training_quality(
            self.evaluations,
            threshold=self.threshold,
            samples=steps,
            solved=solved,
            budget=self.budget,
            success_needed=self.success_needed,
        )

    def place(self, row: dict[str, Any], axis: Axis) -> float | None:
        """Where a record is on an axis; evaluations have no clock and take the time of the record before."""
        if axis == "time":
            own = row.get("time/elapsed")
            return own if _is_finite(own) else self.history.seconds_at(row.get("env_steps") or 0)
        found = row.get(axis, math.nan)
        return float(found) if _is_finite(found) else None

    def points(self, metric: str, axis: Axis) -> list[Point]:
        found = []
        for row in self.rows:
            x, y = self.place(row, axis), row.get(metric, math.nan)
            if metric in row and x is not None:
                found.append((x, math.nan if y is None else float(y)))
        return found

    def _newest(self, metric: str) -> list[float]:
        series = self.history.get(metric)
        return [] if series is None else [float(value) for value in series.tail(1)]

    def _reaches(self, row: dict[str, Any]) -> bool:
        each = [value for name, value in row.items() if name.startswith("task_reached/")]
        if each and not self.settings["curriculum.stages"]:  # of several tasks every one, not their mean
            return all(each)
        if self.success_needed is not None:
            return bool((row.get("eval/success_rate") or 0.0) >= self.success_needed)
        return self.threshold is not None and row["eval/mean_reward"] >= self.threshold


def contend(runs: Sequence[Run]) -> list[Contender]:
    """Read the runs; each gets a letter, as ids are too long for columns."""
    found = []
    for index, run in enumerate(runs):
        rows, problems = read_rows(run.path)
        config = validate(run.config_json()["config"], f"{run.id}/config.json")
        found.append(
            Contender(
                letter=_LETTERS[index] if index < len(_LETTERS) else str(index),
                run=run,
                status=run.status,
                env_id=config.env.id,
                threshold=needed_reward(run),
                success_needed=config.solved_at if config.solved_by == "success_rate" else None,
                settings=flatten(config),
                budget=config.env_budget,
                rows=rows,
                history=History(rows),
                problems=problems,
            )
        )
    return found


def common_axis(contenders: Sequence[Contender]) -> Axis:
    """What all runs are measured in; environment steps if they differ."""
    alike = all(one.settings.get("budget_in") == "vec_steps" for one in contenders)
    return "vec_steps" if alike else "env_steps"


def differences(contenders: Sequence[Contender], *, incidental: bool = False) -> dict[str, list[Any]]:
    """Settings in which they differ, with the value of each: those that change results, or the others."""
    paths = dict.fromkeys(path for one in contenders for path in one.settings if path != "description")
    values = {path: [one.settings.get(path) for one in contenders] for path in paths}
    return {
        path: row
        for path, row in values.items()
        if path.startswith(INCIDENTAL) is incidental
        and any(value != row[0] for value in row)
        # An empty mapping beside one that is not: the entries of that one are told.
        and any(value not in ({}, None) for value in row)
    }


def remark(contenders: Sequence[Contender]) -> str:
    """What a reader must know before comparing; empty when nothing."""
    names = list(dict.fromkeys(one.env_id for one in contenders))
    if len(names) == 1:
        return ""
    told = ", ".join(f"{one.letter}: {one.env_id}" for one in contenders)
    return (
        f"These runs are of {plural(len(names), 'environment')} ({told}): their returns do not compare, so "
        "curves show the way from the first evaluation (0) to the threshold (1)."
    )


def compare_curves(contenders: Sequence[Contender], axis: Axis) -> list[Curves]:
    """Evaluations and training episodes of all runs on one axis; empty ones are left out."""
    wanted = (("Evaluations", "eval/mean_reward"), ("Training episodes, last 100", "rollout/ep_rew_mean"))
    alike = len({one.env_id for one in contenders}) == 1
    thresholds = {one.threshold for one in contenders}
    goal = thresholds.pop() if alike and len(thresholds) == 1 else None
    level = (1.0, "threshold") if not alike else None if goal is None else (goal, f"threshold {goal:g}")
    charts = []
    for title, metric in wanted:
        lines = [Line(one.label, _line(one, metric, axis, alike), letter=one.letter) for one in contenders]
        if any(math.isfinite(y) for line in lines for _, y in line.points):
            note = "Mean return." if alike else "0 is the first evaluation, 1 the threshold."
            charts.append(Curves(title, lines, note, level=level, x_label=AXES[axis]))
    return charts


def _line(one: Contender, metric: str, axis: Axis, alike: bool) -> list[Point]:
    points = one.points(metric, axis)
    if alike:
        return points
    judged = one.evaluations
    if one.threshold is None or not judged or judged[0]["eval/mean_reward"] >= one.threshold:
        return []
    first = judged[0]["eval/mean_reward"]
    return [(x, (y - first) / (one.threshold - first)) for x, y in points]


def _is_finite(value: Any) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
