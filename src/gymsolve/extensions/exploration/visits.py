"""First visits: a cell pays the first time that an episode enters it.

The cells of an episode are kept from rollout to rollout until its end. The first observation of an episode
counts as visited where it is known.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gymsolve.experience.successors import Transitions
from gymsolve.extensions.exploration.cells import Cells
from gymsolve.extensions.exploration.novelty import Novelty
from gymsolve.parts import Part
from gymsolve.spec import Array


class Visits(Part):
    """The cells that each environment's episode has visited."""

    def __init__(self, cells: Cells, num_envs: int) -> None:
        self.cells = cells
        self._visited: list[frozenset[int]] = [frozenset()] * num_envs
        self._under_way = [False] * num_envs
        """True for environments within an episode."""
        self._next = self._visited, self._under_way
        self._first: Array | None = None

    def begin(self, rows: Sequence[int]) -> None:
        """These environments began other episodes."""
        anew = set(rows)
        self._visited = [frozenset() if row in anew else cells for row, cells in enumerate(self._visited)]
        self._under_way = [going and row not in anew for row, going in enumerate(self._under_way)]

    def first(self, seen: Transitions) -> Array:
        """True [T, N] where a step enters a cell for the first time in its episode."""
        rollout = seen.rollout
        ends = self.cells.ends(seen).T.tolist()
        beginnings = self.cells.beginnings(seen)
        starts = None if beginnings is None else beginnings.T.tolist()
        flags = rollout.valid.T.tolist(), rollout.done.T.tolist()
        first = np.zeros(rollout.valid.shape, bool)
        visited, under_way = [], []
        for env, (cells, valid, done) in enumerate(zip(ends, *flags, strict=True)):
            start = None if starts is None else starts[env]
            row, cells_seen, goes_on = self._walk(env, cells, start, valid, done)
            first[:, env] = row
            visited.append(cells_seen)
            under_way.append(goes_on)
        self._next, self._first = (visited, under_way), first
        return first

    def _walk(
        self, env: int, cells: list[int], starts: list[int] | None, valid: list[bool], done: list[bool]
    ) -> tuple[list[bool], frozenset[int], bool]:
        """First visits of one environment, the cells of its last episode, and True if that goes on."""
        visited, goes_on = set(self._visited[env]), self._under_way[env]
        first = [False] * len(cells)
        for step, cell in enumerate(cells):
            if not valid[step]:
                goes_on = False
                continue
            if not goes_on:
                visited = set() if starts is None else {starts[step]}
            first[step] = cell not in visited
            visited.add(cell)
            goes_on = not done[step]
        return first, frozenset(visited) if goes_on else frozenset(), goes_on

    def commit(self, seen: Transitions) -> dict[str, float]:
        """Go on from the end of the rollout, after learning from it; metrics by name."""
        assert self._first is not None
        self._visited, self._under_way = self._next
        return {"bonus/first_visits": float(self._first[seen.valid].mean()) if seen.valid.any() else 0.0}

    def rollback_point(self) -> Callable[[], None]:
        kept, cells = (self._visited, self._under_way), self.cells.rollback_point()

        def put_back() -> None:
            self._visited, self._under_way = kept
            cells()

        return put_back

    def arrays(self) -> dict[str, Array]:
        """The cells of all episodes in a row, and the number of each environment's."""
        return {
            "visited": np.array([cell for cells in self._visited for cell in sorted(cells)], np.uint64),
            "visited_sizes": np.array([len(cells) for cells in self._visited], np.int64),
            **self.cells.arrays(),
        }

    def state(self) -> dict[str, Any]:
        return {"under_way": self._under_way, **self.cells.state()}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        if not self.cells.fits(arrays, state):
            self.forget()
            return ["episodes under way forget where they have been: cells are told apart otherwise now"]
        self.cells.load(arrays, state)
        # Older checkpoints have the present cell of each environment, or None.
        standing = state.get("standing")
        under_way = list(state["under_way"]) if standing is None else [cell is not None for cell in standing]
        ends = np.cumsum(arrays["visited_sizes"])[:-1]
        visited = [frozenset(part.tolist()) for part in np.split(arrays["visited"], ends)]
        self.forget()
        pairs = list(zip(visited, under_way, strict=True))
        for env, pair in enumerate(pairs[: len(self._visited)]):  # a resume may have fewer environments
            self._visited[env], self._under_way[env] = pair
        return []

    def fits(self, arrays: dict[str, Array], state: dict[str, Any]) -> bool:
        return "visited_sizes" in arrays

    def reseed(self, seed: int, env_steps: int) -> None:
        self.forget()

    def forget(self) -> None:
        """All environments begin other episodes."""
        self._visited = [frozenset()] * len(self._visited)
        self._under_way = [False] * len(self._under_way)


class Episodic(Visits, Novelty):
    """Pays 1 for every first visit of an episode."""

    def pay(self, seen: Transitions) -> Array:
        return self.first(seen).astype(np.float64)

    def learn(self, seen: Transitions, rate: float, rng: np.random.Generator) -> dict[str, float]:
        return self.commit(seen)
