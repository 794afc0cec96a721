"""What one stage does to another: task by time, forgetting, forward transfer. Pure functions over numbers.

A curve is what a task's evaluations achieved, by step: mean returns or shares of successes.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

Curve = Sequence[tuple[float, float]]
"""Steps and values, in the order of the steps."""


def value_at(curve: Curve, step: float) -> float | None:
    """What the newest evaluation up to a step gave."""
    return next((value for at, value in reversed(curve) if at <= step), None)


def forgetting(curve: Curve, ended: float) -> float | None:
    """What a task lost since its stage ended: p(end of stage) - p(end); None where neither is known.

    Below 0 it got better meanwhile.
    """
    then = value_at(curve, ended)
    return None if then is None or not curve else then - curve[-1][1]


def mean_between(curve: Curve, begin: float, end: float) -> float | None:
    """The area below a curve over a stretch, by its length; straight lines between evaluations.

    Where the curve begins later or ends earlier than the stretch, its first or last value holds.
    """
    if not curve or end <= begin:
        return None
    inside = [(at, value) for at, value in curve if begin < at < end]
    points = [(begin, _between(curve, begin)), *inside, (end, _between(curve, end))]
    area = sum((right - left) * (low + high) / 2 for (left, low), (right, high) in pairwise(points))
    return area / (end - begin)


def _between(curve: Curve, step: float) -> float:
    for (left, low), (right, high) in pairwise(curve):
        if left <= step <= right:
            return low + (high - low) * ((step - left) / (right - left) if right > left else 1.0)
    return curve[0][1] if step < curve[0][0] else curve[-1][1]


def forward_transfer(
    curve: Curve, scratch: Curve, *, begin: float, end: float, best: float = 1.0
) -> float | None:
    """How much of what a run from scratch misses is gained by what was learned before.

    (area - area from scratch) / (best - area from scratch) over the steps of the stage, `begin` to `end`; the
    run from scratch is looked at over as many steps from its own start. `best` is the most that can be
    achieved: 1 for shares of successes, the threshold for returns. 1 is as good as possible from the first
    step on, 0 as good as from scratch; None where scratch leaves nothing to gain, or nothing is known.
    """
    mine = mean_between(curve, begin, end)
    alone = mean_between(scratch, 0.0, end - begin)
    if mine is None or alone is None or best - alone <= 1e-12:
        return None
    return (mine - alone) / (best - alone)


def spread_of_tasks(curves: Mapping[str, Curve]) -> list[float]:
    """Steps at which any of the tasks was judged."""
    return sorted({at for curve in curves.values() for at, _ in curve})
