"""What was found in one task: its cells and the ways there, its best trajectories, how often it succeeds.

Where a run learns several tasks, each has one of its own: two tasks never share a cell, however alike they
look, and the rewards of one say nothing about those of another.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from gymsolve.envs.contract import Episode, Step
from gymsolve.envs.join import Fit
from gymsolve.experience.rollout import Rollout
from gymsolve.extensions.archive.cell_keys import ArchiveCells, Shown
from gymsolve.extensions.archive.cells import Archive
from gymsolve.extensions.archive.pending import Found, Notes
from gymsolve.extensions.archive.top_trajectories import Best
from gymsolve.extensions.archive.trajectories import NOWHERE, Trajectories
from gymsolve.settings.exploration import ArchiveConfig
from gymsolve.spec import Array

_JUDGED, _FEWEST = 100, 20
"""True starts whose success counts, and how many it takes at least to count fully."""


class Successes:
    """Of recent true starts: which of them reached the task's goal, or the return that counts as solved."""

    def __init__(self, threshold: float | None) -> None:
        self.threshold = threshold
        self.recent: deque[bool] = deque(maxlen=_JUDGED)

    @property
    def share(self) -> float:
        return sum(self.recent) / max(_FEWEST, len(self.recent))

    def is_one(self, episode: Episode) -> bool:
        if episode.success is not None:
            return episode.success
        return self.threshold is not None and episode.raw_return >= self.threshold

    def load(self, recent: list[bool]) -> None:
        self.recent = deque(map(bool, recent), maxlen=_JUDGED)


