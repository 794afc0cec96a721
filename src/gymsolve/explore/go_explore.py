"""Go-Explore within training: who starts where, what was found on the way, and what is kept of it.

While a rollout is collected nothing that is kept changes: new places are saved (only now can they be), and
noted. Once the rollout counts, `commit` writes down the ways to whatever was found. So an iteration that
comes to nothing is taken back by forgetting the notes, and a rollout starts from what was known before it.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from gymsolve.envs.contract import Envs, Episode, Snapshot, Step
from gymsolve.explore.archive import Archive, Place, pack_snapshot
from gymsolve.explore.archive_cells import ArchiveCells
from gymsolve.explore.best import Best
from gymsolve.explore.notes import Notes
from gymsolve.explore.trajectories import NOWHERE, Trajectories
from gymsolve.explore.under_way import UnderWay
from gymsolve.explore_config import ArchiveConfig
from gymsolve.parts import Part
from gymsolve.rollout.rollout import Rollout
from gymsolve.rollout.starts import Moved
from gymsolve.seeding import generator, restore_generator, save_generator
from gymsolve.spec import Array

__all__ = ["GoExplore"]

_JUDGED, _FEWEST = 100, 20
"""True starts whose success counts, and how many it takes at least to count fully."""
_FRESH: Snapshot = {"kind": "reset"}
"""No backend can reach it, so by contract an episode begins instead."""


class Successes:
    """Of recent true starts: which of them reached the task's goal, or the return that counts as solved."""

    def __init__(self, threshold: float | None) -> None:
        self._threshold = threshold
        self.recent: deque[bool] = deque(maxlen=_JUDGED)

    @property
    def share(self) -> float:
        return sum(self.recent) / max(_FEWEST, len(self.recent))

    def is_one(self, episode: Episode) -> bool:
        if episode.success is not None:
            return episode.success
        return self._threshold is not None and episode.raw_return >= self._threshold

    def load(self, recent: list[bool]) -> None:
        self.recent = deque(map(bool, recent), maxlen=_JUDGED)


