"""State counts: a cell that was visited n times, this visit included, pays 1 / √n.

Visits are counted in the order of time, also within a rollout; environments that move at the same time are
counted one after the other. The table itself moves when the rollout has been learned from.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gymsolve.experience.successors import Transitions
from gymsolve.extensions.exploration.cells import Cells
from gymsolve.extensions.exploration.novelty import Novelty
from gymsolve.parts import Part, rollback_all
from gymsolve.spec import Array


def ranks(cells: Array) -> Array:
    """The number of equal cells up to each of [B], itself included."""
    order = np.argsort(cells, kind="stable")
    grouped = cells[order]
    fresh = np.ones(len(cells), bool)
    fresh[1:] = grouped[1:] != grouped[:-1]
    place = np.arange(len(cells))
    starts = np.maximum.accumulate(np.where(fresh, place, 0))
    numbers = np.empty(len(cells), np.int64)
    numbers[order] = place - starts + 1
    return numbers


class VisitTable(Part):
    """Visits by cell. Taking visits back takes as long as counting them, however large the table is."""

    def __init__(self) -> None:
        self.visits: dict[int, int] = {}
        self._journal: list[tuple[int, int]] = []

    def before(self, cells: Array) -> Array:
        """Visits so far to each of [B]."""
        distinct, place = np.unique(cells, return_inverse=True)
        counted = np.array([self.visits.get(cell, 0) for cell in distinct.tolist()], np.int64)
        return counted[place.reshape(cells.shape)]

    def add(self, cells: Array) -> int:
        """Count visits to [B]; returns how many cells are new."""
        distinct, counts = np.unique(cells, return_counts=True)
        size = len(self.visits)
        for cell, count in zip(distinct.tolist(), counts.tolist(), strict=True):
            earlier = self.visits.get(cell, 0)
            self._journal.append((cell, earlier))
            self.visits[cell] = earlier + count
        return len(self.visits) - size

    def rollback_point(self) -> Callable[[], None]:
        journal: list[tuple[int, int]] = []
        self._journal = journal

        def put_back() -> None:
            for cell, earlier in reversed(journal):
                if earlier:
                    self.visits[cell] = earlier
                else:
                    del self.visits[cell]
            journal.clear()

        return put_back

    def arrays(self) -> dict[str, Array]:
        return {
            "cells": np.fromiter(self.visits.keys(), np.uint64, len(self.visits)),
            "visits": np.fromiter(self.visits.values(), np.int64, len(self.visits)),
        }

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        self.visits = dict(zip(arrays["cells"].tolist(), arrays["visits"].tolist(), strict=True))
        return []


class Counts(Novelty):
    """Pays for cells that were visited seldom."""

    def __init__(self, cells: Cells) -> None:
        self._cells, self._table = cells, VisitTable()

    def pay(self, seen: Transitions) -> Array:
        paid = np.zeros(seen.valid.shape)
        ends = self._cells.ends(seen)[seen.valid]
        paid[seen.valid] = 1.0 / np.sqrt(self._table.before(ends) + ranks(ends))
        return paid

    def learn(self, seen: Transitions, rate: float, rng: np.random.Generator) -> dict[str, float]:
        ends = self._cells.ends(seen)[seen.valid]
        new = self._table.add(ends)
        return {"bonus/cells": float(len(self._table.visits)), "bonus/new_cells": float(new)}

    def arrays(self) -> dict[str, Array]:
        return self._table.arrays() | self._cells.arrays()

    def state(self) -> dict[str, Any]:
        return self._cells.state()

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        return self._table.load(arrays, state) + self._cells.load(arrays, state)

    def fits(self, arrays: dict[str, Array], state: dict[str, Any]) -> bool:
        return {"cells", "visits"} <= arrays.keys() and self._cells.fits(arrays, state)

    def rollback_point(self) -> Callable[[], None]:
        return rollback_all((self._table, self._cells))
