"""Metrics of behaviour cloning: how well the policy repeats recorded actions."""

from gymsolve.metrics.metric import ACTOR_CRITICS, Metric, share, with_defaults

_SOME = "with recorded episodes (`imitate`)"

IMITATION = with_defaults(
    Metric("imitate/loss", "mean −log π of recorded actions", unit="nats", better="down"),
    share(
        "imitate/agreement",
        "share of recorded actions that the policy thinks likeliest",
        better="up",
        condition=f"{_SOME}, when actions are choices",
    ),
    by=ACTOR_CRITICS,
    condition=_SOME,
)
