"""Metrics of the archive: its size, its growth, and the lessons from it."""

from gymsolve.metrics.metric import Metric, share, with_defaults

_SOME = "with an archive (`explore.archive`)"
_TAUGHT = "in lessons from the archive (`explore.archive.learn_from`)"
_TASKS = "with an archive of several tasks (`env.tasks`)"
_ALGOS = "ppo, a2c"

ARCHIVE = with_defaults(
    Metric("archive/cells", "cells in the archive, of all tasks", better="up", low=0),
    Metric("archive/new_cells", "cells that the newest rollout added", low=0, priority=3),
    Metric(
        "archive/better_cells",
        "known cells to which the newest rollout found a better way",
        low=0,
        priority=3,
    ),
    Metric(
        "archive/best_score",
        "highest sum of rewards of any episode, as the agent sees them, those from the archive included; of "
        "several tasks the mean of those that have one",
        better="up",
    ),
    share("archive/true_starts", "share of the newest rollout's episodes that began at a reset"),
    share(
        "archive/success",
        "share of the last 100 episodes from a reset that reached the goal or the threshold; of several "
        "tasks the mean of those that were played",
        better="up",
        priority=3,
    ),
    Metric(
        "archive/steps",
        "steps that are kept because they lead to a cell or belong to a trajectory worth learning",
        low=0,
        priority=3,
    ),
    Metric("archive_cells/<task>", "cells of one task", better="up", low=0, condition=_TASKS),
    Metric(
        "archive_best_score/<task>",
        "highest sum of rewards of any episode of one task",
        better="up",
        priority=3,
        condition=_TASKS,
    ),
    share(
        "archive_success/<task>",
        "share of one task's last 100 episodes from a reset that reached its goal or threshold",
        better="up",
        priority=3,
        condition=_TASKS,
    ),
    Metric("archive/loss", "loss of lessons", better="down", priority=3, condition=_TAUGHT),
    Metric("archive/lessons", "gradient steps of lessons", low=0, priority=3, condition=_TAUGHT),
    share(
        "archive/better_share",
        "share of their steps that brought more than the value function expects",
        priority=3,
        condition=_TAUGHT,
    ),
    by=_ALGOS,
    condition=_SOME,
)
