"""Lessons from the best trajectories of an archive: their steps, each once, with their best returns.

Several tasks count alike, however many steps their trajectories have and whatever they pay: the unit of a
task's returns is its largest one. A policy with memory learns whole sequences, as in an update with a rollout
(`extensions/archive/imitation_memory.py`).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from gymsolve.extensions.archive.imitation_memory import Recalled, recall_stretches
from gymsolve.extensions.archive.task_archive import TaskArchive
from gymsolve.extensions.archive.trajectories import Trajectories
from gymsolve.extensions.scaling import RewardScaler
from gymsolve.nn.memory import Unrolled
from gymsolve.nn.policy import Policy
from gymsolve.spec import Array

_ROWS = 2048
"""Steps of a pass, at most."""
_SMALLEST, _LARGEST = 32, 256
"""Rows of a minibatch: an eighth of a pass, within these limits."""


class Lesson(NamedTuple):
    """Steps to learn from."""

    rows: Array  # [B] in the log
    returns: Array  # [B] the best of all trajectories through a step
    units: Array  # [B] of the returns of their task
    weights: Array  # [B] of their losses
    counts: tuple[int, ...]
    """Rows of each task, one task after the other."""
    recalled: Recalled | None = None
    """The memory of a recurrent policy at these steps."""

    def minibatches(self, rng: np.random.Generator) -> Iterator[tuple[Array, Unrolled | None]]:
        """One pass: places [b] among the rows, and the memory before them for a recurrent policy."""
        if self.recalled is not None:
            yield from self.recalled.minibatches(_minibatches(len(self.rows)), rng)
            return
        most, first, parts = _most(len(self.counts)), 0, []
        for count in self.counts:
            parts.append(first + rng.permutation(count)[:most])
            first += count
        order = parts[0] if len(parts) == 1 else rng.permutation(np.concatenate(parts))
        for chosen in np.array_split(order, _minibatches(len(order))):
            yield chosen, None


def _most(tasks: int) -> int:
    """Most rows of each of so many tasks in a pass."""
    return max(1, _ROWS // tasks)


def _minibatches(rows: int) -> int:
    size = min(max(_SMALLEST, rows // 8), _LARGEST)
    return -(-rows // size)


class Teacher(NamedTuple):
    """The objects that returns are computed with."""

    log: Trajectories
    policy: Policy
    scaler: RewardScaler | None
    gamma: float
    recall: int
    """Steps that are replayed through a recurrent policy, at most."""
    longest: int
    """Steps of its longest sequences."""


def prepare_lesson(
    tasks: list[TaskArchive], shares: list[float], teacher: Teacher, rng: np.random.Generator
) -> Lesson:
    """The lesson of these tasks, all of which have trajectories; `shares` are the weights of tasks."""
    steps, recalled = [_steps(task, teacher) for task in tasks], None
    largest = [max(float(np.abs(returns).max()), 1e-8) for _, returns in steps]
    if teacher.policy.config.memory is not None:
        prefixes = [
            [teacher.log.prefix(best.row) for best in sorted(task.best.kept, reverse=True)] for task in tasks
        ]
        sizes = _most(len(tasks)), teacher.recall, teacher.longest
        recalled, chosen = recall_stretches(teacher.policy, teacher.log, prefixes, *sizes, rng)
        steps = [
            (mine, returns[np.searchsorted(rows, mine)])
            for mine, (rows, returns) in zip(chosen, steps, strict=True)
        ]
    counts = tuple(len(rows) for rows, _ in steps)
    most = _most(len(tasks))
    passed = np.array(counts if recalled is not None else [min(count, most) for count in counts])
    weights = np.array(shares) if any(shares) else np.ones(len(shares))
    weights = weights / passed * (passed.sum() / weights.sum())
    return Lesson(
        np.concatenate([rows for rows, _ in steps]),
        np.concatenate([returns for _, returns in steps]),
        np.repeat(largest if tasks[0].name else [1.0], counts).astype(np.float32),  # one has no name
        np.repeat(weights, counts).astype(np.float32),
        counts,
        recalled,
    )


def _steps(task: TaskArchive, teacher: Teacher) -> tuple[Array, Array]:
    """All steps of a task's best trajectories, each once and by number, with their best returns."""
    prefixes = [teacher.log.prefix(trajectory.row) for trajectory in task.best.kept]
    tails = _tails(prefixes, np.array([trajectory.truncated for trajectory in task.best.kept]), teacher)
    parts = [
        _discounted(prefix, tail, task.number, teacher) for prefix, tail in zip(prefixes, tails, strict=True)
    ]
    rows, earned = np.concatenate(prefixes), np.concatenate(parts)
    order = np.lexsort((earned, rows))
    last = np.append(rows[order][1:] != rows[order][:-1], True)
    return rows[order][last], earned[order][last].astype(np.float32)


def _tails(prefixes: list[Array], cut: Array, teacher: Teacher) -> list[float]:
    """Returns beyond the ends of trajectories: 0, or the value of the last step where one was cut."""
    tails, log, policy = np.zeros(len(prefixes)), teacher.log, teacher.policy
    if cut.any():
        mine = [prefix for prefix, was_cut in zip(prefixes, cut, strict=True) if was_cut]
        memory = None
        if policy.config.memory is not None:
            memory = policy.remember([log.read(prefix[:-1][-teacher.recall :]) for prefix in mine])
        tails[cut] = policy.values(log.seen(np.array([prefix[-1] for prefix in mine])), memory)
    return [float(tail) for tail in tails]


def _discounted(prefix: Array, tail: float, task: int, teacher: Teacher) -> Array:
    """The discounted returns [T] of the steps of a trajectory."""
    rewards, scaler = teacher.log.column("rewards", prefix).astype(np.float64), teacher.scaler
    if scaler is not None:
        factors = np.atleast_1d(scaler.factors)  # of several tasks, one for each
        rewards = np.clip(rewards * factors[task], -scaler.limit, scaler.limit)
    returns = np.empty(len(prefix))
    for place in range(len(prefix) - 1, -1, -1):
        returns[place] = tail = rewards[place] + teacher.gamma * tail
    return returns
