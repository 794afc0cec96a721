"""The archive of one task: its cells with trajectories there, its best trajectories, its successes.

Each of several tasks has an archive of its own: tasks share no cells, even if they look alike, and their
rewards do not compare.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from gymsolve.envs.contract import Episode, Step
from gymsolve.envs.join import Fit
from gymsolve.experience.rollout import Rollout
from gymsolve.extensions.archive.cell_keys import ArchiveCells, TaskSteps
from gymsolve.extensions.archive.cells import Archive
from gymsolve.extensions.archive.pending import Notes, Places
from gymsolve.extensions.archive.top_trajectories import TopTrajectories
from gymsolve.extensions.archive.trajectories import NOWHERE, Trajectories
from gymsolve.parts import arrays_below, join_arrays
from gymsolve.settings.exploration import ArchiveConfig
from gymsolve.spec import Array

_JUDGED, _FEWEST = 100, 20
"""Episodes from resets that the share of successes is computed from, at most and at least."""


class Successes:
    """Recent episodes from resets: True for those that reached the task's goal or its threshold."""

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
        """`name` and `fit` are given for one of several tasks."""
        self.name, self._fit, self.cells = name, fit, cells
        self.number = 0 if fit is None else fit.number
        self.archive = Archive(settings.capacity)
        self._ranks = "rapid" if settings.learn_from == "rapid" else "score"
        self.best = TopTrajectories(settings.trajectories, rapid=self._ranks == "rapid")
        self.successes = Successes(threshold)
        self.score = -np.inf
        """Score of the best episode."""
        self.env_steps = 0
        self._least = settings.true_starts

    @property
    def true_share(self) -> float:
        """Share of episodes that begin at a reset."""
        return self._least + (1.0 - self._least) * self.successes.share

    def begins_elsewhere(self, rng: np.random.Generator) -> bool:
        """True if the next episode shall begin at a place of the archive; drawn at random."""
        return len(self.archive) > 0 and rng.random() >= self.true_share

    def look(self, step: Step, rows: Array) -> Array:
        """The cells [n] of the task's environments, which are these rows of a step."""
        if self._fit is None:
            return self.cells.of(step.obs, step.watched)
        watched, own = step.watched, self._fit.own.watched
        if watched is not None and own:
            watched = watched[np.ix_(rows, self._fit.columns(own, self._fit.joint.watched))]
        return self.cells.of(self._fit.read_obs(step.obs, rows), watched)

    def ends(self, notes: Notes) -> list[tuple[int, int]]:
        """Steps and environments at the ends of trajectories that may be kept."""
        places, finished = notes.places[self.number], notes.finished[self.number]
        wanted = [(t, row) for t, row, score, length, _ in finished if self.best.may_want(score, length)]
        return [(t, row) for t, row, _ in places.values()] + wanted

    def take(self, notes: Notes, rows: Array, numbers: Array, log: Trajectories) -> None:
        """Take in the notes on these environments; `numbers` [T, N] are the rows of steps in the log."""
        places = notes.places[self.number]
        for key, (t, row, place) in sorted(places.items(), key=lambda item: item[1][:2]):
            place.row = int(numbers[t, row])
            self.archive.put(key, place, log)
        for t, row, score, length, truncated in notes.finished[self.number]:
            if numbers[t, row] != NOWHERE:  # it is among the `ends`
                self.best.offer(score, length, int(numbers[t, row]), truncated, self.archive, log)
        entered = np.zeros_like(notes.entered)
        entered[:, rows] = notes.entered[:, rows]
        keys, counts = np.unique(notes.cells[entered], return_counts=True)
        self.archive.see(keys.tolist(), counts.tolist())
        self.successes.recent.extend(notes.successes[self.number])
        self.score = max(self.score, notes.best[self.number])

    def adapt(self, rollout: Rollout, rows: Array, log: Trajectories, rng: np.random.Generator) -> None:
        """Let the cells adapt to a rollout, and compute all of them again if they changed."""
        steps = TaskSteps(rollout, rows, self._fit)
        self.env_steps += int(np.count_nonzero(steps.valid))
        if self.cells.learn(steps, self.env_steps, rng):
            self._cut_again(log)

    def _cut_again(self, log: Trajectories) -> None:
        if len(self.archive):
            self.archive.cut_again(self.cells.again([place.picture for place in self.archive.places]), log)

    def measure(self, places: Places, best: float) -> dict[str, float]:
        """Metrics of the archive with the new `places` of a rollout and its `best` score."""
        new = sum(key not in self.archive.index for key in places)
        return {
            "cells": float(len(self.archive) + new),
            "new_cells": float(new),
            "better_cells": float(len(places) - new),
            "best_score": max(self.score, best),
            "success": self.successes.share,
        }

    # ------------------------------------------------------------------------------ state

    def rollback_point(self) -> Callable[[], None]:
        return self.cells.rollback_point()  # all else changes in `take` and `adapt`, after a rollout

    def arrays(self) -> dict[str, Array]:
        return join_arrays({"cells": self.cells.arrays(), "archive": self.archive.arrays()})

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
        """Continue; drops places that are not valid under the present settings.

        `reachable` is True if the environments can restore a checkpoint's snapshots.
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
        cells, cut = arrays_below(arrays, "cells/"), state["cells"]
        places = arrays_below(arrays, "archive/")
        same = state["kind"] == self.cells.kind and self.cells.fits(cells, cut)
        if same:
            self.cells.load(cells, cut)
        if not same or not reachable:
            for row in places["rows"].tolist():
                log.release(row)
            why = "cells are told apart otherwise now" if reachable else "steps in training are others now"
            dropped = f"the archive{self._where} drops its {len(places['rows'])} places: {why}"
            return [f"{dropped}; its best trajectories stay"] if len(places["rows"]) else []
        self.archive.load(places, {})
        if not self.cells.is_cut_otherwise(cut):
            return []
        self._cut_again(log)
        return [f"cells of the archive{self._where} are cut anew, as the settings say now"]

    @property
    def _where(self) -> str:
        return f" of the task {self.name!r}" if self.name else ""
