"""Go-Explore within training: decides where episodes begin, and keeps the places that they reach.

While a rollout is collected, new places are saved and noted, and the archive does not change. `commit` takes
the notes into the archive. So an iteration is taken back by dropping its notes.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from gymsolve.envs.contract import Envs, Episode, Snapshot, Step
from gymsolve.experience.reset_sampler import Relocated
from gymsolve.experience.rollout import Rollout
from gymsolve.extensions.archive.cells import Place, pack_snapshot
from gymsolve.extensions.archive.contact_sheet import contact_sheet
from gymsolve.extensions.archive.pending import Notes
from gymsolve.extensions.archive.running_episodes import RunningEpisodes
from gymsolve.extensions.archive.task_archive import TaskArchive
from gymsolve.extensions.archive.trajectories import NOWHERE, Trajectories
from gymsolve.extensions.extension import Extension
from gymsolve.parts import arrays_below
from gymsolve.runs.checkpoints import CELLS
from gymsolve.seeding import generator, restore_generator, save_generator
from gymsolve.settings.exploration import ArchiveConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import TASK_ENTRY, Array, Obs

_FRESH: Snapshot = {"kind": "reset"}
"""No backend can restore it, so by contract a new episode begins instead."""


class MadeBy(NamedTuple):
    """Digests of settings that an archive of any cells depends on."""

    env: str
    """The environment: another one has other places and scores."""
    steps: str
    """The environment with the wrappers of training: another one cannot restore the snapshots."""


class Lessons(Protocol):
    """Learns from the best trajectories of an archive (`imitation.py`, which needs torch)."""

    @property
    def instead(self) -> bool:
        """True if lessons replace the update with the rollout."""

    def learn(self, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        """Learn if a lesson is due; metrics by name."""

    def observe(self, rollout: Rollout) -> None:
        """Move the running statistics, where no update with a rollout does so."""


class GoExplore(Extension):
    """Owns the archives of all tasks, the trajectories, and the running episodes."""

    def __init__(
        self,
        settings: ArchiveConfig,
        envs: Envs,
        tasks: list[TaskArchive],
        num_steps: int,
        seed: int,
        *,
        made_by: MadeBy,
        recalls: bool = False,
    ) -> None:
        """`tasks` has one entry where there is one task; `recalls` is True for recurrent policies."""
        self.settings, self._envs, self.tasks = settings, envs, tasks
        self._made_by = made_by
        self.log = Trajectories(envs.spec)
        self.rng = generator(seed, "bonus", 2)
        self.turns = 0
        self._under_way = RunningEpisodes(envs.num_envs)
        self._num_steps, self._recalls = num_steps, recalls
        self._notes = self._blank()
        self._rows: list[Array] = []
        """The environments of each task, in the current rollout."""
        self.lessons: Lessons | None = None
        """Learns from the best trajectories; None if the settings ask for no such lessons."""
        self._of_row: list[TaskArchive] = []

    def _blank(self) -> Notes:
        return Notes(self._num_steps, self._under_way.heads, len(self.tasks))

    @property
    def played(self) -> list[TaskArchive]:
        """Tasks of the current rollout, or of the newest one."""
        return [task for task, rows in zip(self.tasks, self._rows, strict=False) if len(rows)]

    # --------------------------------------------------------------------- while a rollout is collected

    def before(self, obs: Obs) -> Relocated | None:
        """Abandon episodes that began at the archive `leave_after` steps ago."""
        self._notes = self._blank()
        numbers = obs[TASK_ENTRY] if len(self.tasks) > 1 else np.zeros(self._envs.num_envs, np.int64)
        self._rows = [np.flatnonzero(numbers == task.number) for task in self.tasks]
        self._of_row = [self.tasks[number] for number in numbers.tolist()]
        gone = np.flatnonzero(self._under_way.away >= self.settings.leave_after)
        return self._jump(0, gone.tolist(), leaving=True) if len(gone) else None

    def after(self, t: int, step: Step) -> Relocated | None:
        notes = self._notes
        self._under_way.advance(step.rewards)
        notes.rewards[t] = step.rewards
        over = step.terminated | step.truncated
        notes.over[t] = over
        for task, rows in zip(self.tasks, self._rows, strict=True):
            if len(rows) and task.cells.ready:
                self._look(t, task, rows, task.look(step, rows), ~over[rows])
        if not over.any():
            return None
        for episode in step.episodes:
            self._finish(t, episode)
        return self._jump(t + 1, np.flatnonzero(over).tolist())

    def _look(self, t: int, task: TaskArchive, rows: Array, cells: Array, live: Array) -> None:
        """Note the cells [n] of a task's environments, and save those that are new or reached better."""
        notes, under_way = self._notes, self._under_way
        notes.cells[t, rows] = cells
        notes.entered[t, rows] = live & (cells != under_way.at[rows])
        under_way.at[rows] = np.where(live, cells, 0)
        wanted: dict[int, int] = {}
        keys = cells.tolist()
        scores, lengths = under_way.scores[rows].tolist(), under_way.lengths[rows].tolist()
        for place in np.flatnonzero(live).tolist():
            key, score, length = keys[place], scores[place], lengths[place]
            other = wanted.get(key)
            if other is not None and (score, -length) <= (scores[other], -lengths[other]):
                continue
            if notes.wants(task.number, key, score, length, task.archive):
                wanted[key] = place
        if wanted:
            self._save(t, task, rows, wanted)

    def _save(self, t: int, task: TaskArchive, rows: Array, wanted: dict[int, int]) -> None:
        under_way, places = self._under_way, list(wanted.values())
        chosen = rows[places].tolist()
        saved, pictures = self._envs.snapshots(chosen), task.cells.pictures(places)
        for key, row, snapshot, picture in zip(wanted, chosen, saved, pictures, strict=True):
            if snapshot is not None:
                score, length, paid = under_way.scores[row], under_way.lengths[row], under_way.paid[row]
                place = Place(float(score), int(length), pack_snapshot(snapshot), picture, paid=bool(paid))
                self._notes.places[task.number][key] = t, row, place

    def _finish(self, t: int, episode: Episode) -> None:
        """Note the end of an episode; episodes that a fault cut do not come here."""
        notes, under_way, row = self._notes, self._under_way, episode.env
        task, score = self._of_row[row], float(under_way.scores[row])
        notes.best[task.number] = max(notes.best[task.number], score)
        if under_way.paid[row] or self.settings.learn_from == "rapid":
            end = t, row, score, int(under_way.lengths[row]), episode.truncated
            notes.finished[task.number].append(end)
        if under_way.away[row] < 0:
            notes.successes[task.number].append(task.successes.is_one(episode))

    def _jump(self, t: int, rows: list[int], *, leaving: bool = False) -> Relocated | None:
        """Begin episodes at a reset or at a place of their task's archive.

        Environments whose episodes ended have been reset already; abandoned ones are reset here.
        """
        self._under_way.begin(rows)
        self._notes.origin[t, rows] = NOWHERE
        archived = [row for row in rows if self._of_row[row].begins_elsewhere(self.rng)]
        going = rows if leaving else archived
        self._notes.begun += len(rows) - len(archived)
        if not going:
            return None
        places = {row: self._of_row[row].archive.draw(self.rng) for row in archived}
        seeds = self.rng.integers(2**31, size=len(going)).tolist()
        snapshots = [places[row].unpack() if row in places else _FRESH for row in going]
        obs, masks, lost = self._envs.jump(going, snapshots, seeds)
        self._notes.begun += sum(row in lost for row in places)  # an episode began instead
        reached = {row: place for row, place in places.items() if row not in lost}
        for row, place in reached.items():
            self._under_way.begin_at(row, place)
            self._notes.origin[t, row] = place.row
            self._notes.drawn.append(place)
        most = self.settings.recall if self._recalls else 0
        prefixes = {
            row: self.log.read(self.log.prefix(place.row, most)) for row, place in reached.items() if most
        }
        return Relocated(obs, masks, np.isin(np.arange(self._envs.num_envs), going), prefixes)

    def begun(self, rows: Array) -> None:
        """Between rollouts, these environments began other episodes, maybe in another task."""
        chosen, heads = np.flatnonzero(rows).tolist(), self._under_way.heads
        self._under_way.begin(chosen)
        for row in chosen:
            self.log.release(heads[row])
            heads[row] = NOWHERE
        self._notes = self._blank()

    # ------------------------------------------------------------------------- learning from it

    @property
    def replaces_update(self) -> bool:
        return self.lessons is not None and self.lessons.instead

    def learn(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        """Where lessons replace the update: learn, and move the policy's statistics."""
        if self.lessons is None or not self.lessons.instead:
            return {}
        metrics = self.lessons.learn(progress, rng)
        self.lessons.observe(rollout)
        return metrics

    def practise(self, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        """Lessons beside the update come after its measures."""
        if self.lessons is None or self.lessons.instead:
            return self.measure()
        return self.lessons.learn(progress, rng) | self.measure()

    def extra_files(self) -> dict[str, bytes]:
        """A contact sheet of the places, if they are pictures."""
        sheet = contact_sheet(self.tasks)
        return {} if sheet is None else {CELLS: sheet}

    # ------------------------------------------------------------------------- once the rollout counts

    def measure(self) -> dict[str, float]:
        """Metrics of the current rollout, and of the archives with it.

        Cells of several tasks add up; scores and successes are means over the tasks that have any.
        """
        notes = self._notes
        measures = {
            task.name: task.measure(notes.places[task.number], notes.best[task.number])
            for task in self.tasks
            if task.env_steps or task in self.played
        }
        starts = notes.begun + len(notes.drawn)
        metrics = {f"archive/{name}": sum(own[name] for own in measures.values()) for name in _SUMMED}
        metrics["archive/steps"] = float(len(self.log))
        likely = float(np.mean([task.true_share for task in self.played]))
        metrics["archive/true_starts"] = notes.begun / starts if starts else likely
        metrics["archive/success"] = float(np.mean([own["success"] for own in measures.values()]))
        scores = [own["best_score"] for own in measures.values() if own["best_score"] > -np.inf]
        if scores:
            metrics["archive/best_score"] = float(np.mean(scores))
        if len(self.tasks) > 1:
            for task, own in measures.items():
                metrics |= {f"archive_{name}/{task}": own[name] for name in _PER_TASK if own[name] > -np.inf}
        return metrics

    def commit(self, rollout: Rollout) -> None:
        """Take the notes of the rollout into the archives."""
        notes = self._notes
        self.turns += 1
        ends = [end for task in self.tasks for end in task.ends(notes)]
        numbers = notes.write_down(rollout, ends, self.log)
        self._move_heads(numbers)
        for task, rows in zip(self.tasks, self._rows, strict=True):
            task.take(notes, rows, numbers, self.log)
        for place in notes.drawn:
            place.chosen += 1
        self.log.drop_unneeded(np.sort(numbers[numbers != NOWHERE]))
        for task, rows in zip(self.tasks, self._rows, strict=True):
            if len(rows):
                task.adapt(rollout, rows, self.log, self.rng)
        self._notes = self._blank()

    def _move_heads(self, numbers: Array) -> None:
        """Keep the last row of each running episode in the log, instead of those of the last rollout."""
        notes = self._notes
        heads = np.where(notes.over[-1], notes.origin[-1], numbers[-1]).tolist()
        for head in heads:
            self.log.need(head)
        for head in self._under_way.heads:
            self.log.release(head)
        self._under_way.heads = heads

    # ------------------------------------------------------------------------------ state

    def rollback_point(self) -> Callable[[], None]:
        held = self._under_way.rollback_point(), *(task.rollback_point() for task in self.tasks)
        state, turns = save_generator(self.rng), self.turns

        def put_back() -> None:
            for undo in held:
                undo()
            self.rng, self.turns = restore_generator(state), turns
            self._notes = self._blank()

        return put_back

    def arrays(self) -> dict[str, Array]:
        arrays = {f"log/{name}": array for name, array in self.log.arrays().items()}
        for task in self.tasks:
            arrays |= {f"{_prefix(task)}{name}": array for name, array in task.arrays().items()}
        return arrays | self._under_way.arrays()

    def state(self) -> dict[str, Any]:
        states = {task.name: task.state() for task in self.tasks}
        return {
            **self._under_way.state(),
            **({"tasks": states} if len(self.tasks) > 1 else self.tasks[0].state()),
            "turns": self.turns,
            "rng": save_generator(self.rng),
            "made_by": self._made_by._asdict(),
        }

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        """Continue with places that are valid under the present settings; returns a note on the others."""
        log, *mine = (arrays_below(arrays, prefix) for prefix in ("log/", *map(_prefix, self.tasks)))
        states = [state.get("tasks", {}).get(task.name, {}) if task.name else state for task in self.tasks]
        parts = list(zip(self.tasks, mine, states, strict=True))
        if not all(states) or not self.log.fits(log):
            return self._start_empty("the checkpoint has none of this kind")
        made_by = MadeBy(**state.get("made_by", self._made_by._asdict()))  # older checkpoints do not say
        if made_by.env != self._made_by.env:
            return self._start_empty("the environment has other settings now")
        self.log.load(log, {})
        reachable, notes = made_by.steps == self._made_by.steps, []
        for task, own, its in parts:
            notes += task.load(own, its, self.log, reachable=reachable)
        self._under_way.load(arrays, state)
        for head in state["heads"][self._envs.num_envs :]:  # of copies that no longer exist
            self.log.release(int(head))
        self.turns, self.rng = int(state["turns"]), restore_generator(state["rng"])
        self._notes = self._blank()
        return notes

    def _start_empty(self, why: str) -> list[str]:
        # The beginnings of the running episodes are not in the log, so they are abandoned.
        self._under_way.away[:] = self.settings.leave_after
        return [f"the archive starts empty: {why}"]

    def reseed(self, seed: int, env_steps: int) -> None:
        self.rng = generator(seed, "bonus", 2, env_steps)


_SUMMED = ("cells", "new_cells", "better_cells")
_PER_TASK = ("cells", "best_score", "success")
"""Metrics of each of several tasks."""


def _prefix(task: TaskArchive) -> str:
    """The prefix of a task's arrays; those of a single task have none."""
    return f"tasks/{task.name}/" if task.name else ""
