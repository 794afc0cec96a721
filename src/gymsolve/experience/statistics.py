"""Statistics of rewards, credit, observations and actions of a rollout: pure functions, metrics by name.

Rows that a backend spent on a reset count nowhere. Sums are in double precision, so that tests can compare
them with their definitions.
"""

import math
from collections.abc import Mapping

import numpy as np

from gymsolve.experience.credit import TASK, Credit
from gymsolve.experience.frames import take_rows
from gymsolve.experience.learning import flatten
from gymsolve.experience.rollout import Rollout
from gymsolve.metrics.action_shares import choice_ranges, share_name
from gymsolve.spec import ActionSpec, Array, Obs

_FEWEST_ENDS = 8
"""Episodes that must end in a rollout before a correlation over them means anything."""
_LARGE, _MOST_LARGE = 1024, 128
"""An observation with more numbers than this is large; this many rows of large ones are measured."""
_MOST_FIRST = 64
"""At most this many beginnings of episodes are measured in a rollout."""
_NEAR_BOUND = 0.99
"""Share of half the action's range from which on an action counts as at its bound."""


def describe(named: Mapping[str, Array]) -> dict[str, float]:
    """Mean, spread, ends and 95th percentile of the size (nearest rank) of each; all of one length, not 0."""
    exact = np.array([*named.values()], np.float64)  # [series, B]
    size = exact.shape[1]
    means = np.add.reduce(exact, axis=1) / size
    away = exact - means[:, None]
    rank = math.ceil(0.95 * size) - 1
    sizes = np.abs(exact)
    sizes.partition(rank, axis=1)
    columns = {
        "mean": means,
        "std": np.sqrt(np.add.reduce(away * away, axis=1) / size),
        "min": np.minimum.reduce(exact, axis=1),
        "max": np.maximum.reduce(exact, axis=1),
        "p95abs": sizes[:, rank],
    }
    lists = {what: column.tolist() for what, column in columns.items()}
    return {f"{name}_{what}": lists[what][row] for row, name in enumerate(named) for what in lists}


def credit_statistics(rollout: Rollout, credit: Credit) -> dict[str, float]:
    """Rewards and values as collected, advantages and value targets as the algorithm uses them."""
    if not rollout.valid.any():
        return {}
    collected = {
        "rollout/reward": flatten(rollout.rewards, rollout.valid),
        "rollout/value": flatten(rollout.values, rollout.valid),
    }
    learned = {
        "rollout/return": flatten(credit.targets[TASK], credit.rows),
        "rollout/advantage": flatten(credit.advantages, credit.rows),
    }
    shares = _bonus_share(rollout, credit)
    if credit.rows is rollout.valid:
        return describe(collected | learned) | shares
    return describe(collected) | (describe(learned) if credit.rows.any() else {}) | shares


def _bonus_share(rollout: Rollout, credit: Credit) -> dict[str, float]:
    """Share of bonuses in the sizes of all advantages, before they are summed."""
    if not rollout.streams:
        return {}
    task = float(np.abs(flatten(credit.targets[TASK] - rollout.values, credit.rows)).mean())
    paid = sum(
        stream.weight * float(np.abs(flatten(credit.targets[name] - stream.values, credit.rows)).mean())
        for name, stream in rollout.streams.items()
    )
    return {"bonus/share": paid / (paid + task) if paid + task > 0.0 else 0.0}


def component_statistics(rollout: Rollout, names: tuple[str, ...]) -> dict[str, float]:
    """The mean of each part of the reward per step, and its share in the sizes of all parts."""
    if rollout.components is None:
        return {}
    paid = flatten(rollout.components, rollout.valid)  # [B, K]
    metrics = {f"reward/{name}": value for name, value in zip(names, paid.mean(axis=0).tolist(), strict=True)}
    sizes = np.abs(paid).sum(axis=0)
    if sizes.sum() > 0.0:
        shares = (sizes / sizes.sum()).tolist()
        metrics |= {f"reward_share/{name}": share for name, share in zip(names, shares, strict=True)}
    return metrics


def task_statistics(rollout: Rollout, credit: Credit) -> dict[str, float]:
    """Each task's share of the steps, and of the sizes of all normalised advantages."""
    if not rollout.tasks or not credit.rows.any():
        return {}
    credited = credit.flat(rollout, normalized="task" if credit.by_task else "none")
    assert credited.tasks is not None
    sizes = np.abs(credited.advantages.astype(np.float64))
    count = len(rollout.tasks)
    steps = np.bincount(credited.tasks, minlength=count) / len(sizes)  # [K]
    paid = np.bincount(credited.tasks, weights=sizes, minlength=count)  # [K]
    signal = paid / paid.sum() if paid.sum() > 0.0 else steps
    metrics = {f"task_steps/{name}": share for name, share in zip(rollout.tasks, steps.tolist(), strict=True)}
    return metrics | {
        f"task_signal/{name}": share for name, share in zip(rollout.tasks, signal.tolist(), strict=True)
    }


def episode_statistics(rollout: Rollout) -> dict[str, float]:
    """How many episodes ended together, how well values foresaw ends, and how many ends had a value."""
    done = rollout.done & rollout.valid  # a fault cuts the episodes of a whole process at once
    metrics = {
        "rollout/reset_synchrony": int(np.count_nonzero(done, axis=1).max()) / done.shape[1],
        "train/terminal_correlation": _terminal_correlation(rollout),
    }
    cut = int(np.count_nonzero(rollout.truncated))
    if cut:
        metrics["rollout/bootstrapped_share"] = rollout.bootstrapped / cut
    return metrics


