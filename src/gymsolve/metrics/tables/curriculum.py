"""Where a curriculum stands."""

from gymsolve.metrics.metric import ACTOR_CRITICS, Metric

_LADDER = "when `curriculum.choice` is `ladder`"

CURRICULUM = (
    Metric(
        "curriculum/stage",
        "the stage that is being learned, counted from 1",
        unit="stage",
        low=1,
        priority=1,
        by=ACTOR_CRITICS,
        condition=_LADDER,
    ),
    Metric(
        "curriculum/achieved",
        "mean return, or share of successes, of the episodes that decide on promotion",
        unit="reward",
        better="up",
        by=ACTOR_CRITICS,
        condition=_LADDER,
    ),
    Metric(
        "curriculum/lower_bound",
        "what the stage surely achieves: promotion compares this with its threshold",
        unit="reward",
        better="up",
        by=ACTOR_CRITICS,
        condition=_LADDER,
    ),
    Metric(
        "curriculum/share/<stage>",
        "share of the copies that play a stage",
        unit="share",
        low=0,
        high=1,
        priority=3,
        by=ACTOR_CRITICS,
        condition="with a curriculum",
    ),
    Metric(
        "curriculum/score/<stage>",
        "mean size of the advantages in a stage, by which it is drawn",
        unit="reward",
        low=0,
        priority=3,
        by=ACTOR_CRITICS,
        condition="when `curriculum.choice` is `plr`",
    ),
)
