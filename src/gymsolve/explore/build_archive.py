"""Settings → the archive of a run, and a trial of what it needs. Nothing here needs torch."""

import numpy as np

from gymsolve.config import TrainConfig
from gymsolve.errors import ConfigError
from gymsolve.explore.archive_cells import ArchiveCells, PlainCells, choose_archive_cells
from gymsolve.explore.cells import STATE
from gymsolve.explore.frame_cells import FrameCells
from gymsolve.explore.go_explore import GoExplore
from gymsolve.rollout.collect import Collector
from gymsolve.seeding import generator, integer_seeds
from gymsolve.spec import EnvSpec

__all__ = ["build_explorer"]

_TRIED = 6
"""Steps after which a trial goes back to where it was."""


def build_explorer(config: TrainConfig, collector: Collector) -> GoExplore:
    """The archive that the settings ask for, which the collector follows from now on."""
    settings, envs = config.explore.archive, collector.envs
    assert settings is not None
    _require_jumps(collector, config.seed)
    cells = _cells(config, envs.spec)
    threshold = envs.spec.reward_threshold if config.solved_at is None else config.solved_at
    explorer = GoExplore(
        *(settings, envs, cells, config.algo.num_steps, config.seed),
        threshold if config.solved_by == "return" else None,
    )
    collector.starts = explorer
    return explorer


def _cells(config: TrainConfig, spec: EnvSpec) -> ArchiveCells:
    settings = config.explore
    assert settings.archive is not None
    kind = choose_archive_cells(settings, spec, has_state=STATE in spec.watched)
    if kind != "frames":
        return PlainCells(settings, spec, kind, generator(config.seed, "bonus", 3))
    key, entry = next(
        (key, entry)
        for key, entry in spec.obs.items()
        if entry.kind == "image" and (not settings.entries or key in settings.entries)
    )
    return FrameCells(settings.archive, key, entry, config.env.frame_stack)


def _require_jumps(collector: Collector, seed: int) -> None:
    """Go some steps, save the place, and go back to it: an archive is of no use where that fails."""
    envs, rng = collector.envs, np.random.default_rng(0)
    agent, to_env = collector.agent, collector.agent.policy.spec.action.to_env
    obs, masks = collector.obs, collector.masks
    for _ in range(_TRIED):
        step = envs.step(to_env(agent.act(obs, masks, rng).actions))
        obs, masks = step.obs, step.masks
    saved = envs.snapshots([0])
    lost = [0] if saved[0] is None else envs.jump([0], [saved[0]], [0])[2]
    if lost:
        raise ConfigError(
            f"{envs.spec.id} cannot be put back where it was, by a snapshot or by repeating its actions, and "
            "an archive is made of such places.",
            where="explore.archive",
            hint="Draw all randomness from self.np_random, as Gymnasium asks, or use a bonus: explore=rnd.",
        )
    collector.begin(integer_seeds(seed, "env", envs.num_envs))
