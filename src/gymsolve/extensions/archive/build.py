"""Builds the archive of a run, and checks that its environments can jump. Nothing here needs torch."""

from collections.abc import Mapping

import numpy as np

from gymsolve.envs.backends.joined import JoinedEnvs
from gymsolve.envs.build import digest_settings
from gymsolve.envs.contract import Envs
from gymsolve.envs.make import make_joined
from gymsolve.errors import ConfigError
from gymsolve.experience.agent import Agent
from gymsolve.experience.collect import Collector
from gymsolve.extensions.archive.cell_keys import ArchiveCells, PlainCells, choose_archive_cells
from gymsolve.extensions.archive.frame_cells import FrameCells
from gymsolve.extensions.archive.go_explore import GoExplore, MadeBy
from gymsolve.extensions.archive.task_archive import TaskArchive
from gymsolve.extensions.exploration.cells import STATE
from gymsolve.extensions.exploration.needs import training_env
from gymsolve.extensions.extension import EnvRequest, Setup, Site, Stages
from gymsolve.metrics.thresholds import find_threshold, task_thresholds
from gymsolve.seeding import generator, integer_seeds
from gymsolve.settings.config import TrainConfig
from gymsolve.spec import Array, EnvSpec, Obs

_TRIED = 6
"""Steps of the check that environments can jump."""


class ArchiveSetup(Setup):
    """The setup for `explore.archive`."""

    def ask(self, request: EnvRequest) -> EnvRequest:
        return request._replace(jumps=True)

    def build(self, site: Site) -> GoExplore:
        archive = build_archive(site)
        if archive.settings.learn_from != "nothing":
            from gymsolve.extensions.archive.imitation import build_imitation  # needs torch

            archive.lessons = build_imitation(archive, site)
        return archive


def build_archive(site: Site) -> GoExplore:
    """The archive of the settings; the collector uses it from now on."""
    config, collector = site.config, site.collector
    settings, envs = config.explore.archive, collector.envs
    assert settings is not None
    bars = _success_bars(site)
    _require_jumps(config, collector)
    if isinstance(envs, JoinedEnvs):
        tasks = [
            TaskArchive(settings, _cells(config, fit.own, name, fit.number), bars[name], name, fit)
            for name, fit in envs.fits.items()
        ]
    else:
        tasks = [TaskArchive(settings, _cells(config, envs.spec), bars[""])]
    recalls = collector.agent.memory is not None
    made_by = MadeBy(digest_settings(config.env), digest_settings(training_env(config)))
    archive = GoExplore(
        settings, envs, tasks, config.algo.num_steps, config.seed, made_by=made_by, recalls=recalls
    )
    collector.starts = archive
    return archive


def _success_bars(site: Site) -> dict[str, float | None]:
    """The return that counts as a success, by task: the threshold of a stage, or of the task.

    A single task has no name.
    """
    config, spec = site.config, site.collector.envs.spec
    solved = task_thresholds(config, spec) if config.env.tasks else {"": find_threshold(config, spec)}
    bars = dict(solved) if config.solved_by == "return" else dict.fromkeys(solved)
    for extension in site.extensions.values():
        if isinstance(extension, Stages):
            bars |= extension.success_bars()
    return bars


def _cells(config: TrainConfig, spec: EnvSpec, name: str = "", number: int | None = None) -> ArchiveCells:
    """The cells of a single task, or of one of several, with its own observations."""
    kind = choose_archive_cells(config.explore, spec, has_state=STATE in spec.watched)
    entries = () if kind == "state" else _entries(config, spec, name)  # a full state has no entries
    settings = config.explore.model_copy(update={"entries": entries})
    assert settings.archive is not None
    if kind != "frames":
        key = () if number is None else (number,)
        return PlainCells(settings, spec, kind, generator(config.seed, "bonus", 3, *key))
    picture, entry = next(
        (key, entry)
        for key, entry in spec.obs.items()
        if entry.kind == "image" and (not settings.entries or key in settings.entries)
    )
    return FrameCells(settings.archive, picture, entry, config.env.frame_stack)


def _entries(config: TrainConfig, spec: EnvSpec, name: str) -> tuple[str, ...]:
    """The entries of `explore.entries` that the task has."""
    asked = config.explore.entries
    entries = tuple(entry for entry in asked if entry in spec.obs)
    if asked and not entries:
        raise ConfigError(
            f"the observation of the task {name!r} has none of these entries, so its places are all one.",
            where="explore.entries",
            hint=f"Name one of its entries, too: {', '.join(spec.obs)}.",
        )
    return entries


def _require_jumps(config: TrainConfig, collector: Collector) -> None:
    """Check in every task that an environment can be put back into a saved state."""
    envs, seed = collector.envs, config.seed
    rows = envs.rows if isinstance(envs, JoinedEnvs) else {envs.spec.id: [0]}
    here = {name: places[0] for name, places in rows.items() if places}
    _try_jump(envs, collector.agent, (collector.obs, collector.masks), here)
    for name in (name for name in rows if name not in here):  # stages that are played later
        alone = make_joined(training_env(config), "train", num_envs=1, task=name, jumps=True)
        try:
            first = alone.reset(integer_seeds(seed, "env", 1))
            _try_jump(alone, Agent(collector.agent.policy, 1), first, {name: 0})
        finally:
            alone.close()
    collector.begin(integer_seeds(seed, "env", envs.num_envs))


def _try_jump(envs: Envs, agent: Agent, seen: tuple[Obs, Array | None], rows: Mapping[str, int]) -> None:
    """Take some steps from the observations `seen`, and jump back; `rows` has an environment of each task."""
    rng, to_env = np.random.default_rng(0), agent.policy.spec.action.to_env
    for _ in range(_TRIED):
        step = envs.step(to_env(agent.act(*seen, rng).actions))
        seen = step.obs, step.masks
    for name, row in rows.items():
        (saved,) = envs.snapshots([row])
        if saved is not None and not envs.jump([row], [saved], [0])[2]:
            continue
        raise ConfigError(
            f"{name} cannot be put back where it was, by a snapshot or by repeating its actions, and an "
            "archive is made of such places.",
            where="explore.archive",
            hint="Draw all randomness from self.np_random, as Gymnasium asks, or use a bonus: explore=rnd.",
        )
