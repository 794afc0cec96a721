"""How often an environment pays, under random actions: what `algo.num_steps: auto` goes by.

A reward that is the same in every step tells nothing by itself, be it 0 or -1. What counts is where it
differs; and where every step pays alike, the end, since only the length of an episode makes a difference.
"""

import time
from dataclasses import dataclass

import numpy as np

from gymsolve.config import EnvConfig
from gymsolve.envs.make import make_envs
from gymsolve.envs.random_policy import blind_actions

__all__ = ["Pay", "measure_pay"]

_COPIES = 8
_VECTOR_STEPS = 2048
_SECONDS = 2.0
"""So many steps give the same answer everywhere; only slow environments are cut short."""


@dataclass(frozen=True)
class Pay:
    """Counts over all copies."""

    env_steps: int
    usual: float
    """The commonest reward."""
    other: int
    """Steps that paid something else."""
    episodes: int
    terminated: int
    mean_length: float | None
    """Of finished episodes; None without any."""
    limit: int | None
    """Steps after which an episode is cut."""

    @property
    def between(self) -> float | None:
        """Mean number of steps from one reward that tells something to the next; None if none was seen."""
        telling = self.other + (self.terminated if self.usual else 0)
        return self.env_steps / telling if telling else None

    @property
    def longest(self) -> float | None:
        """How long an episode is, as far as it is known."""
        return self.mean_length or self.limit


def measure_pay(config: EnvConfig) -> Pay:
    """Act at random in copies of the environment as the agent sees it."""
    envs = make_envs(config.model_copy(update={"backend": "sync"}), "train", num_envs=_COPIES)
    rng, action = np.random.default_rng(0), envs.spec.action
    counts: dict[float, int] = {}
    lengths: list[int] = []
    cut = 0
    try:
        masks = envs.reset(list(range(_COPIES)))[1]
        began = time.perf_counter()
        for _ in range(_VECTOR_STEPS):
            step = envs.step(action.to_env(blind_actions(action, _COPIES, masks, rng)))
            masks = step.masks
            for reward in step.rewards[step.valid].tolist():
                counts[reward] = counts.get(reward, 0) + 1
            lengths += [episode.length for episode in step.episodes]
            cut += sum(episode.truncated for episode in step.episodes)
            if time.perf_counter() - began > _SECONDS:
                break
    finally:
        envs.close()
    total, usual = sum(counts.values()), max(counts, key=lambda reward: counts[reward])
    return Pay(
        env_steps=total,
        usual=usual,
        other=total - counts[usual],
        episodes=len(lengths),
        terminated=len(lengths) - cut,
        mean_length=float(np.mean(lengths)) if lengths else None,
        limit=envs.spec.max_episode_steps,
    )
