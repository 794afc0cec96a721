"""What counts as solved: the bar of a run, and of each of its tasks."""

from typing import TYPE_CHECKING

from gymsolve.config import TrainConfig

if TYPE_CHECKING:
    from gymsolve.spec import EnvSpec

__all__ = ["find_threshold", "task_thresholds"]


def task_thresholds(config: TrainConfig, spec: "EnvSpec") -> dict[str, float | None]:
    """The bar of each task: its own, that of all where it has no id of its own, else what is registered."""
    found: dict[str, float | None] = {}
    for name, registered in zip(spec.tasks, spec.task_thresholds, strict=True):
        task = config.env.tasks[name]
        shared = config.solved_at if task.id is None or config.solved_by == "success_rate" else None
        known = (task.solved_at, shared, registered if config.solved_by == "return" else None)
        found[name] = next((one for one in known if one is not None), None)
    return found


def find_threshold(config: TrainConfig, spec: "EnvSpec") -> float | None:
    """The bar of a run; of several tasks, the mean of their bars, which all of them must reach.

    Of a curriculum, that of its last stage.
    """
    if not spec.tasks:
        return spec.reward_threshold if config.solved_at is None else config.solved_at
    if config.curriculum.stages:
        return task_thresholds(config, spec)[config.curriculum.names[-1]]
    bars = task_thresholds(config, spec).values()
    known = [bar for bar in bars if bar is not None]
    return sum(known) / len(known) if len(known) == len(bars) else None
