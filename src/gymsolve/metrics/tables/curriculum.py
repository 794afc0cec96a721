"""Metrics of curricula."""

from gymsolve.metrics.metric import ACTOR_CRITICS, Metric, share, with_defaults

_LADDER = "when `curriculum.choice` is `ladder`"

CURRICULUM = with_defaults(
    Metric(
        "curriculum/stage", "the stage that is being learned, counted from 1", unit="stage", low=1, priority=1
    ),
    Metric(
        "curriculum/achieved",
        "mean return, or share of successes, of the episodes that decide on promotion",
        unit="reward",
        better="up",
    ),
    Metric(
        "curriculum/lower_bound",
        "what the stage surely achieves: promotion compares this with its threshold",
        unit="reward",
        better="up",
    ),
    share(
        "curriculum/share/<stage>",
        "share of the copies that play a stage",
        priority=3,
        condition="with a curriculum",
    ),
    Metric(
        "curriculum/score/<stage>",
        "mean size of the advantages in a stage, by which it is drawn",
        unit="reward",
        low=0,
        priority=3,
        condition="when `curriculum.choice` is `plr`",
    ),
    by=ACTOR_CRITICS,
    condition=_LADDER,
)
