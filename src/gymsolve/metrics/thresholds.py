"""Thresholds: the return, or share of successes, at which a run or a task counts as solved."""

from gymsolve.settings.config import TrainConfig
from gymsolve.spec import EnvSpec


def task_thresholds(config: TrainConfig, spec: EnvSpec) -> dict[str, float | None]:
    """The threshold of each task: its own, else the run's, else the registered one of its environment.

    The run's threshold holds for tasks without an id of their own and for the last stage of a curriculum;
    earlier stages need no more than their `promote_at`.
    """
    thresholds: dict[str, float | None] = {}
    asked = {
        stage.name: config.curriculum.bar(stage, config.solved_by, None)
        for stage in config.curriculum.stages[:-1]
        if config.curriculum.is_judged_alike(config.solved_by)
    }
    # Settings and spaces are files of their own, and may have been edited.
    registered_bars = dict(zip(spec.tasks, spec.task_thresholds, strict=False))
    for name, task in config.env.tasks.items():
        every = task.id is None or config.solved_by == "success_rate" or name in config.curriculum.names[-1:]
        shared = config.solved_at if every else None
        registered = registered_bars.get(name) if config.solved_by == "return" else None
        candidates = (task.solved_at, asked.get(name), shared, registered)
        thresholds[name] = next((bar for bar in candidates if bar is not None), None)
    return thresholds


def find_threshold(config: TrainConfig, spec: EnvSpec) -> float | None:
    """The threshold of a run: of several tasks the mean of theirs, of a curriculum that of its last stage."""
    if not config.env.tasks:
        return spec.reward_threshold if config.solved_at is None else config.solved_at
    if config.curriculum.stages:
        return task_thresholds(config, spec)[config.curriculum.names[-1]]
    thresholds = task_thresholds(config, spec).values()
    bars = [bar for bar in thresholds if bar is not None]
    return sum(bars) / len(bars) if len(bars) == len(thresholds) else None
