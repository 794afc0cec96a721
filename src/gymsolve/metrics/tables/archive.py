"""What an archive of places reports: how much it holds, what is still found, and what is learned from it."""

from gymsolve.metrics.metric import Metric

_SOME = "with an archive (`explore.archive`)"
_TAUGHT = "in lessons from the archive (`explore.archive.learn_from`)"
_TASKS = "with an archive of several tasks (`env.tasks`)"
_ALGOS = "ppo, a2c"

ARCHIVE = (
    Metric(
        "archive/cells", "cells in the archive, of all tasks", _ALGOS, better="up", low=0, condition=_SOME
    ),
    Metric(
        "archive/new_cells", "cells that the newest rollout added", _ALGOS, low=0, priority=3, condition=_SOME
    ),
    Metric(
        "archive/better_cells",
        "known cells to which the newest rollout found a better way",
        _ALGOS,
        low=0,
        priority=3,
        condition=_SOME,
    ),
    Metric(
        "archive/best_score",
        "highest sum of rewards of any episode, as the agent sees them, those from the archive included; of "
        "several tasks the mean of those that have one",
        _ALGOS,
        better="up",
        condition=_SOME,
    ),
    Metric(
        "archive/true_starts",
        "share of the newest rollout's episodes that began at a reset",
        _ALGOS,
        unit="share",
        low=0,
        high=1,
        condition=_SOME,
    ),
    Metric(
        "archive/success",
        "share of the last 100 episodes from a reset that reached the goal or the threshold; of several "
        "tasks the mean of those that were played",
        _ALGOS,
        unit="share",
        better="up",
        low=0,
        high=1,
        priority=3,
        condition=_SOME,
    ),
    Metric(
        "archive/steps",
        "steps that are kept because they lead to a cell or belong to a trajectory worth learning",
        _ALGOS,
        low=0,
        priority=3,
        condition=_SOME,
    ),
    Metric("archive_cells/<task>", "cells of one task", _ALGOS, better="up", low=0, condition=_TASKS),
    Metric(
        "archive_best_score/<task>",
        "highest sum of rewards of any episode of one task",
        _ALGOS,
        better="up",
        priority=3,
        condition=_TASKS,
    ),
    Metric(
        "archive_success/<task>",
        "share of one task's last 100 episodes from a reset that reached its goal or threshold",
        _ALGOS,
        unit="share",
        better="up",
        low=0,
        high=1,
        priority=3,
        condition=_TASKS,
    ),
    Metric("archive/loss", "loss of lessons", _ALGOS, better="down", priority=3, condition=_TAUGHT),
    Metric("archive/lessons", "gradient steps of lessons", _ALGOS, low=0, priority=3, condition=_TAUGHT),
    Metric(
        "archive/better_share",
        "share of their steps that brought more than the value function expects",
        _ALGOS,
        unit="share",
        low=0,
        high=1,
        priority=3,
        condition=_TAUGHT,
    ),
)
