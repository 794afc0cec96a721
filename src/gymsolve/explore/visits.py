"""First visits: a cell pays when the episode under way has not been there before, and not again.

The cells of an episode are remembered from rollout to rollout and forgotten at its end. Where the observation
an episode begins with is known, it counts as visited.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gymsolve.explore.cells import Cells
from gymsolve.explore.novelty import Novelty
from gymsolve.explore.transitions import Transitions
from gymsolve.spec import Array

__all__ = ["Episodic", "Visits"]


class Visits:
    """The cells that each environment's episode has visited."""

    def __init__(self, cells: Cells, num_envs: int) -> None:
        self.cells = cells
        self._visited: list[frozenset[int]] = [frozenset()] * num_envs
        self._standing: list[int | None] = [None] * num_envs
        """The cell in which each environment was left (0 where nobody tells); None between episodes."""
        self._next = self._visited, self._standing

    def first(self, seen: Transitions) -> Array:
        """True [T, N] where a step leads to a cell for the first time in its episode."""
        rollout = seen.rollout
        ends = self.cells.ends(seen).T.tolist()
        beginnings = self.cells.beginnings(seen)
        starts = None if beginnings is None else beginnings.T.tolist()
        flags = rollout.valid.T.tolist(), rollout.done.T.tolist()
        found = np.zeros(rollout.valid.shape, bool)
        visited, standing = [], []
        for env, (cells, valid, done) in enumerate(zip(ends, *flags, strict=True)):
            start = None if starts is None else starts[env]
            row, known, at = self._walk(env, cells, start, valid, done)
            found[:, env] = row
            visited.append(known)
            standing.append(at)
        self._next = visited, standing
        return found

    def _walk(
        self, env: int, cells: list[int], starts: list[int] | None, valid: list[bool], done: list[bool]
    ) -> tuple[list[bool], frozenset[int], int | None]:
        """One environment: its first visits, and where it stands after the rollout."""
        known, at = set(self._visited[env]), self._standing[env]
        if starts is not None and at != starts[0]:
            at = None  # it was put elsewhere meanwhile: another episode
        first = [False] * len(cells)
        for step, cell in enumerate(cells):
            if not valid[step]:
                at = None
                continue
            if at is None:
                known = set() if starts is None else {starts[step]}
            first[step] = cell not in known
            known.add(cell)
            at = None if done[step] else (cell if starts is not None else 0)
        return first, frozenset() if at is None else frozenset(known), at

    def commit(self) -> None:
        """The rollout was learned from: go on from its end."""
        self._visited, self._standing = self._next

    def hold(self) -> Callable[[], None]:
        kept, cells = (self._visited, self._standing), self.cells.hold()

        def put_back() -> None:
            self._visited, self._standing = kept
            cells()

        return put_back

    def arrays(self) -> dict[str, Array]:
        """The cells of all episodes in a row, and how many are whose."""
        return {
            "visited": np.array([cell for known in self._visited for cell in sorted(known)], np.uint64),
            "visited_sizes": np.array([len(known) for known in self._visited], np.int64),
            **self.cells.arrays(),
        }

    def state(self) -> dict[str, Any]:
        return {"standing": self._standing}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> None:
        ends = np.cumsum(arrays["visited_sizes"])[:-1]
        self._visited = [frozenset(part.tolist()) for part in np.split(arrays["visited"], ends)]
        self._standing = [None if cell is None else int(cell) for cell in state["standing"]]
        self.cells.load(arrays, state)

    def fits(self, arrays: dict[str, Array]) -> bool:
        """Are these the visits of as many environments, to cells of the same kind?"""
        sizes = arrays.get("visited_sizes")
        return sizes is not None and len(sizes) == len(self._visited) and self.cells.fits(arrays)

    def forget(self) -> None:
        """All episodes begin anew."""
        self._visited = [frozenset()] * len(self._visited)
        self._standing = [None] * len(self._standing)


class Episodic(Novelty):
    """Pays 1 for every first visit of an episode."""

    def __init__(self, visits: Visits) -> None:
        self._visits = visits
        self._first: Array | None = None

    def pay(self, seen: Transitions) -> Array:
        self._first = self._visits.first(seen)
        return self._first.astype(np.float64)

    def learn(self, seen: Transitions, rate: float, rng: np.random.Generator) -> dict[str, float]:
        self._visits.commit()
        assert self._first is not None
        return {"bonus/first_visits": float(self._first[seen.valid].mean()) if seen.valid.any() else 0.0}

    def arrays(self) -> dict[str, Array]:
        return self._visits.arrays()

    def state(self) -> dict[str, Any]:
        return self._visits.state()

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        self._visits.load(arrays, state)
        return []

    def fits(self, arrays: dict[str, Array], state: dict[str, Any]) -> bool:
        return self._visits.fits(arrays)

    def hold(self) -> Callable[[], None]:
        return self._visits.hold()

    def reseed(self, seed: int, env_steps: int) -> None:
        self._visits.forget()
