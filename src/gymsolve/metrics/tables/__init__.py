"""The catalogue's data: one row per metric, in the order in which they are shown."""

from gymsolve.metrics.metric import Group
from gymsolve.metrics.tables.archive import ARCHIVE
from gymsolve.metrics.tables.bonus import BONUS
from gymsolve.metrics.tables.curriculum import CURRICULUM
from gymsolve.metrics.tables.evaluation import EVALUATION
from gymsolve.metrics.tables.imitation import IMITATION
from gymsolve.metrics.tables.learning import HYPER, LEARNING
from gymsolve.metrics.tables.position import POSITION, TIME
from gymsolve.metrics.tables.rollout import DATA, EPISODES, TASKS

__all__ = ["GROUPS"]

GROUPS = (
    Group("Where the run is", POSITION),
    Group("Time", TIME),
    Group(
        "Training episodes",
        EPISODES,
        "Over the last 100 finished episodes; sampled actions, so usually below the evaluation.",
    ),
    Group("Tasks", TASKS, "Of each of several tasks (`env.tasks`), in training."),
    Group("What was collected", DATA, "Of the newest rollout."),
    Group("Learning", LEARNING),
    Group(
        "Exploring",
        BONUS,
        "Of the reward that a run pays itself; returns, evaluation and *solved* never see it.",
    ),
    Group("Curriculum", CURRICULUM, "Of a run with `curriculum.stages`."),
    Group(
        "The archive",
        ARCHIVE,
        "Of the places that episodes of training begin at; such episodes never enter returns or *solved*.",
    ),
    Group("Imitation", IMITATION, "Of a run that clones recorded episodes."),
    Group("Hyperparameters in force", HYPER),
    Group("Evaluation", EVALUATION),
)