class GoExplore(Part):
    """Owns the archive, the trajectories, and the episodes under way."""

    def __init__(
        self,
        settings: ArchiveConfig,
        envs: Envs,
        cells: ArchiveCells,
        num_steps: int,
        seed: int,
        threshold: float | None,
    ) -> None:
        self.settings, self._envs, self.cells = settings, envs, cells
        self.archive, self.log = Archive(settings.capacity), Trajectories(envs.spec)
        self.best = Best(settings.trajectories, rapid=settings.learn_from == "rapid")
        self.rng = generator(seed, "bonus", 2)
        self.turns = 0
        self.env_steps = 0
        self.successes = Successes(threshold)
        self._score = -np.inf
        """What the best episode scored."""
        self._under_way = UnderWay(envs.num_envs)
        self._num_steps = num_steps
        self._notes = self._blank()

    def _blank(self) -> Notes:
        return Notes(self._num_steps, self._under_way.heads)

    @property
    def true_share(self) -> float:
        """Share of episodes that begin at a reset."""
        least = self.settings.true_starts
        return least + (1.0 - least) * self.successes.share

    # --------------------------------------------------------------------- while a rollout is collected

    def before(self) -> Moved | None:
        """Leave episodes that have been away from the archive for long enough."""
        self._notes = self._blank()
        gone = np.flatnonzero(self._under_way.away >= self.settings.leave_after)
        return self._jump(0, gone.tolist(), leaving=True) if len(gone) else None

    def after(self, t: int, step: Step) -> Moved | None:
        notes = self._notes
        self._under_way.advance(step.rewards)
        notes.rewards[t] = step.rewards
        over = step.terminated | step.truncated
        notes.over[t] = over
        if self.cells.ready:
            self._look(t, step, ~over)
        if not over.any():
            return None
        for episode in step.episodes:
            self._finish(t, episode)
        return self._jump(t + 1, np.flatnonzero(over).tolist())

    def _look(self, t: int, step: Step, live: Array) -> None:
        """Note where everybody is, and save places that are new or reached in a better way."""
        notes, under_way = self._notes, self._under_way
        notes.cells[t] = cells = self.cells.of(step)
        notes.entered[t] = live & (cells != under_way.at)
        under_way.at = np.where(live, cells, 0).astype(np.uint64)
        wanted: dict[int, int] = {}
        scores, lengths, keys = under_way.scores.tolist(), under_way.lengths.tolist(), cells.tolist()
        for row in np.flatnonzero(live).tolist():
            key, score, length = keys[row], scores[row], lengths[row]
            other = wanted.get(key)
            if other is not None and (score, -length) <= (scores[other], -lengths[other]):
                continue
            if self._notes.wants(key, score, length, self.archive):
                wanted[key] = row
        if wanted:
            self._save(t, wanted)

    def _save(self, t: int, wanted: dict[int, int]) -> None:
        rows, under_way = list(wanted.values()), self._under_way
        saved = self._envs.snapshots(rows)
        pictures = self.cells.pictures(rows)
        for key, row, snapshot, picture in zip(wanted, rows, saved, pictures, strict=True):
            if snapshot is not None:
                score, length, paid = under_way.scores[row], under_way.lengths[row], under_way.paid[row]
                place = Place(float(score), int(length), pack_snapshot(snapshot), picture, paid=bool(paid))
                self._notes.found[key] = t, row, place

    def _finish(self, t: int, episode: Episode) -> None:
        """An episode has ended; one that a fault cut is not among them."""
        notes, under_way, row = self._notes, self._under_way, episode.env
        score = float(under_way.scores[row])
        notes.best = max(notes.best, score)
        if under_way.paid[row] or self.settings.learn_from == "rapid":
            notes.finished.append((t, row, score, int(under_way.lengths[row]), episode.truncated))
        if under_way.away[row] < 0:
            notes.successes.append(self.successes.is_one(episode))

    def _jump(self, t: int, rows: list[int], *, leaving: bool = False) -> Moved | None:
        """Let episodes begin, at a reset or at a place of the archive.

        Where episodes ended, the reset has been made; those that are left need one.
        """
        self._under_way.begin(rows)
        self._notes.origin[t, rows] = NOWHERE
        away = [bool(len(self.archive)) and self.rng.random() >= self.true_share for _ in rows]
        going = [row for row, there in zip(rows, away, strict=True) if there or leaving]
        self._notes.begun += len(rows) - sum(away)
        if not going:
            return None
        places = {row: self.archive.draw(self.rng) for row, there in zip(rows, away, strict=True) if there}
        seeds = self.rng.integers(2**31, size=len(going)).tolist()
        snapshots = [places[row].unpack() if row in places else _FRESH for row in going]
        obs, masks, lost = self._envs.jump(going, snapshots, seeds)
        for row, place in places.items():
            if row in lost:  # an episode began instead
                self._notes.begun += 1
                continue
            self._under_way.begin_at(row, place)
            self._notes.origin[t, row] = place.row
            self._notes.drawn.append(place)
        return Moved(obs, masks, np.isin(np.arange(self._envs.num_envs), going))

    def begun(self, rows: Array) -> None:
        """Between rollouts: these environments begin anew."""
        chosen, heads = np.flatnonzero(rows).tolist(), self._under_way.heads
        self._under_way.begin(chosen)
        for row in chosen:
            self.log.release(heads[row])
            heads[row] = NOWHERE
        self._notes = self._blank()

    # ------------------------------------------------------------------------- once the rollout counts

    def measure(self) -> dict[str, float]:
        """Metrics of the rollout under way, and of the archive with it."""
        notes = self._notes
        new = sum(key not in self.archive.index for key in notes.found)
        starts = notes.begun + len(notes.drawn)
        best = max(self._score, notes.best)
        found = {
            "archive/cells": float(len(self.archive) + new),
            "archive/new_cells": float(new),
            "archive/better_cells": float(len(notes.found) - new),
            "archive/steps": float(len(self.log)),
            "archive/true_starts": notes.begun / starts if starts else self.true_share,
            "archive/success": self.successes.share,
        }
        return found | ({"archive/best_score": best} if best > -np.inf else {})

    def commit(self, rollout: Rollout) -> None:
        """Take what was found into the archive."""
        notes = self._notes
        self.env_steps += rollout.env_steps
        self.turns += 1
        places = sorted(notes.found.items(), key=lambda one: one[1][:2])
        wanted = [one for one in notes.finished if self.best.may_want(one[2], one[3])]
        ends = [at[:2] for _, at in places] + [(t, row) for t, row, *_ in wanted]
        numbers = notes.write_down(rollout, ends, self.log)
        self._move_heads(numbers)
        for key, (t, row, place) in places:
            place.row = int(numbers[t, row])
            self.archive.put(key, place, self.log)
        for t, row, score, length, truncated in wanted:
            self.best.offer(score, length, int(numbers[t, row]), truncated, self.archive, self.log)
        self.log.drop_unneeded(np.sort(numbers[numbers != NOWHERE]))
        self._count(notes)
        if self.cells.learn(rollout, self.env_steps, self.rng) and len(self.archive):
            self.archive.cut_again(self.cells.again([one.picture for one in self.archive.places]), self.log)
        self._notes = self._blank()

    def _count(self, notes: Notes) -> None:
        keys, counts = np.unique(notes.cells[notes.entered], return_counts=True)
        self.archive.see(keys.tolist(), counts.tolist())
        for place in notes.drawn:
            place.chosen += 1
        self.successes.recent.extend(notes.successes)
        self._score = max(self._score, notes.best)

    def _move_heads(self, numbers: Array) -> None:
        """Episodes under way need their last row; those they needed before may not be needed any more."""
        notes = self._notes
        heads = np.where(notes.over[-1], notes.origin[-1], numbers[-1]).tolist()
        for head in heads:
            self.log.need(head)
        for head in self._under_way.heads:
            self.log.release(head)
        self._under_way.heads = heads

    # ------------------------------------------------------------------------------ state

    def hold(self) -> Callable[[], None]:
        held = self._under_way.hold(), self.cells.hold()
        state, turns = save_generator(self.rng), self.turns

        def put_back() -> None:
            for undo in held:
                undo()
            self.rng, self.turns = restore_generator(state), turns
            self._notes = self._blank()

        return put_back

    def arrays(self) -> dict[str, Array]:
        owned = {"cells": self.cells.arrays(), "archive": self.archive.arrays(), "log": self.log.arrays()}
        found = {f"{owner}/{name}": one for owner, arrays in owned.items() for name, one in arrays.items()}
        return found | self._under_way.arrays()

    def state(self) -> dict[str, Any]:
        return {
            "kind": self.cells.kind,
            "cells": self.cells.state(),
            "best": self.best.to_json(),
            **self._under_way.state(),
            "successes": list(self.successes.recent),
            "score": float(self._score),
            "turns": self.turns,
            "env_steps": self.env_steps,
            "rng": save_generator(self.rng),
        }

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        """Continue, or say that the archive begins anew: the checkpoint has none of this kind."""
        split: dict[str, dict[str, Array]] = {"cells": {}, "archive": {}, "log": {}, "at": {}}
        for name, array in arrays.items():
            owner, _, rest = name.partition("/")
            split[owner][rest] = array
        fits = state and state["kind"] == self.cells.kind
        if not fits or not self.log.fits(split["log"]) or not self.cells.fits(split["cells"], state["cells"]):
            # How episodes under way began is not known, so no way leads through them: they are left.
            self._under_way.away[:] = self.settings.leave_after
            return ["the archive starts empty: the checkpoint has none of this kind"]
        self.cells.load(split["cells"], state["cells"])
        self.archive.load(split["archive"], {})
        self.log.load(split["log"], {})
        self.best.load(state["best"])
        self._under_way.load(arrays, state)
        for head in state["heads"][self._envs.num_envs :]:  # of copies that there are no more
            self.log.release(int(head))
        self.successes.load(state["successes"])
        self._score, self.turns = float(state["score"]), int(state["turns"])
        self.env_steps, self.rng = int(state["env_steps"]), restore_generator(state["rng"])
        self._notes = self._blank()
        return []

    def reseed(self, seed: int, env_steps: int) -> None:
        self.rng = generator(seed, "bonus", 2, env_steps)
