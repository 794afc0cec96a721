"""What a curriculum needs of a run: stages that can be left, and environments of the first one."""

from gymsolve.config import TrainConfig
from gymsolve.curriculum.curriculum import Curriculum
from gymsolve.envs.describe import describe_env
from gymsolve.errors import ConfigError
from gymsolve.metrics.thresholds import task_thresholds

__all__ = ["build_curriculum"]


def build_curriculum(config: TrainConfig) -> Curriculum | None:
    """The curriculum that the settings ask for; a stage that nobody could ever leave is refused."""
    settings = config.curriculum
    if not settings.stages:
        return None
    solved = task_thresholds(config, describe_env(config.env, "eval"))
    bars = {one.name: settings.bar(one, config.solved_by, solved[one.name]) for one in settings.stages}
    by_success = settings.promotes_by_success(config.solved_by)
    fault = settings.find_dead_end(bars, by_success=by_success, budget=config.steps)
    if fault is not None:
        where, _, told = fault.partition(": ")
        raise ConfigError(f"{told}.", where=f"curriculum.{where}")
    return Curriculum(config, bars)
