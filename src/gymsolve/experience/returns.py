"""Advantages and returns. Works on [T], [T, N] or any shape with time first.

`terminated` ends the future: nothing after it counts. `truncated` only ends the recording: `next_values`, the
value of the true last observation, stands for the future. Neither lets anything flow across the reset that
follows.
"""

import numpy as np

from gymsolve.spec import Array


def gae(
    rewards: Array,
    values: Array,
    next_values: Array,
    terminated: Array,
    truncated: Array,
    *,
    gamma: float,
    gae_lambda: float,
) -> Array:
    """Generalised advantage estimates.

    delta = r + γ·next_value·(1 − terminated) − value;  adv = delta + γλ·(1 − done)·adv_next
    """
    deltas = rewards + gamma * next_values * ~terminated - values
    keep = (gamma * gae_lambda) * ~(terminated | truncated)
    advantages = deltas.astype(np.float64)  # in double, since the loop adds to each row in place
    future: Array | float = 0.0
    for row, kept in zip(_rows(advantages)[::-1], _rows(keep)[::-1], strict=True):
        row += kept * future
        future = row
    return advantages.astype(deltas.dtype)


def endless_gae(
    rewards: Array, values: Array, next_values: Array, valid: Array, *, gamma: float, gae_lambda: float
) -> Array:
    """Generalised advantage estimates that no end of an episode cuts.

    `next_values` are those of the next valid row; rows that are not valid are skipped.
    """
    advantages = (rewards + gamma * next_values - values).astype(np.float64)
    future: Array = np.zeros(rewards.shape[1:])
    for t in range(len(rewards) - 1, -1, -1):
        advantages[t] += gamma * gae_lambda * future
        future = np.where(valid[t], advantages[t], future)
    return advantages.astype(np.result_type(rewards, values))


def _rows(array: Array) -> Array:
    """[T, …] → [T, n], a view; iterating over [T] would give copies of its numbers."""
    return array.reshape(len(array), -1)


def monte_carlo(
    rewards: Array, tail_values: Array, terminated: Array, truncated: Array, *, gamma: float
) -> Array:
    """Discounted sums of the rewards up to the episode's end.

    Where an episode was cut, by a time limit or by the rollout's last step, `tail_values` estimates the rest;
    give zeros only if nothing is known about it (see `finished`).
    """
    cut = truncated & ~terminated
    returns = np.empty(rewards.shape, np.result_type(rewards, tail_values, np.float32))
    future = tail_values[-1]
    for t in range(len(rewards) - 1, -1, -1):
        future = np.where(terminated[t], 0.0, np.where(cut[t], tail_values[t], future))
        future = rewards[t] + gamma * future
        returns[t] = future
    return returns


def finished(terminated: Array, truncated: Array) -> Array:
    """True at steps whose episode ended inside the recording."""
    done = terminated | truncated
    ended: Array = np.logical_or.accumulate(done[::-1], axis=0)[::-1]
    return ended


def standardize(values: Array) -> Array:
    """Zero mean, unit spread; one number alone, or equal ones, become zeros."""
    # In double: the rounding error of a float32 mean is as large as 1e-8.
    exact = values.astype(np.float64)
    scaled: Array = (exact - exact.mean()) / (exact.std() + 1e-8)
    return scaled.astype(values.dtype)


def standardize_each(values: Array, tasks: Array) -> Array:
    """Zero mean and unit spread among the rows of each task: `values` [B], `tasks` [B]."""
    scaled = np.empty_like(values)
    for task in np.unique(tasks):
        mine = tasks == task
        scaled[mine] = standardize(values[mine])
    return scaled
