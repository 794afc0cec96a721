"""Lessons for a recurrent policy: stretches of trajectories, cut into sequences, with the memory there.

A step has one prefix, however many trajectories go on from it, so its row alone decides the memory there. The
present policy replays up to `recall` steps of the prefix, and then the stretch itself. The memory at the
beginning of a sequence stays fixed during the lesson.
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
    inputs: int
    """Number of the last columns that are inputs."""

    def minibatches(self, count: int, rng: np.random.Generator) -> Iterator[tuple[Array, Unrolled]]:
        """All sequences once, in a new order: places [b] of their rows, and the memory before them."""
        for chosen in self.sequences.split(count, rng):
            layout = self.sequences.lay_out(chosen)
            before = self.memory[torch.from_numpy(layout.first)]
            rows = self.memory[torch.from_numpy(layout.rows)]
            inputs = rows[:, -self.inputs :] if self.inputs else None
            at = None if layout.places is None else torch.from_numpy(layout.places).to(before.device)
            yield layout.rows, Unrolled(before, inputs, at, layout.tables)


class _Stretch(NamedTuple):
    """Rows of a trajectory to learn from, and those before them that are only replayed."""

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
    """Stretches of each task's trajectories with about `most` rows, or all, and their rows by task.

    `prefixes` has the best trajectories first. Sequences have at most `longest` steps; at most `recall` steps
    are replayed before a stretch.
    """
    chosen = [_choose(_stretches(task, recall, most), most, rng) for task in prefixes]
    stretches = [stretch for task in chosen for stretch in task]
    rows = np.concatenate([stretch.rows for stretch in stretches])
    ends = np.cumsum([len(stretch.rows) for stretch in stretches])
    begins = ends - [len(stretch.rows) for stretch in stretches]
    memory = _first_memory(policy, log, rows)
    states = policy.remember([log.read(stretch.before) for stretch in stretches])
    size, cuts, at = policy.memory_size, [], 0
    going = np.arange(len(stretches))
    while len(going):  # all stretches are replayed side by side, from one sequence to the next
        cuts.append(begins[going] + at)
        memory[cuts[-1], :size] = states[:, :size]
        at += longest
        left = begins[going] + at < ends[going]
        replayed = [log.read(stretches[number].rows[at - longest : at]) for number in going[left].tolist()]
        going, states = going[left], policy.remember(replayed, states[left])
    first = np.sort(np.concatenate(cuts))
    lengths = np.diff(first, append=len(rows))
    tensor = torch.from_numpy(memory).to(policy.device)
    sequences = Sequences(np.arange(len(rows)), first, lengths)
    return Recalled(sequences, tensor, policy.last_step.size), [
        np.concatenate([stretch.rows for stretch in task]) for task in chosen
    ]


def _stretches(prefixes: list[Array], recall: int, most: int) -> list[_Stretch]:
    """Trajectories in pieces of at most `recall` or `most` rows; shared rows come once."""
    stretches: list[_Stretch] = []
    seen: set[int] = set()
    longest = min(recall, most)
    for prefix in prefixes:
        fresh = [row not in seen for row in prefix.tolist()]
        start = len(prefix) - sum(fresh)  # trajectories that share a row share all rows before it
        seen.update(prefix[start:].tolist())
        begins = range(start, len(prefix), longest)
        stretches += [_Stretch(prefix[max(0, at - recall) : at], prefix[at : at + longest]) for at in begins]
    return stretches


def _choose(stretches: list[_Stretch], most: int, rng: np.random.Generator) -> list[_Stretch]:
    """Some stretches in a new order, until there are enough rows."""
    order = [stretches[place] for place in rng.permutation(len(stretches)).tolist()]
    sizes = np.cumsum([len(stretch.rows) for stretch in order])
    return order[: int(np.searchsorted(sizes, most)) + 1]


def _first_memory(policy: Policy, log: Trajectories, rows: Array) -> Array:
    """Memory [B, M] before these steps, without the states of cells: inputs from the step before."""
    before = log.column("before", rows)
    source = np.where(before != NOWHERE, before, rows)
    inputs = inputs_after(policy, log.column("actions", source), log.column("rewards", source))
    memory = np.zeros((len(rows), policy.memory_size + policy.last_step.size), np.float32)
    memory[:, policy.memory_size :] = np.where((before != NOWHERE)[:, None], inputs, 0.0)
    return memory
