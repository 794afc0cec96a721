"""Metrics of steps, progress and time."""

from gymsolve.metrics.metric import Metric, share, with_defaults

POSITION = with_defaults(
    Metric(
        "env_steps",
        "steps of all environments, summed; resets that cost a step are not counted",
        unit="steps",
        low=0,
        priority=1,
    ),
    Metric("vec_steps", "calls of the vector environment's `step`", unit="steps", low=0, priority=3),
    Metric("updates", "updates done, one per rollout", low=0, priority=3),
    share("progress", "share of the budget, 0 to 1", priority=1),
    by="both",
)

TIME = (
    Metric(
        "time/elapsed",
        "seconds spent collecting, learning and (unless asynchronous) evaluating, over all sittings",
        unit="s",
        low=0,
        priority=1,
    ),
    Metric(
        "time/fps",
        "environment steps per second of the newest iteration, collecting and learning",
        unit="steps/s",
        better="up",
        low=0,
        priority=1,
    ),
    Metric(
        "time/collect_seconds",
        "seconds the newest rollout took",
        "all",
        unit="s",
        better="down",
        low=0,
        priority=3,
    ),
    Metric(
        "time/update_seconds",
        "seconds the newest update took",
        "all",
        unit="s",
        better="down",
        low=0,
        priority=3,
    ),
    Metric(
        "time/updates_per_second",
        "updates per second since the record before",
        unit="1/s",
        better="up",
        low=0,
    ),
    *(
        share(
            f"time/{part}_share",
            f"share of the time since the record before that went into {what}",
            priority=3,
        )
        for part, what in (
            ("env", "stepping environments"),
            ("act", "choosing actions"),
            ("update", "learning"),
            ("eval", "evaluating"),
            ("checkpoint", "saving checkpoints"),
            ("record", "writing and judging records"),
            ("diagnose", "measuring"),
        )
    ),
    Metric(
        "time/checkpoint_seconds",
        "seconds that the checkpoint since the record before took; of several, the longest",
        unit="s",
        better="down",
        low=0,
        priority=3,
        condition="after a checkpoint",
    ),
    Metric(
        "time/diagnose_seconds",
        "seconds spent measuring since the record before",
        unit="s",
        low=0,
        priority=3,
    ),
    Metric(
        "time/memory",
        "largest memory of the training process so far",
        unit="MB",
        better="down",
        low=0,
        priority=3,
    ),
)
