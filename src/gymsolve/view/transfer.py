"""Effects of one stage on another: forgetting and forward transfer. Pure functions over numbers.

A curve has the results of a task's evaluations by step: mean returns or shares of successes.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise

Curve = Sequence[tuple[float, float]]
"""Steps and values, in the order of the steps."""


def value_at(curve: Curve, step: float) -> float | None:
    """The newest evaluation up to a step."""
    return next((value for at, value in reversed(curve) if at <= step), None)


def forgetting(curve: Curve, ended: float) -> float | None:
    """The loss of a task since its stage ended, p(end of stage) - p(end); below 0 it got better."""
    then = value_at(curve, ended)
    return None if then is None or not curve else then - curve[-1][1]


def mean_between(curve: Curve, begin: float, end: float) -> float | None:
    """The mean of a curve over a stretch, with straight lines between evaluations.

    Before its first and after its last evaluation the curve is constant.
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
    """The share of the possible gain over a run from scratch that earlier stages have brought.

    (area - area from scratch) / (best - area from scratch) over the steps of the stage, `begin` to `end`, and
    over as many steps from the start of the run from scratch. `best` is 1 for shares of successes, the
    threshold for returns. 1 is the best possible from the first step on, 0 is as good as from scratch; None
    where a run from scratch leaves nothing to gain, or where there is no evaluation.
    """
    mine = mean_between(curve, begin, end)
    alone = mean_between(scratch, 0.0, end - begin)
    if mine is None or alone is None or best - alone <= 1e-12:
        return None
    return (mine - alone) / (best - alone)


def spread_of_tasks(curves: Mapping[str, Curve]) -> list[float]:
    """Steps at which any of the tasks was evaluated."""
    return sorted({at for curve in curves.values() for at, _ in curve})