def _terminal_correlation(rollout: Rollout) -> float:
    """Correlation of the values before an end with the rewards at it; NaN when there are too few ends."""
    ends = rollout.terminated & rollout.valid
    if np.count_nonzero(ends) < _FEWEST_ENDS:
        return float("nan")
    values, rewards = rollout.values[ends].astype(np.float64), rollout.rewards[ends].astype(np.float64)
    if np.ptp(values) == 0.0 or np.ptp(rewards) == 0.0:
        return float("nan")
    values, rewards = values - values.mean(), rewards - rewards.mean()
    size = math.sqrt(float(np.dot(values, values)) * float(np.dot(rewards, rewards)))
    return min(1.0, max(-1.0, float(np.dot(values, rewards)) / size)) if size else float("nan")


def mean_and_std(numbers: Array) -> tuple[float, float]:
    """Mean and spread of all numbers, of which there is at least one."""
    exact = numbers.reshape(-1).astype(np.float64)
    mean = float(np.add.reduce(exact)) / len(exact)
    exact -= mean
    return mean, math.sqrt(float(np.dot(exact, exact)) / len(exact))


def observed_range(rollout: Rollout) -> tuple[Obs, float]:
    """Two rows with the smallest and the largest value of every element, and the share that did not vary.

    Of entries as large as a picture, only some rows are used, evenly spread.
    """
    ends: Obs = {}
    still = total = 0
    for key, stored in rollout.obs.items():
        large = math.prod(stored.shape[2:]) > _LARGE
        looked_at = sample_rows(rollout, _MOST_LARGE) if large else np.flatnonzero(rollout.valid)
        rows = take_rows(stored, looked_at)
        ends[key] = np.stack([rows.min(axis=0), rows.max(axis=0)])
        still += int(np.count_nonzero(ends[key][0] == ends[key][1]))
        total += ends[key][0].size
    return ends, still / max(1, total)


def first_observations(rollout: Rollout) -> Obs | None:
    """The first observations of episodes that began in the rollout; None when none began."""
    valid = rollout.valid
    begun = np.zeros_like(valid)
    begun[1:] = valid[1:] & (rollout.done[:-1] | ~valid[:-1])  # a row spent on a reset may lie between
    rows = np.flatnonzero(begun.reshape(-1))[:_MOST_FIRST]
    if not len(rows):
        return None
    return rollout.seen(rows)


@np.errstate(all="ignore")
def typical_size(seen: Mapping[str, Array]) -> float | None:
    """Root mean square of numbers by entry [B, size]; None when there are none."""
    numbers = [rows.reshape(-1).astype(np.float64) for rows in seen.values()]
    if not numbers:
        return None
    every = np.concatenate(numbers)
    return math.sqrt(float(np.dot(every, every)) / len(every))


def sample_rows(rollout: Rollout, most: int) -> Array:
    """Positions of at most `most` (two or more) valid steps among the flattened ones, evenly spread."""
    valid = np.flatnonzero(rollout.valid)
    if len(valid) <= most:
        return valid
    return valid[np.arange(most) * (len(valid) - 1) // (most - 1)]


def action_statistics(rollout: Rollout, action: ActionSpec) -> dict[str, float]:
    """Shares of the choices; for boxes mean, spread and the share of actions at the bounds."""
    chosen = flatten(rollout.actions, rollout.valid)  # [B, A]
    mean, std = mean_and_std(action.to_env(chosen))
    metrics = {"action/mean": mean, "action/std": std}
    if action.nvec:
        return metrics | _choices(chosen, action.nvec)
    if action.bounded:
        unit = np.tanh(chosen) if action.squash else chosen
        at_bound = np.count_nonzero(np.abs(unit) >= _NEAR_BOUND, axis=0)  # [A]
        metrics["action/saturated_share"] = int(at_bound.max()) / len(chosen)
    return metrics


def _choices(chosen: Array, nvec: tuple[int, ...]) -> dict[str, float]:
    """Shares of the choices of each part, and the largest share of any choice."""
    counts = [np.bincount(chosen[:, part], minlength=choices) for part, choices in enumerate(nvec)]
    metrics = {"action/largest_share": max(float((part / len(chosen)).max()) for part in counts)}
    # Too many parts have no ranges at all.
    for index, (part, ranges) in enumerate(zip(counts, choice_ranges(nvec), strict=False)):
        shares = np.add.reduceat(part, [choices.start for choices in ranges]) / len(chosen)
        names = [share_name(choices, None if len(nvec) == 1 else index) for choices in ranges]
        metrics |= dict(zip(names, shares.tolist(), strict=True))
    return metrics


def largest_entropy(rollout: Rollout, action: ActionSpec) -> float | None:
    """Mean entropy of a uniform policy over the legal choices of each step; None for boxes."""
    if not action.nvec:
        return None
    if rollout.masks is None:
        return math.fsum(math.log(choices) for choices in action.nvec)
    starts = np.concatenate([[0], np.cumsum(action.nvec)[:-1]])
    masks = flatten(rollout.masks, rollout.valid).astype(np.int64)
    legal = np.add.reduceat(masks, starts, axis=1)  # [B, parts]
    return float(np.log(np.maximum(legal, 1)).sum(axis=1).mean())
