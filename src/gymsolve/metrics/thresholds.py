"""What counts as solved: the bar of a run, and of each of its tasks."""

from typing import TYPE_CHECKING

from gymsolve.settings.config import TrainConfig

if TYPE_CHECKING:
    from gymsolve.spec import EnvSpec


def task_thresholds(config: TrainConfig, spec: "EnvSpec") -> dict[str, float | None]:
    """The bar of each task: its own, that of all where it has no id of its own, else what is registered.

    The last stage of a curriculum is what the run is about, so the bar of all is its own, too; of earlier
    ones no more is asked than what leads to the next.
    """
    found: dict[str, float | None] = {}
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
        known = (task.solved_at, asked.get(name), shared, registered)
        found[name] = next((one for one in known if one is not None), None)
    return found


def find_threshold(config: TrainConfig, spec: "EnvSpec") -> float | None:
    """The bar of a run; of several tasks, the mean of their bars, which all of them must reach.

    Of a curriculum, that of its last stage.
    """
    if not config.env.tasks:
        return spec.reward_threshold if config.solved_at is None else config.solved_at
    if config.curriculum.stages:
        return task_thresholds(config, spec)[config.curriculum.names[-1]]
    bars = task_thresholds(config, spec).values()
    known = [bar for bar in bars if bar is not None]
    return sum(known) / len(known) if len(known) == len(bars) else None
