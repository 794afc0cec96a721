"""What a bonus for exploring reports: what it pays, how much it counts, and what it has seen."""

from gymsolve.metrics.metric import Metric

_SOME = "with a bonus (`explore`)"
_ALGOS = "ppo, a2c"

BONUS = (
    Metric("bonus/mean", "what the bonus pays per step, before it is scaled", _ALGOS, low=0, condition=_SOME),
    Metric(
        "bonus/paid",
        "the same as it is learned from: in spreads of its discounted sum",
        _ALGOS,
        low=0,
        priority=3,
        condition=_SOME,
    ),
    Metric(
        "bonus/share",
        "share of the bonus in the sizes of all advantages, its weight included",
        _ALGOS,
        unit="share",
        low=0,
        high=1,
        condition=_SOME,
    ),
    Metric(
        "bonus/value_loss",
        "half squared error of the bonus's own value function",
        _ALGOS,
        better="down",
        low=0,
        priority=3,
        condition=_SOME,
    ),
    Metric(
        "bonus/explained_variance",
        "how well that value function predicts what the bonus will pay: 1 perfectly, 0 as a constant would",
        _ALGOS,
        better="up",
        high=1,
        priority=3,
        may_be_nan=True,
        condition=_SOME,
    ),
    Metric(
        "bonus/loss",
        "loss of the network whose error is paid",
        _ALGOS,
        better="down",
        priority=3,
        condition="with rnd, noveld, icm and forward",
    ),
    Metric(
        "bonus/inverse",
        "how well ICM tells the action between two observations: share of choices, or explained variance",
        _ALGOS,
        better="up",
        high=1,
        priority=3,
        condition="with icm",
    ),
    Metric(
        "bonus/cells", "distinct cells visited so far", _ALGOS, better="up", low=0, condition="with counts"
    ),
    Metric(
        "bonus/new_cells",
        "cells that the newest rollout visited first",
        _ALGOS,
        low=0,
        priority=3,
        condition="with counts",
    ),
    Metric(
        "bonus/first_visits",
        "share of steps that led to a cell for the first time in their episode",
        _ALGOS,
        unit="share",
        low=0,
        high=1,
        condition="with episodic and noveld",
    ),
    Metric("bonus/events", "events per step, by their amount", _ALGOS, low=0, condition="with rarity"),
)
