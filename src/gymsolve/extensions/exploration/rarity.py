"""Rarity of events (Justesen and Risi 2018): the more of them episodes have, the less each event pays.

Events are rises (or falls, `-name`) of numbers in `info`, such as kills or items, by their amount. Each is
divided by its mean per episode over the last episodes, at least 0.01.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gymsolve.experience.successors import Transitions
from gymsolve.extensions.exploration.novelty import Novelty
from gymsolve.parts import resize_rows
from gymsolve.spec import Array

_LEAST = 0.01
_EPISODES = 100
"""Episodes that the mean is taken over."""


class Rarity(Novelty):
    """Pays for events, by how rare they are."""

    def __init__(self, events: Sequence[str], columns: list[int], num_envs: int) -> None:
        """`columns` are those of the `events` among the watched numbers."""
        self._names, self._columns = list(events), columns
        self._recent: deque[list[float]] = deque(maxlen=_EPISODES)
        self._running = np.zeros((num_envs, len(columns)))  # [N, K] events of the episodes under way

    def begin(self, rows: Sequence[int]) -> None:
        self._running = self._running.copy()
        self._running[list(rows)] = 0.0

    def pay(self, seen: Transitions) -> Array:
        mean = np.mean(self._recent, axis=0) if self._recent else np.zeros(len(self._columns))
        paid: Array = (self._events(seen) / np.maximum(mean, _LEAST)).sum(axis=2)
        return paid

    def _events(self, seen: Transitions) -> Array:
        """Events of each step [T, N, K]."""
        watched = seen.rollout.watched
        assert watched is not None
        happened: Array = watched[:, :, self._columns] * seen.valid[:, :, None]
        return happened

    def learn(self, seen: Transitions, rate: float, rng: np.random.Generator) -> dict[str, float]:
        events, done, valid = self._events(seen), seen.rollout.done, seen.valid
        running, recent = self._running.copy(), self._recent.copy()
        for step in range(len(events)):
            running += events[step]
            for env in np.flatnonzero(done[step] | ~valid[step]).tolist():
                if valid[step, env]:
                    recent.append(running[env].tolist())
                running[env] = 0.0
        self._running, self._recent = running, recent
        return {"bonus/events": float(events[valid].sum(axis=1).mean()) if valid.any() else 0.0}

    def arrays(self) -> dict[str, Array]:
        return {"running": self._running}

    def state(self) -> dict[str, Any]:
        return {"recent": list(self._recent), "events": self._names}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        self._running = resize_rows(arrays["running"].astype(np.float64), np.zeros_like(self._running))
        self._recent = deque(([float(x) for x in episode] for episode in state["recent"]), maxlen=_EPISODES)
        return []

    def fits(self, arrays: dict[str, Array], state: dict[str, Any]) -> bool:
        named = state.get("events", self._names) == self._names  # older checkpoints do not say
        return named and "running" in arrays and arrays["running"].shape[1:] == self._running.shape[1:]

    def rollback_point(self) -> Callable[[], None]:
        kept = self._running, self._recent

        def put_back() -> None:
            self._running, self._recent = kept

        return put_back

    def reseed(self, seed: int, env_steps: int) -> None:
        self._running = np.zeros_like(self._running)  # these episodes do not go on
