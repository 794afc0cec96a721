"""Metrics of the bonus for exploring: its size, its weight, and the cells that were visited."""

from gymsolve.metrics.metric import Metric, share, with_defaults

_SOME = "with a bonus (`explore`)"
_ALGOS = "ppo, a2c"

BONUS = with_defaults(
    Metric("bonus/mean", "what the bonus pays per step, before it is scaled", low=0),
    Metric(
        "bonus/paid", "the same as it is learned from: in spreads of its discounted sum", low=0, priority=3
    ),
    share("bonus/share", "share of the bonus in the sizes of all advantages, its weight included"),
    Metric(
        "bonus/value_loss",
        "half squared error of the bonus's own value function",
        better="down",
        low=0,
        priority=3,
    ),
    Metric(
        "bonus/explained_variance",
        "how well that value function predicts what the bonus will pay: 1 perfectly, 0 as a constant would",
        better="up",
        high=1,
        priority=3,
        may_be_nan=True,
    ),
    Metric(
        "bonus/loss",
        "loss of the network whose error is paid",
        better="down",
        priority=3,
        condition="with rnd, noveld, icm and forward",
    ),
    Metric(
        "bonus/inverse",
        "how well ICM tells the action between two observations: share of choices, or explained variance",
        better="up",
        high=1,
        priority=3,
        condition="with icm",
    ),
    Metric("bonus/cells", "distinct cells visited so far", better="up", low=0, condition="with counts"),
    Metric(
        "bonus/new_cells",
        "cells that the newest rollout visited first",
        low=0,
        priority=3,
        condition="with counts",
    ),
    share(
        "bonus/first_visits",
        "share of steps that led to a cell for the first time in their episode",
        condition="with episodic and noveld",
    ),
    Metric("bonus/events", "events per step, by their amount", low=0, condition="with rarity"),
    by=_ALGOS,
    condition=_SOME,
)
