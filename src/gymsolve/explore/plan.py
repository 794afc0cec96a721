"""What exploring needs of a run: wrappers around the environments that train, and settings that can work.

Nothing here needs torch: a run without a bonus must not wait for it.
"""

from gymsolve.config import EnvConfig, TrainConfig, WrapperConfig
from gymsolve.errors import ConfigError, did_you_mean
from gymsolve.explore_config import COUNTING
from gymsolve.spec import EnvSpec

__all__ = ["require_sense", "training_env"]


def training_env(config: TrainConfig) -> EnvConfig:
    """The environments that train: with what the bonus is told, and with repeated actions.

    Neither is there when the policy is judged or plays. Repeating is a property of the environment that
    trains: the policy's choice and its probability are what the rollout stores, and now and then the
    environment does what it did before instead. So ratios stay exact and the credit is unbiased for a task
    with such a habit; the alternative, storing the repeated action, would learn from choices nobody made.
    """
    settings, env = config.explore, config.env
    more: list[WrapperConfig] = []
    if settings.repeat:
        more.append(WrapperConfig(name="sticky_actions", options={"probability": settings.repeat}))
    told: dict[str, object] = {"events": list(settings.events)} if settings.events else {}
    if settings.bonus in COUNTING and settings.cells == "state":
        told["state"] = True
    if told:
        more.append(WrapperConfig(name="watch", options=told))
    if not more:
        return env
    tasks = {
        name: task if task.wrappers is None else task.model_copy(update={"wrappers": (*task.wrappers, *more)})
        for name, task in env.tasks.items()
    }
    return env.model_copy(update={"wrappers": (*env.wrappers, *more), "tasks": tasks})


def require_sense(config: TrainConfig, spec: EnvSpec) -> None:
    """Refuse a bonus that cannot be paid."""
    settings = config.explore
    if settings.bonus == "none":
        return
    if config.algo.whole_episodes:
        raise ConfigError(
            f"{config.algo.name} learns from finished episodes alone, and a bonus counts beyond them.",
            where="explore.bonus",
            hint="Use algo.name=ppo or algo.name=a2c.",
        )
    for entry in settings.entries:
        if entry not in spec.obs:
            raise ConfigError(
                f"the observation has no entry {entry!r}.",
                where="explore.entries",
                hint=did_you_mean(entry, spec.obs) or f"Its entries are: {', '.join(spec.obs)}.",
            )
