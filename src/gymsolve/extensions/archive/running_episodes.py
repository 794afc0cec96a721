"""The running episodes of an archive: their beginnings, scores and lengths."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gymsolve.extensions.archive.cells import Place
from gymsolve.extensions.archive.trajectories import NOWHERE
from gymsolve.parts import Part, resize_rows
from gymsolve.spec import Array


class RunningEpisodes(Part):
    """One episode per environment."""

    def __init__(self, count: int) -> None:
        self.heads: list[int] = [NOWHERE] * count
        """The last row of each, as of the last committed rollout."""
        self.scores, self.lengths = np.zeros(count), np.zeros(count, np.int64)  # [N]
        self.paid = np.zeros(count, bool)  # [N] any reward was above 0
        self.away = np.full(count, -1)  # [N] steps since the archive; −1 since a reset
        self.at = np.zeros(count, np.uint64)  # [N] cell

    def begin(self, rows: list[int]) -> None:
        """Begin these at a reset."""
        self.scores[rows], self.lengths[rows], self.away[rows], self.at[rows] = 0.0, 0, -1, 0
        self.paid[rows] = False

    def begin_at(self, row: int, place: Place) -> None:
        """Begin an episode at a place of the archive."""
        self.scores[row], self.lengths[row], self.away[row] = place.score, place.length, 0
        self.paid[row] = place.paid

    def advance(self, rewards: Array) -> None:
        """Take one step in all."""
        self.scores += rewards
        self.paid |= rewards > 0.0
        self.lengths += 1
        self.away[self.away >= 0] += 1

    def rollback_point(self) -> Callable[[], None]:
        names = ("scores", "lengths", "paid", "away", "at")  # `commit` moves the heads
        kept = {name: vars(self)[name].copy() for name in names}

        def put_back() -> None:
            vars(self).update(kept)

        return put_back

    def arrays(self) -> dict[str, Array]:
        return {"at": self.at}

    def state(self) -> dict[str, Any]:
        return {
            "heads": self.heads,
            "scores": self.scores.tolist(),
            "lengths": self.lengths.tolist(),
            "away": self.away.tolist(),
            "paid": self.paid.tolist(),
        }

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        blank = RunningEpisodes(len(self.heads))
        saved = {name: np.array(state[name]) for name in ("scores", "lengths", "away", "paid")}
        for name, values in (saved | {"at": arrays["at"]}).items():
            vars(self)[name] = resize_rows(values, vars(blank)[name])
        self.heads = resize_rows(np.array(state["heads"], np.int64), np.array(blank.heads)).tolist()
        return []
