"""One number for the quality of a training: the mean of its evaluation curve over its samples."""

import math
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from gymsolve.doctor.history import History


def training_quality(
    evaluations: Iterable[Mapping[str, Any]],
    *,
    threshold: float | None,
    samples: int,
    solved: bool,
    budget: int,
    success_needed: float | None = None,
) -> float | None:
    """Area under the curve of evaluations per sample: 1 is solved at once, 0 never better than at first.

    Returns count from 0 at the first evaluation to 1 at the threshold (without one: at the best), never
    outside; where successes decide, their share counts so, up to `success_needed`. A solved run keeps its
    last value for the rest of its budget; steps before the first evaluation count like it. None without a
    finite evaluation.
    """
    metric = _judged_by(success_needed)
    threshold = threshold if success_needed is None else success_needed
    points = [
        (float(row["env_steps"]), float(row[metric]))
        for row in evaluations
        if row.get(metric) is not None and math.isfinite(row[metric])
    ]
    if not points:
        return None
    first = points[0][1]
    goal = max(y for _, y in points) if threshold is None else threshold
    if goal <= first:
        curve = [(x, 1.0 if threshold is not None and y >= goal else 0.0) for x, y in points]
    else:
        curve = [(x, min(1.0, max(0.0, (y - first) / (goal - first)))) for x, y in points]
    area = sum((right - left) * (a + b) / 2 for (left, a), (right, b) in pairwise(curve))
    area += curve[0][0] * curve[0][1]
    whole = float(max(budget if solved else samples, curve[-1][0], 1))
    return (area + (whole - curve[-1][0]) * curve[-1][1]) / whole


def quality_so_far(
    history: History,
    record: Mapping[str, Any],
    *,
    threshold: float | None,
    budget: int,
    success_needed: float | None = None,
) -> dict[str, float]:
    """`quality/area` of the evaluations in `history` and of a new one in `record`; empty without a goal."""
    metric = _judged_by(success_needed)
    goal = threshold if success_needed is None else success_needed
    if goal is None or not math.isfinite(record.get(metric, math.nan)):
        return {}
    series = history.get(metric)
    before = [] if series is None else zip(series.steps, series.values, strict=True)
    rows = [{"env_steps": step, metric: value} for step, value in before]
    area = training_quality(
        [*rows, record],
        threshold=threshold,
        samples=record["env_steps"],
        solved=record.get("solved") == 1.0,
        budget=budget,
        success_needed=success_needed,
    )
    return {} if area is None else {"quality/area": area}


def _judged_by(success_needed: float | None) -> str:
    return "eval/mean_reward" if success_needed is None else "eval/success_rate"
