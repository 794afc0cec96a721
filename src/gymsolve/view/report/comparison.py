"""Several runs beside each other: results, settings that differ, curves on a common axis."""

import math
import string
from collections.abc import Sequence
from typing import Any, Literal

from gymsolve.metrics.training_returns import CUT_SHARE, note
from gymsolve.runs.run import Run
from gymsolve.runs.summary import Status
from gymsolve.settings.changes import INCIDENTAL
from gymsolve.text import UNITS, plural
from gymsolve.view.diagnosed_run import DiagnosedRun
from gymsolve.view.report.figures import Curves, Line, Point
from gymsolve.view.run_view import is_finite

Axis = Literal["env_steps", "vec_steps", "time"]
AXES: dict[Axis, str] = {
    "env_steps": UNITS["env_steps"],
    "vec_steps": UNITS["vec_steps"],
    "time": "seconds of training",
}
_LETTERS = string.ascii_uppercase + string.ascii_lowercase


class Contender(DiagnosedRun):
    """One of the runs that are compared."""

    def __init__(self, run: Run, letter: str) -> None:
        super().__init__(run)
        self.letter = letter

    @property
    def status(self) -> Status:
        return self.summary.status

    @property
    def env_id(self) -> str:
        return self.config.env.id

    @property
    def label(self) -> str:
        return f"{self.run.id} (running)" if self.status == "running" else self.run.id

    @property
    def solved_after(self) -> int | None:
        """Environment steps of the evaluation that proved it solved."""
        return next((int(row["env_steps"]) for row in self.judged if row.get("solved") == 1.0), None)

    def results(self, axis: Axis) -> dict[str, Any]:
        """Results, and the steps and seconds they took."""
        judged = self.judged
        rewards = [row["eval/mean_reward"] for row in judged]
        shares = [row["eval/success_rate"] for row in judged if is_finite(row.get("eval/success_rate"))]
        seconds, training = self.history.last("time/elapsed"), self.history.get("rollout/ep_rew_mean")
        newest = [] if training is None else training.tail(1)
        steps = max((int(row.get("env_steps") or 0) for row in self.rows), default=0)
        crossed = next((row for row in judged if self._reaches(row)), None)
        return {
            "final_reward": rewards[-1] if rewards else None,
            "best_reward": max(rewards, default=None),
            "best_success": None if self.success_threshold is None else max(shares, default=None),
            "training_reward": float(newest[0]) if newest else None,
            "training_note": note(self.training_unit, self.history.last(CUT_SHARE)),
            "threshold": self.threshold,
            "success_needed": self.success_threshold,
            "reached_at": None if crossed is None else self.place_on(crossed, axis),
            "fps": steps / seconds if seconds else None,
            "quality": self._area(steps),
        }

    def _area(self, steps: int) -> float | None:
        """A single evaluation is no curve, unless it solved the environment."""
        solved = any(row.get("solved") == 1.0 for row in self.judged)
        if len(self.judged) < 2 and not solved:
            return None
        return self.area_under_curve(self.threshold, steps, solved)

    def place_on(self, row: dict[str, Any], axis: Axis) -> float | None:
        """The place of a record on an axis; evaluations have no clock and take that of the record before."""
        if axis == "time":
            own = row.get("time/elapsed")
            return own if is_finite(own) else self.history.seconds_at(row.get("env_steps") or 0)
        place = row.get(axis, math.nan)
        return float(place) if is_finite(place) else None

    def points_on(self, metric: str, axis: Axis) -> list[Point]:
        points = []
        for row in self.rows:
            x, y = self.place_on(row, axis), row.get(metric, math.nan)
            if metric in row and x is not None:
                points.append((x, math.nan if y is None else float(y)))
        return points

    def _reaches(self, row: dict[str, Any]) -> bool:
        each = [value for name, value in row.items() if name.startswith("task_reached/")]
        if each and not self.settings["curriculum.stages"]:  # of several tasks every one, not their mean
            return all(each)
        if self.success_threshold is not None:
            return bool((row.get("eval/success_rate") or 0.0) >= self.success_threshold)
        return self.threshold is not None and row["eval/mean_reward"] >= self.threshold


def contend(runs: Sequence[Run]) -> list[Contender]:
    """The runs with a letter each, as ids are too long for columns."""
    letters = (_LETTERS[index] if index < len(_LETTERS) else str(index) for index in range(len(runs)))
    return [Contender(run, letter) for letter, run in zip(letters, runs, strict=True)]


def common_axis(contenders: Sequence[Contender]) -> Axis:
    """The axis that all runs are measured in; environment steps if they differ."""
    alike = all(run.settings.get("budget_in") == "vec_steps" for run in contenders)
    return "vec_steps" if alike else "env_steps"


def differences(contenders: Sequence[Contender], *, incidental: bool = False) -> dict[str, list[Any]]:
    """Settings in which they differ, with the value of each: those that change results, or the others."""
    paths = dict.fromkeys(path for run in contenders for path in run.settings if path != "description")
    values = {path: [run.settings.get(path) for run in contenders] for path in paths}
    return {
        path: row
        for path, row in values.items()
        if path.startswith(INCIDENTAL) is incidental
        and any(value != row[0] for value in row)
        # Of an empty mapping beside a full one, the entries of the full one are listed.
        and any(value not in ({}, None) for value in row)
    }


def remark(contenders: Sequence[Contender]) -> str:
    """A warning to read before comparing; empty where there is none."""
    names = list(dict.fromkeys(run.env_id for run in contenders))
    if len(names) == 1:
        return ""
    ids = ", ".join(f"{run.letter}: {run.env_id}" for run in contenders)
    return (
        f"These runs are of {plural(len(names), 'environment')} ({ids}): their returns do not compare, so "
        "curves show the way from the first evaluation (0) to the threshold (1)."
    )


def compare_curves(contenders: Sequence[Contender], axis: Axis) -> list[Curves]:
    """Evaluations and training episodes of all runs on one axis; empty ones are left out."""
    units = " or ".join(sorted({run.training_unit for run in contenders} - {""}))
    training = f"Training episodes{units and ', '}{units}, last 100"
    wanted = (("Evaluations", "eval/mean_reward"), (training, "rollout/ep_rew_mean"))
    alike = len({run.env_id for run in contenders}) == 1
    thresholds = {run.threshold for run in contenders}
    goal = thresholds.pop() if alike and len(thresholds) == 1 else None
    level = (1.0, "threshold") if not alike else None if goal is None else (goal, f"threshold {goal:g}")
    charts = []
    for title, metric in wanted:
        lines = [Line(run.label, _line(run, metric, axis, alike), letter=run.letter) for run in contenders]
        if any(math.isfinite(y) for line in lines for _, y in line.points):
            note = "Mean return." if alike else "0 is the first evaluation, 1 the threshold."
            charts.append(Curves(title, lines, note, level=level, x_label=AXES[axis]))
    return charts


def _line(run: Contender, metric: str, axis: Axis, alike: bool) -> list[Point]:
    points = run.points_on(metric, axis)
    if alike:
        return points
    judged = run.judged
    if run.threshold is None or not judged or judged[0]["eval/mean_reward"] >= run.threshold:
        return []
    first = judged[0]["eval/mean_reward"]
    return [(x, (y - first) / (run.threshold - first)) for x, y in points]
