"""First visits: a cell pays when the episode under way has not been there before, and not again.

The cells of an episode are remembered from rollout to rollout and forgotten at its end. Where the observation
an episode begins with is known, it counts as visited.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gymsolve.experience.successors import Transitions
from gymsolve.extensions.exploration.cells import Cells
from gymsolve.extensions.exploration.novelty import Novelty
from gymsolve.spec import Array


class Visits:
    """The cells that each environment's episode has visited."""

    def __init__(self, cells: Cells, num_envs: int) -> None:
        self.cells = cells
        self._visited: list[frozenset[int]] = [frozenset()] * num_envs
        self._under_way = [False] * num_envs
        """Whether each is within an episode."""
        self._next = self._visited, self._under_way

    def begin(self, rows: Sequence[int]) -> None:
        """These environments began other episodes."""
        anew = set(rows)
        self._visited = [frozenset() if row in anew else one for row, one in enumerate(self._visited)]
        self._under_way = [one and row not in anew for row, one in enumerate(self._under_way)]

    def first(self, seen: Transitions) -> Array:
        """True [T, N] where a step leads to a cell for the first time in its episode."""
        rollout = seen.rollout
        ends = self.cells.ends(seen).T.tolist()
        beginnings = self.cells.beginnings(seen)
        starts = None if beginnings is None else beginnings.T.tolist()
        flags = rollout.valid.T.tolist(), rollout.done.T.tolist()
        found = np.zeros(rollout.valid.shape, bool)
        visited, under_way = [], []
        for env, (cells, valid, done) in enumerate(zip(ends, *flags, strict=True)):
            start = None if starts is None else starts[env]
            row, known, goes_on = self._walk(env, cells, start, valid, done)
            found[:, env] = row
            visited.append(known)
            under_way.append(goes_on)
        self._next = visited, under_way
        return found

    def _walk(
        self, env: int, cells: list[int], starts: list[int] | None, valid: list[bool], done: list[bool]
    ) -> tuple[list[bool], frozenset[int], bool]:
        """One environment: its first visits, the cells of its last episode, and whether that goes on."""
        known, goes_on = set(self._visited[env]), self._under_way[env]
        first = [False] * len(cells)
        for step, cell in enumerate(cells):
            if not valid[step]:
                goes_on = False
                continue
            if not goes_on:
                known = set() if starts is None else {starts[step]}
            first[step] = cell not in known
            known.add(cell)
            goes_on = not done[step]
        return first, frozenset(known) if goes_on else frozenset(), goes_on

    def commit(self) -> None:
        """The rollout was learned from: go on from its end."""
        self._visited, self._under_way = self._next

    def rollback_point(self) -> Callable[[], None]:
        kept, cells = (self._visited, self._under_way), self.cells.rollback_point()

        def put_back() -> None:
            self._visited, self._under_way = kept
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
        return {"under_way": self._under_way, **self.cells.state()}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        if not self.cells.fits(arrays, state):
            self.forget()
            return ["episodes under way forget where they have been: cells are told apart otherwise now"]
        self.cells.load(arrays, state)
        # Older checkpoints named the cell that each environment stood in, or nothing.
        told = state.get("standing")
        under_way = list(state["under_way"]) if told is None else [one is not None for one in told]
        ends = np.cumsum(arrays["visited_sizes"])[:-1]
        visited = [frozenset(part.tolist()) for part in np.split(arrays["visited"], ends)]
        self.forget()
        for env, one in enumerate(zip(visited, under_way, strict=True)):
            if env < len(self._visited):  # a resume may have fewer of them
                self._visited[env], self._under_way[env] = one
        return []

    def fits(self, arrays: dict[str, Array]) -> bool:
        """Are these visits to cells?"""
        return "visited_sizes" in arrays

    def forget(self) -> None:
        """All episodes begin anew."""
        self._visited = [frozenset()] * len(self._visited)
        self._under_way = [False] * len(self._under_way)


class Episodic(Novelty):
    """Pays 1 for every first visit of an episode."""

    def __init__(self, visits: Visits) -> None:
        self._visits = visits
        self._first: Array | None = None

    def begin(self, rows: Sequence[int]) -> None:
        self._visits.begin(rows)

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
        return self._visits.load(arrays, state)

    def fits(self, arrays: dict[str, Array], state: dict[str, Any]) -> bool:
        return self._visits.fits(arrays)

    def rollback_point(self) -> Callable[[], None]:
        return self._visits.rollback_point()

    def reseed(self, seed: int, env_steps: int) -> None:
        self._visits.forget()
