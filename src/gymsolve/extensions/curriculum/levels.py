"""Draws stages by the size of their advantages: prioritised level replay (Jiang et al. 2020).

The score of a stage is the mean size of its advantages since it was last chosen, so a stage whose outcome is
always as expected, solved or hopeless, scores low. The probability of a stage is rank^(-1/temperature), mixed
with how long ago it was played. While some stages were never played, a draw takes one of those with the
probability of their share of all stages.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gymsolve.parts import Part, rollback_state
from gymsolve.spec import Array


class Levels(Part):
    """Scores of stages, and the draw in which each was last played."""

    def __init__(self, stages: int, *, temperature: float = 0.1, staleness: float = 0.1) -> None:
        self.temperature, self.staleness = temperature, staleness
        self.draws = 0
        self._scores = np.zeros(stages)
        self._played = np.full(stages, -1)
        """The draw that last chose each; -1 for never."""
        self._sums, self._counts = np.zeros(stages), np.zeros(stages)
        """Sums of the sizes of advantages since the last draw, and numbers of steps."""

    def add(self, stage: int, advantages: Array) -> None:
        """Add advantages of steps in a stage, before they are normalised."""
        self._sums[stage] += float(np.abs(advantages).sum(dtype=np.float64))
        self._counts[stage] += advantages.size

    @property
    def scores(self) -> Array:
        """Mean size of advantages by stage, with those since the last draw."""
        fresh = self._counts > 0
        return np.where(fresh, self._sums / np.maximum(self._counts, 1.0), self._scores)

    def probabilities(self) -> Array:
        """Probability of each stage in the next draw."""
        unseen = self._played < 0
        if unseen.all():
            return np.full(len(unseen), 1.0 / len(unseen))
        played = ~unseen
        replay = np.zeros(len(unseen))
        replay[played] = self._replay(self.scores[played], self._played[played])
        fresh = unseen / max(1, int(unseen.sum()))
        share = float(unseen.mean())
        mixed: Array = share * fresh + (1.0 - share) * replay
        return mixed

    def _replay(self, scores: Array, played: Array) -> Array:
        ranks = np.empty(len(scores))
        # Of equal scores the later stage comes first.
        order = np.lexsort((-np.arange(len(scores)), -scores))
        ranks[order] = np.arange(1, len(scores) + 1)
        weights = ranks ** (-1.0 / self.temperature)
        by_score = weights / weights.sum()
        ages = (self.draws - played).astype(float)
        by_age = ages / ages.sum() if ages.sum() else np.full(len(ages), 1.0 / len(ages))
        mixed: Array = (1.0 - self.staleness) * by_score + self.staleness * by_age
        return mixed

    def draw(self, copies: int, rng: np.random.Generator) -> list[int]:
        """The number of copies that play each stage next; every copy is drawn independently."""
        chances = self.probabilities()
        self._scores = self.scores
        self._sums[:], self._counts[:] = 0.0, 0.0
        self.draws += 1
        drawn = rng.choice(len(chances), size=copies, p=chances)
        counts = np.bincount(drawn, minlength=len(chances))
        self._played[counts > 0] = self.draws
        return [int(count) for count in counts]

    def state(self) -> dict[str, Any]:
        numbers = {"scores": self._scores, "played": self._played}
        numbers |= {"sums": self._sums, "counts": self._counts}
        return {"draws": self.draws} | {name: array.tolist() for name, array in numbers.items()}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        columns = [np.array(state[name], float) for name in ("scores", "played", "sums", "counts")]
        if any(column.shape != self._scores.shape for column in columns):
            raise ValueError(f"there are {len(self._scores)} stages")
        self.draws = int(state["draws"])
        self._scores, self._played, self._sums, self._counts = columns
        self._played = self._played.astype(int)
        return []

    def rollback_point(self) -> Callable[[], None]:
        return rollback_state(self)
