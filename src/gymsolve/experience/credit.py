"""Credit: advantages and value targets of each step of a rollout.

An algorithm gives credit with one pure function of a rollout; statistics, tables and the search for bad
numbers call the same function. Rewards may come in several streams: the task's own and those of bonuses. The
advantages of all streams are summed; each stream has value targets of its own.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gymsolve.experience.learning import explained_variance, flatten
from gymsolve.experience.returns import endless_gae, finished, gae, monte_carlo, standardize, standardize_each
from gymsolve.experience.rollout import Rollout, Stream
from gymsolve.settings.config import A2CConfig, PPOConfig, ReinforceConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array

TASK = "task"
"""The stream of the environment's own rewards."""


class Credited(NamedTuple):
    """The steps that an update uses, flat."""

    advantages: Array  # [B]
    returns: Array  # [B] value targets
    values: Array  # [B] predictions at the time of collection
    tasks: Array | None = None  # [B] numbers of their tasks; None where there is one
    paid: bool = True
    """True if any step of the rollout was rewarded."""

    def explained_variance(self) -> float:
        """NaN without a reward: targets then follow from the values alone, and hardly vary."""
        return explained_variance(self.values, self.returns) if self.paid else float("nan")


@dataclass(frozen=True)
class Credit:
    """Credit by step [T, N]; `rows` are the steps that the algorithm uses."""

    rows: Array  # [T, N] bool
    advantages: Array  # [T, N] of all streams, before they are normalised
    targets: dict[str, Array]  # [T, N] value targets by stream
    mean_return: float | None = None
    """The running baseline after this rollout; None for an algorithm without one."""
    by_task: bool = False
    """True if advantages are normalised within each task."""

    def flat(self, rollout: Rollout, *, normalized: str) -> Credited:
        """The rows that a loss is computed from; `normalized` by `rollout`, by `task`, or by neither."""
        advantages = flatten(self.advantages, self.rows)
        numbers = rollout.task_numbers
        tasks = None if numbers is None else flatten(numbers, self.rows)
        if normalized == "task" and tasks is not None:
            advantages = standardize_each(advantages, tasks)
        elif normalized in ("rollout", "task"):
            advantages = standardize(advantages)
        return Credited(
            advantages,
            flatten(self.targets[TASK], self.rows),
            flatten(rollout.values, self.rows).copy(),
            tasks,
            paid=bool(rollout.rewards.any()),
        )


def actor_critic_credit(rollout: Rollout, config: PPOConfig | A2CConfig, progress: Progress) -> Credit:
    """Generalised advantages, computed with the values from the time of collection."""
    gamma, gae_lambda = config.gamma.at(progress), config.gae_lambda.at(progress)
    ends = rollout.terminated, rollout.truncated
    values = rollout.values, rollout.next_values
    exact = gae(rollout.rewards, *values, *ends, gamma=gamma, gae_lambda=gae_lambda)
    advantages: Array = exact.astype(np.float32)
    targets = {TASK: advantages + rollout.values}
    for name, stream in rollout.streams.items():
        more = stream_advantages(rollout, stream, gae_lambda)
        targets[name] = more + stream.values
        advantages = advantages + np.float32(stream.weight) * more
    return Credit(rollout.valid, advantages, targets, by_task=config.normalize_advantages == "task")


def stream_advantages(rollout: Rollout, stream: Stream, gae_lambda: float) -> Array:
    """Generalised advantages of one stream, before they are weighed.

    A stream that is not episodic goes on across ends, and skips rows that a backend spent on a reset.
    """
    values, gamma = (stream.rewards, stream.values, stream.next_values), stream.gamma
    if stream.episodic:
        ends = rollout.terminated, rollout.truncated
        return gae(*values, *ends, gamma=gamma, gae_lambda=gae_lambda).astype(np.float32)
    return endless_gae(*values, rollout.valid, gamma=gamma, gae_lambda=gae_lambda).astype(np.float32)


def monte_carlo_credit(
    rollout: Rollout, config: ReinforceConfig, progress: Progress, mean_return: float | None
) -> Credit:
    """REINFORCE's weights: returns from each step on, or of its whole episode, minus a baseline.

    Only steps whose episode ended inside the rollout are used. `mean_return` is the running baseline before
    this rollout.
    """
    gamma = config.gamma.at(progress)
    rows = finished(rollout.terminated, rollout.truncated) & rollout.valid
    to_go = _rewards_to_go(rollout, config, gamma, mean_return)
    earned = _whole_episode(to_go, rollout) if config.returns == "episode" else to_go
    baseline: Array | float = 0.0
    if config.baseline == "value":
        baseline = rollout.values
    elif config.baseline == "mean" and rows.any():
        now = float(flatten(earned, rows).mean())
        baseline = mean_return = now if mean_return is None else 0.9 * mean_return + 0.1 * now
    advantages = (earned - baseline).astype(np.float32)
    by_task = config.normalize_advantages == "task"
    return Credit(rows, advantages, {TASK: to_go.astype(np.float32)}, mean_return, by_task)


def _rewards_to_go(
    rollout: Rollout, config: ReinforceConfig, gamma: float, mean_return: float | None
) -> Array:
    """Discounted sums of rewards [T, N] to the end of each episode."""
    tails = np.zeros_like(rollout.values)
    if config.baseline == "value":
        tails = rollout.next_values
    elif config.baseline == "mean" and mean_return is not None and gamma < 1.0:
        # Without a discount, an estimate that feeds on itself would grow without bound.
        tails = np.full_like(rollout.values, mean_return)
    return monte_carlo(rollout.rewards, tails, rollout.terminated, rollout.truncated, gamma=gamma)


def _whole_episode(to_go: Array, rollout: Rollout) -> Array:
    """Every step of an episode gets the return from its first step in the rollout."""
    begins = np.ones(to_go.shape, bool)
    begins[1:] = rollout.done[:-1] | ~rollout.valid[:-1]
    whole = to_go.copy()
    for t in range(1, len(to_go)):
        whole[t] = np.where(begins[t], to_go[t], whole[t - 1])
    return whole
