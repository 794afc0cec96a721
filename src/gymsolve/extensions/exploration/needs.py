"""The setup of exploration: wrappers around the environments that train, and checks of the settings.

It does not import torch, so a run without a bonus does not wait for it.
"""

from gymsolve.envs.describe import describe
from gymsolve.envs.families import find_family
from gymsolve.errors import ConfigError, did_you_mean
from gymsolve.extensions.archive.cell_keys import choose_archive_cells
from gymsolve.extensions.extension import EnvRequest, Extension, Setup, Site
from gymsolve.settings.config import (
    A2CConfig,
    EnvConfig,
    PPOConfig,
    ReinforceConfig,
    TrainConfig,
    WrapperConfig,
)
from gymsolve.settings.exploration import COUNTING
from gymsolve.spec import EnvSpec


def training_env(config: TrainConfig) -> EnvConfig:
    """The settings of the environments that train: with watched numbers for bonuses, and repeated actions.

    Environments of evaluation and play have neither. The environment repeats actions; the rollout stores the
    policy's choice and its probability. So ratios stay exact and the credit is unbiased for such an
    environment; a rollout with repeated actions would contain choices that the policy did not make.
    """
    env = config.env
    if not env.tasks:
        return env.model_copy(update={"wrappers": (*env.wrappers, *_further(config, env))})
    tasks = {}
    for name, task in env.tasks.items():
        own = env.wrappers if task.wrappers is None else task.wrappers
        more = _further(config, env.for_task(name))
        tasks[name] = task.model_copy(update={"wrappers": (*own, *more)}) if more else task
    return env.model_copy(update={"tasks": tasks})


def _further(config: TrainConfig, env: EnvConfig) -> list[WrapperConfig]:
    """Further wrappers around `env`, the environment of the run or of one of its tasks."""
    settings = config.explore
    more: list[WrapperConfig] = []
    if settings.repeat:
        more.append(WrapperConfig(name="sticky_actions", options={"probability": settings.repeat}))
    watched: dict[str, object] = {"events": list(settings.events)} if settings.events else {}
    if (settings.bonus in COUNTING and settings.cells == "state") or _archives_states(config, env):
        watched["state"] = True
    if watched:
        more.append(WrapperConfig(name="watch", options=watched))
    return more


def _archives_states(config: TrainConfig, env: EnvConfig) -> bool:
    """True if the cells of an archive are the environment's full states."""
    archive = config.explore.archive
    if archive is None or archive.cells not in ("auto", "state"):
        return False
    readable = find_family(env.id).state is not None
    if archive.cells == "state":
        if not readable:
            raise ConfigError(
                f"gymsolve does not know how to read the full state of {env.id}.",
                where="explore.archive.cells",
                hint="Use explore.archive.cells=auto.",
            )
        return True
    spec = describe(env, "train").spec if readable else None
    return spec is not None and choose_archive_cells(config.explore, spec, has_state=True) == "state"


class ExplorationSetup(Setup):
    """The setup for the section `explore`, also for wrappers alone."""

    def ask(self, request: EnvRequest) -> EnvRequest:
        return request._replace(env=training_env(self.config))

    def check(self, spec: EnvSpec) -> None:
        """Refuse a bonus that cannot be paid, and an archive that cannot be used."""
        settings, algo = self.config.explore, self.config.algo
        kinds = {
            "archive": (settings.archive is not None, "an archive leaves some unfinished"),
            "bonus": (settings.bonus != "none", "a bonus counts beyond them"),
        }
        for name, (asked, why) in kinds.items():
            if asked and algo.whole_episodes:
                raise ConfigError(
                    f"{algo.name} learns from finished episodes alone, and {why}.",
                    where=f"explore.{name}",
                    hint="Use algo.name=ppo or algo.name=a2c.",
                )
            if asked and not isinstance(algo, PPOConfig | A2CConfig | ReinforceConfig):
                raise ConfigError(
                    f"{algo.name} does not add the advantages of a second kind of reward to its own.",
                    where=f"explore.{name}",
                    hint="Derive its settings from PPOConfig or A2CConfig, or use algo.name=ppo.",
                )
        if any(asked for asked, _ in kinds.values()):
            _require_entries(self.config, spec)

    def build(self, site: Site) -> Extension | None:
        if self.config.explore.bonus == "none":
            return None
        from gymsolve.extensions.exploration.build import build_bonus  # needs torch, whatever the engine

        site.collector.keeps_ends = True
        return build_bonus(site)


def _require_entries(config: TrainConfig, spec: EnvSpec) -> None:
    for entry in config.explore.entries:
        if entry not in spec.obs:
            raise ConfigError(
                f"the observation has no entry {entry!r}.",
                where="explore.entries",
                hint=did_you_mean(entry, spec.obs) or f"Its entries are: {', '.join(spec.obs)}.",
            )
