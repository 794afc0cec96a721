"""Cuts a rollout into sequences for a network with memory, and lays some of them side by side.

A sequence is a stretch of one environment's steps that belongs to one episode. It begins where an episode
begins, where a step before it is not learned from, or after the longest stretch that a gradient may flow
through. What was remembered before its first step is in the rollout. Sequences differ in length, so a batch
of them is padded to the longest; the padding comes after a sequence and so reaches none of its steps.
"""

from typing import NamedTuple

import numpy as np

from gymsolve.spec import Array

__all__ = ["Layout", "Sequences", "cut_sequences"]


class Layout(NamedTuple):
    """Some sequences side by side, time-major: the row at [step, sequence] of a table [steps, S]."""

    rows: Array  # [B] which rows these are
    first: Array  # [S] the row with which each sequence begins
    places: Array | None  # [B] of the rows in the flattened table; None where it has no gaps
    steps: int

    def place_all(self) -> Array | None:
        """Like `places`, for all rows in their own order."""
        found = np.empty(len(self.rows), np.int64)
        order = np.arange(len(found))
        found[self.rows] = order if self.places is None else self.places
        return None if self.places is None and (found == order).all() else found


class Sequences(NamedTuple):
    """Rows of a rollout, sequence after sequence. Rows are counted among those that are learned from."""

    rows: Array  # [B]
    begins: Array  # [S] where in `rows` each sequence begins
    lengths: Array  # [S]

    def split(self, count: int, rng: np.random.Generator) -> list[Array]:
        """All sequences in a new order, in `count` parts that have as many rows each as whole ones allow."""
        order = rng.permutation(len(self.begins))
        ends = np.cumsum(self.lengths[order])
        # The part in which the middle row of a sequence falls.
        part = ((2 * ends - self.lengths[order]) * count) // (2 * ends[-1])
        parts = [order[part == number] for number in range(count)]
        return [chosen for chosen in parts if len(chosen)]

    def lay_out(self, chosen: Array | None = None) -> Layout:
        """The table of some sequences, or of all."""
        begins, lengths = (self.begins, self.lengths) if chosen is None else self._take(chosen)
        steps = int(lengths.max())
        time = np.arange(steps)[:, None]
        filled = time < lengths  # [steps, S]
        rows = self.rows[(begins + time)[filled]]
        places = None if len(rows) == filled.size else np.flatnonzero(filled)
        return Layout(rows, self.rows[begins], places, steps)

    def _take(self, chosen: Array) -> tuple[Array, Array]:
        return self.begins[chosen], self.lengths[chosen]


def cut_sequences(rows: Array, done: Array, longest: int) -> Sequences:
    """Cut the steps that are True in `rows` [T, N]; `done` [T, N] says where episodes ended."""
    time = np.arange(len(rows))[:, None]
    begins = np.ones(rows.shape, bool)
    begins[1:] = done[:-1] | ~rows[:-1]
    since = time - np.maximum.accumulate(np.where(begins, time, 0), axis=0)  # steps of the stretch so far
    begins = rows & (since % longest == 0)
    numbers = np.cumsum(rows).reshape(rows.shape) - 1  # of each row among those that are learned from
    chosen = rows.T  # environment after environment
    places = np.flatnonzero(begins.T[chosen])
    lengths = np.diff(places, append=np.count_nonzero(rows))
    return Sequences(numbers.T[chosen], places, lengths)
