"""Draws cells with weights 1 / (seen + 1), in time that does not depend on their number.

Cells whose weights differ by less than a factor of 2 share a drawer. A draw chooses a drawer by the largest
possible weight of its cells, then one of its cells uniformly, and accepts it by its true weight, or draws
again: the result has exactly these weights, after two tries at most on average.

Numbers are in arrays of machine words, since lists of objects would be slower with many cells.
"""

from array import array
from typing import Any

import numpy as np

from gymsolve.spec import Array


class CountSampler:
    """Cells in drawers, by how often they were seen."""

    def __init__(self) -> None:
        self._drawers: list[array[int]] = []
        self._places = array("q")
        """The place of each cell in its drawer."""
        self.seen = array("q")
        """How often each cell was seen."""

    def add(self) -> None:
        """Add a cell with the next number, never seen so far."""
        self.seen.append(0)
        self._places.append(0)
        self._put(len(self.seen) - 1)

    def see(self, cell: int, seen: int) -> None:
        """Set how often a cell was seen."""
        drawer, after = _drawer(self.seen[cell]), _drawer(seen)
        self.seen[cell] = seen
        if drawer == after:
            return
        members, place = self._drawers[drawer], self._places[cell]
        last = members.pop()
        if last != cell:
            members[place], self._places[last] = last, place
        self._put(cell)

    def _put(self, cell: int) -> None:
        drawer = _drawer(self.seen[cell])
        while len(self._drawers) <= drawer:
            self._drawers.append(array("q"))
        self._places[cell] = len(self._drawers[drawer])
        self._drawers[drawer].append(cell)

    def draw(self, rng: np.random.Generator) -> int:
        """A random cell; there must be one at least."""
        most = [len(members) / 2**drawer for drawer, members in enumerate(self._drawers)]
        total = sum(most)
        while True:
            left, drawer = rng.random() * total, 0
            while drawer < len(most) - 1 and (left >= most[drawer] or not most[drawer]):
                left -= most[drawer]
                drawer += 1
            members = self._drawers[drawer]
            if not members:  # by rounding
                continue
            cell = members[int(rng.integers(len(members)))]
            if rng.random() * (self.seen[cell] + 1) < 2**drawer:
                return cell

    def arrays(self) -> dict[str, Array]:
        """Counts, and the order within drawers, which decides the draws."""
        order = [cell for members in self._drawers for cell in members]
        return {"seen": np.array(self.seen, np.int64), "order": np.array(order, np.int64)}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> None:
        self.seen = array("q", arrays["seen"].tolist())
        self._drawers, self._places = [], array("q", bytes(8 * len(self.seen)))
        order = arrays["order"].tolist()
        if sorted(order) != list(range(len(self.seen))) or min(self.seen, default=0) < 0:
            raise ValueError("the order of cells names others")
        for cell in order:
            self._put(cell)


def _drawer(seen: int) -> int:
    return (seen + 1).bit_length() - 1
