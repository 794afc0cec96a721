"""Metrics of behaviour cloning: how well the policy repeats recorded actions."""

from gymsolve.metrics.metric import Metric

_SOME = "with recorded episodes (`imitate`)"
_ALGOS = "ppo, a2c, reinforce"

IMITATION = (
    Metric(
        "imitate/loss",
        "mean −log π of recorded actions",
        _ALGOS,
        unit="nats",
        better="down",
        condition=_SOME,
    ),
    Metric(
        "imitate/agreement",
        "share of recorded actions that the policy thinks likeliest",
        _ALGOS,
        unit="share",
        better="up",
        low=0,
        high=1,
        condition=f"{_SOME}, when actions are choices",
    ),
)