class TaskArchive:
    """The archive of one task; `GoExplore` saves and restores it."""

    def __init__(
        self,
        settings: ArchiveConfig,
        cells: ArchiveCells,
        threshold: float | None,
        name: str = "",
        fit: Fit | None = None,
    ) -> None:
        """`name` and `fit` are those of one of several tasks."""
        self.name, self._fit, self.cells = name, fit, cells
        self.number = 0 if fit is None else fit.number
        self.archive = Archive(settings.capacity)
        self._ranks = "rapid" if settings.learn_from == "rapid" else "score"
        self.best = Best(settings.trajectories, rapid=self._ranks == "rapid")
        self.successes = Successes(threshold)
        self.score = -np.inf
        """What the best episode scored."""
        self.env_steps = 0
        self._least = settings.true_starts

    @property
    def true_share(self) -> float:
        """Share of episodes that begin at a reset."""
        return self._least + (1.0 - self._least) * self.successes.share

    def begins_elsewhere(self, rng: np.random.Generator) -> bool:
        """Shall the next episode begin at a place of the archive?"""
        return len(self.archive) > 0 and rng.random() >= self.true_share

    def look(self, step: Step, rows: Array) -> Array:
        """The cells [n] that the task's environments, in these rows of a step, are in."""
        if self._fit is None:
            return self.cells.of(step.obs, step.watched)
        watched, own = step.watched, self._fit.own.watched
        if watched is not None and own:
            watched = watched[np.ix_(rows, self._fit.columns(own, self._fit.joint.watched))]
        return self.cells.of(self._fit.read_obs(step.obs, rows), watched)

    def ends(self, notes: Notes) -> list[tuple[int, int]]:
        """Steps and environments that ways lead to which are worth keeping."""
        found, finished = notes.found[self.number], notes.finished[self.number]
        wanted = [one[:2] for one in finished if self.best.may_want(one[2], one[3])]
        return [one[:2] for one in found.values()] + wanted

    def take(self, notes: Notes, rows: Array, numbers: Array, log: Trajectories) -> None:
        """Take in what was noted of these rows; `numbers` [T, N] are those of their steps in the log."""
        found = notes.found[self.number]
        for key, (t, row, place) in sorted(found.items(), key=lambda one: one[1][:2]):
            place.row = int(numbers[t, row])
            self.archive.put(key, place, log)
        for t, row, score, length, truncated in notes.finished[self.number]:
            if numbers[t, row] != NOWHERE:  # one of its `ends`
                self.best.offer(score, length, int(numbers[t, row]), truncated, self.archive, log)
        entered = np.zeros_like(notes.entered)
        entered[:, rows] = notes.entered[:, rows]
        keys, counts = np.unique(notes.cells[entered], return_counts=True)
        self.archive.see(keys.tolist(), counts.tolist())
        self.successes.recent.extend(notes.successes[self.number])
        self.score = max(self.score, notes.best[self.number])

    def adapt(self, rollout: Rollout, rows: Array, log: Trajectories, rng: np.random.Generator) -> None:
        """Cut cells otherwise, where what these rows of a rollout showed gives reason to."""
        shown = Shown(rollout, rows, self._fit)
        self.env_steps += int(np.count_nonzero(shown.valid))
        if self.cells.learn(shown, self.env_steps, rng):
            self._cut_again(log)

    def _cut_again(self, log: Trajectories) -> None:
        if len(self.archive):
            self.archive.cut_again(self.cells.again([one.picture for one in self.archive.places]), log)

    def measure(self, found: Found, best: float) -> dict[str, float]:
        """How much there is, together with what a rollout has `found` and the `best` that it scored."""
        new = sum(key not in self.archive.index for key in found)
        return {
            "cells": float(len(self.archive) + new),
            "new_cells": float(new),
            "better_cells": float(len(found) - new),
            "best_score": max(self.score, best),
            "success": self.successes.share,
        }

    # ------------------------------------------------------------------------------ state

    def rollback_point(self) -> Callable[[], None]:
        return self.cells.rollback_point()  # all else waits until a rollout counts

    def arrays(self) -> dict[str, Array]:
        owned = {"cells": self.cells.arrays(), "archive": self.archive.arrays()}
        return {f"{owner}/{name}": one for owner, arrays in owned.items() for name, one in arrays.items()}

    def state(self) -> dict[str, Any]:
        return {
            "kind": self.cells.kind,
            "cells": self.cells.state(),
            "best": self.best.to_json(),
            "ranked_by": self._ranks,
            "successes": list(self.successes.recent),
            "bar": self.successes.threshold,
            "score": float(self.score),
            "env_steps": self.env_steps,
        }

    def load(
        self, arrays: dict[str, Array], state: dict[str, Any], log: Trajectories, *, reachable: bool
    ) -> list[str]:
        """Continue; places that mean something else under the settings of now are dropped.

        `reachable` says that the environments can go to a checkpoint's places. Ways there are in the log.
        """
        self.score, self.env_steps = float(state["score"]), int(state["env_steps"])
        if state.get("bar", self.successes.threshold) == self.successes.threshold:
            self.successes.load(state["successes"])
        notes = self._load_places(arrays, state, log, reachable)
        self.best.load(state["best"])
        had = len(self.best.kept)
        if state.get("ranked_by", self._ranks) != self._ranks or had > self.best.most:
            self.best.rank_again(self.archive, log)
            kept = f"{len(self.best.kept)} of {had} best trajectories stay"
            notes.append(f"{kept}{self._where}: the settings choose others now")
        return notes

    def _load_places(
        self, arrays: dict[str, Array], state: dict[str, Any], log: Trajectories, reachable: bool
    ) -> list[str]:
        cells, told, places = _owned(arrays, "cells/"), state["cells"], _owned(arrays, "archive/")
        known = state["kind"] == self.cells.kind and self.cells.fits(cells, told)
        if known:
            self.cells.load(cells, told)
        if not known or not reachable:
            for row in places["rows"].tolist():
                log.release(row)
            why = "cells are told apart otherwise now" if reachable else "steps in training are others now"
            dropped = f"the archive{self._where} drops its {len(places['rows'])} places: {why}"
            return [f"{dropped}; its best trajectories stay"] if len(places["rows"]) else []
        self.archive.load(places, {})
        if not self.cells.is_cut_otherwise(told):
            return []
        self._cut_again(log)
        return [f"cells of the archive{self._where} are cut anew, as the settings say now"]

    @property
    def _where(self) -> str:
        return f" of the task {self.name!r}" if self.name else ""


def _owned(arrays: dict[str, Array], prefix: str) -> dict[str, Array]:
    return {name.removeprefix(prefix): one for name, one in arrays.items() if name.startswith(prefix)}
