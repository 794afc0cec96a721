"""One number for how well a training went: how much of the goal it had reached, on average over its steps."""

import math
from typing import Any

from gymsolve.metrics.history import History

__all__ = ["quality"]


def quality(history: History, record: dict[str, Any], threshold: float | None) -> dict[str, float]:
    """`quality/area` of the evaluations in `history` and of a new one in `record`; empty without a goal."""
    series = history.get("eval/mean_reward")
    points = [] if series is None else list(zip(series.steps, series.values, strict=True))
    points = [(step, value) for step, value in points if math.isfinite(value)]
    if threshold is None or not math.isfinite(record["eval/mean_reward"]):
        return {}
    points.append((int(record["env_steps"]), float(record["eval/mean_reward"])))
    first = points[0][1]
    heights = [_reached(value, first, threshold) for _, value in points]
    area = sum(
        (after[0] - before[0]) * (left + right) / 2
        for before, after, left, right in zip(points, points[1:], heights, heights[1:], strict=False)
    )
    # Before the first evaluation the goal counts as far away as it was found then.
    area += points[0][0] * heights[0]
    total = points[-1][0]
    return {"quality/area": area / total if total else heights[-1]}


def _reached(value: float, first: float, threshold: float) -> float:
    """0 at the first evaluation's return, 1 at the threshold; a start beyond it has nothing to gain."""
    if value >= threshold:
        return 1.0
    return max(0.0, (value - first) / (threshold - first)) if first < threshold else 0.0
