"""Cuts a rollout into sequences for a network with memory, and lays some of them side by side.

A sequence is a stretch of one environment's steps in one episode. It begins where an episode begins, after a
step that is not used, or after the longest stretch that a gradient may flow through. The rollout has the
memory before its first step. Sequences differ in length, so a batch of them is padded, in a few tables of
similar lengths; the padding comes after a sequence and does not affect its steps.
"""

from typing import NamedTuple

import numpy as np

from gymsolve.spec import Array

_STEP, _TABLE = 4, 60
"""Costs of one more step and of one more table, in cells: an LSTM of 64 takes 3 µs for a cell, 13 for a step
with any number of them, and its call about 0.2 ms, forward and backward."""


class Layout(NamedTuple):
    """Sequences side by side, the longest first, in tables [steps, count] one after the other."""

    rows: Array  # [B] which rows these are, table by table and step by step
    first: Array  # [S] the row with which each sequence begins
    places: Array | None  # [B] of the rows among the cells of all tables; None where they have no gaps
    tables: tuple[tuple[int, int], ...]  # steps and sequences of each

    def place_all(self) -> Array | None:
        """Like `places`, for all rows in their own order."""
        places = np.empty(len(self.rows), np.int64)
        order = np.arange(len(places))
        places[self.rows] = order if self.places is None else self.places
        return None if self.places is None and (places == order).all() else places


class Sequences(NamedTuple):
    """Rows of a rollout, sequence after sequence. Rows are counted among those that are used."""

    rows: Array  # [B]
    begins: Array  # [S] where in `rows` each sequence begins
    lengths: Array  # [S]

    def split(self, count: int, rng: np.random.Generator) -> list[Array]:
        """All sequences in a new order, in `count` parts with about equally many rows."""
        order = rng.permutation(len(self.begins))
        ends = np.cumsum(self.lengths[order])
        # The part in which the middle row of a sequence falls.
        part = ((2 * ends - self.lengths[order]) * count) // (2 * ends[-1])
        parts = [order[part == number] for number in range(count)]
        return [chosen for chosen in parts if len(chosen)]

    def lay_out(self, chosen: Array | None = None) -> Layout:
        """The tables of some sequences, or of all."""
        begins, lengths = self.begins, self.lengths
        if chosen is not None:
            begins, lengths = begins[chosen], lengths[chosen]
        order = np.argsort(-lengths, kind="stable")
        begins, lengths = begins[order], lengths[order]
        rows, places, tables = [], [], []
        start, cells = 0, 0
        while start < len(begins):
            count = _fill_table(lengths[start:])
            here = slice(start, start + count)
            time = np.arange(lengths[start])[:, None]
            filled = time < lengths[here]  # [steps, count]
            rows.append(self.rows[(begins[here] + time)[filled]])
            places.append(cells + np.flatnonzero(filled))
            tables.append((len(time), count))
            start, cells = start + count, cells + filled.size
        every = np.concatenate(rows)
        gaps = len(every) < cells
        return Layout(every, self.rows[begins], np.concatenate(places) if gaps else None, tuple(tables))


def _fill_table(lengths: Array) -> int:
    """The number of sequences, the longest first, that make the first table cheapest."""
    counts = np.arange(1, len(lengths) + 1)
    following = np.append(lengths[1:], 0)  # the longest of those that are left
    here = lengths[0] * (_STEP + counts)
    later = following * (_STEP + counts[::-1] - 1) + _TABLE * (following > 0)
    return int(counts[np.argmin(here + later)])


def cut_sequences(rows: Array, done: Array, longest: int) -> Sequences:
    """Cut the steps that are True in `rows` [T, N]; `done` [T, N] says where episodes ended."""
    time = np.arange(len(rows))[:, None]
    begins = np.ones(rows.shape, bool)
    begins[1:] = done[:-1] | ~rows[:-1]
    since = time - np.maximum.accumulate(np.where(begins, time, 0), axis=0)  # steps of the stretch so far
    begins = rows & (since % longest == 0)
    numbers = np.cumsum(rows).reshape(rows.shape) - 1  # of each row among those that are used
    chosen = rows.T  # environment after environment
    places = np.flatnonzero(begins.T[chosen])
    lengths = np.diff(places, append=np.count_nonzero(rows))
    return Sequences(numbers.T[chosen], places, lengths)
