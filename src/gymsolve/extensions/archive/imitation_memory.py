"""Lessons for a policy with memory: stretches of ways, cut into sequences, and what is remembered there.

A step has one way that led there, however many trajectories go on from it, so its row alone decides what is
remembered at it. The policy of now goes that way again, from as far as `recall` steps back, and then through
the stretch itself. What it remembers at the beginning of a sequence stays as it is during the lesson.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch

from gymsolve.experience.sequences import Sequences
from gymsolve.extensions.archive.trajectories import NOWHERE, Trajectories
from gymsolve.nn.memory import Unrolled
from gymsolve.nn.policy import Policy
from gymsolve.nn.state_replay import inputs_after
from gymsolve.spec import Array


class Recalled(NamedTuple):
    """Rows of a lesson as sequences."""

    sequences: Sequences
    memory: torch.Tensor  # [B, M] before each step; states of cells only where a sequence begins
    told: int
    """How many of the last columns are inputs."""

    def minibatches(self, count: int, rng: np.random.Generator) -> Iterator[tuple[Array, Unrolled]]:
        """All sequences once, in a new order: places [b] of their rows, and what came before them."""
        for chosen in self.sequences.split(count, rng):
            layout = self.sequences.lay_out(chosen)
            before = self.memory[torch.from_numpy(layout.first)]
            told = self.memory[torch.from_numpy(layout.rows)][:, -self.told :] if self.told else None
            at = None if layout.places is None else torch.from_numpy(layout.places).to(before.device)
            yield layout.rows, Unrolled(before, told, at, layout.tables)


class _Stretch(NamedTuple):
    """Rows of a way that are learned, and those before them that are only gone through."""

    before: Array
    rows: Array


def recall_stretches(
    policy: Policy,
    log: Trajectories,
    prefixes: list[list[Array]],
    most: int,
    recall: int,
    longest: int,
    rng: np.random.Generator,
) -> tuple[Recalled, list[Array]]:
    """Of each task's ways, the best first, some stretches with `most` rows, or all; and their rows by task.

    `longest` sequences are cut from them, and at most `recall` steps are gone through again.
    """
    chosen = [_choose(_stretches(task, recall, most), most, rng) for task in prefixes]
    stretches = [stretch for task in chosen for stretch in task]
    rows = np.concatenate([stretch.rows for stretch in stretches])
    ends = np.cumsum([len(stretch.rows) for stretch in stretches])
    begins = ends - [len(stretch.rows) for stretch in stretches]
    memory = _tell(policy, log, rows)
    states = policy.remember([log.gone(stretch.before) for stretch in stretches])
    size, cuts, at = policy.memory_size, [], 0
    going = np.arange(len(stretches))
    while len(going):  # all stretches go on side by side, from one sequence to the next
        cuts.append(begins[going] + at)
        memory[cuts[-1], :size] = states[:, :size]
        at += longest
        left = begins[going] + at < ends[going]
        gone = [log.gone(stretches[one].rows[at - longest : at]) for one in going[left].tolist()]
        going, states = going[left], policy.remember(gone, states[left])
    first = np.sort(np.concatenate(cuts))
    lengths = np.diff(first, append=len(rows))
    tensor = torch.from_numpy(memory).to(policy.device)
    sequences = Sequences(np.arange(len(rows)), first, lengths)
    return Recalled(sequences, tensor, policy.last_step.size), [
        np.concatenate([stretch.rows for stretch in task]) for task in chosen
    ]


def _stretches(prefixes: list[Array], recall: int, most: int) -> list[_Stretch]:
    """Ways in pieces of at most `recall` or `most` rows; what one shares with another is not repeated."""
    found: list[_Stretch] = []
    known: set[int] = set()
    longest = min(recall, most)
    for prefix in prefixes:
        fresh = [row not in known for row in prefix.tolist()]
        start = len(prefix) - sum(fresh)  # whoever shares a row shares all rows before it
        known.update(prefix[start:].tolist())
        begins = range(start, len(prefix), longest)
        found += [_Stretch(prefix[max(0, at - recall) : at], prefix[at : at + longest]) for at in begins]
    return found


def _choose(stretches: list[_Stretch], most: int, rng: np.random.Generator) -> list[_Stretch]:
    """Some of them in a new order, until there are enough rows."""
    order = [stretches[place] for place in rng.permutation(len(stretches)).tolist()]
    sizes = np.cumsum([len(stretch.rows) for stretch in order])
    return order[: int(np.searchsorted(sizes, most)) + 1]


def _tell(policy: Policy, log: Trajectories, rows: Array) -> Array:
    """Memory [B, M] before these steps, but for the states of cells: what the step before them told."""
    before = log.column("before", rows)
    known = np.where(before != NOWHERE, before, rows)
    told = inputs_after(policy, log.column("actions", known), log.column("rewards", known))
    memory = np.zeros((len(rows), policy.memory_size + policy.last_step.size), np.float32)
    memory[:, policy.memory_size :] = np.where((before != NOWHERE)[:, None], told, 0.0)
    return memory
