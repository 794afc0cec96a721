"""Reward scaling: divides rewards by the running spread of their discounted sums."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gymsolve.experience.moments import merge_moments
from gymsolve.experience.rollout import Rollout
from gymsolve.extensions.extension import Extension, Setup, Site
from gymsolve.parts import Part, resize_rows
from gymsolve.settings.schedules import Progress, Schedule
from gymsolve.spec import Array


def scale_rewards(rewards: Array, factor: float | Array, limit: float) -> Array:
    """Rewards times a factor, within ±limit."""
    exact: Array = rewards * np.asarray(factor, np.float64)  # a plain float would round like the rewards
    return np.clip(exact, -limit, limit).astype(np.float32)


class RewardScaler(Part):
    """Divides rewards by the running spread of their discounted sums; each task has its own spread.

    The factor changes between rollouts, never within one. Raw episode returns are not scaled.
    """

    def __init__(self, num_envs: int, limit: float = 10.0, tasks: int = 0) -> None:
        shape = (tasks,) if tasks else ()
        self.mean, self.var, self.count = np.zeros(shape), np.ones(shape), np.zeros(shape)
        self.running = np.zeros(num_envs)  # [N] discounted sum so far
        self.limit = limit

    def scale(
        self, rewards: Array, done: Array, valid: Array, gamma: float, tasks: Array | None = None
    ) -> Array:
        """Scaled copy of `rewards` [T, N], after taking them into the statistics."""
        sums = np.empty(rewards.shape)
        counted = np.where(valid, rewards, 0.0)
        for t in range(len(rewards)):
            self.running = self.running * gamma + counted[t]
            sums[t] = self.running
            self.running = np.where(done[t], 0.0, self.running)
        if tasks is None:
            self.mean, self.var, self.count = merge_moments(self.mean, self.var, self.count, sums[valid])
        else:
            self._merge_each(sums, valid, tasks)
        factor = self.factors
        return scale_rewards(rewards, factor if tasks is None else factor[tasks], self.limit)

    @property
    def factors(self) -> Array:
        """The present factor of rewards; of several tasks, one for each."""
        return np.asarray(1.0 / np.sqrt(self.var + 1e-8), np.float64)

    def _merge_each(self, sums: Array, valid: Array, tasks: Array) -> None:
        rows = zip(self.mean, self.var, self.count, strict=True)
        merged = [merge_moments(*moments, sums[valid & (tasks == task)]) for task, moments in enumerate(rows)]
        self.mean, self.var, self.count = (np.array(column) for column in zip(*merged, strict=True))

    def begin(self, rows: list[int]) -> None:
        """Episodes of these rows have begun anew."""
        self.running = self.running.copy()
        self.running[rows] = 0.0

    def rollback_point(self) -> Callable[[], None]:
        """A function that restores the statistics; `scale` replaces them and never writes into them."""
        kept = self.mean, self.var, self.count, self.running

        def put_back() -> None:
            self.mean, self.var, self.count, self.running = kept

        return put_back

    def state(self) -> dict[str, Any]:
        arrays = {"mean": self.mean, "var": self.var, "count": self.count, "running": self.running}
        return {name: array.tolist() for name, array in arrays.items()}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        if "running" not in state:
            return ["the statistics of reward scaling start afresh"]
        self.mean = np.asarray(state["mean"], np.float64).reshape(np.shape(self.mean))
        self.var = np.asarray(state["var"], np.float64).reshape(np.shape(self.var))
        self.running = resize_rows(np.asarray(state["running"], np.float64), np.zeros_like(self.running))
        self.count = np.asarray(state["count"], np.float64).reshape(np.shape(self.count))
        return []

    def reseed(self, seed: int, env_steps: int) -> None:
        self.running = np.zeros_like(self.running)  # these episodes do not go on


class RewardScaling(RewardScaler, Extension):
    """Scales the rewards of every rollout."""

    def __init__(self, num_envs: int, gamma: Schedule, tasks: int) -> None:
        super().__init__(num_envs, tasks=tasks)
        self._gamma = gamma

    def shape(self, rollout: Rollout, progress: Progress) -> None:
        gamma, tasks = self._gamma.at(progress), rollout.task_numbers
        rollout.rewards[:] = self.scale(rollout.rewards, rollout.done, rollout.valid, gamma, tasks)


class ScalingSetup(Setup):
    """The setup for `algo.normalize_rewards`."""

    def build(self, site: Site) -> RewardScaling:
        envs = site.collector.envs
        return RewardScaling(envs.num_envs, self.config.algo.gamma, len(envs.spec.tasks))
