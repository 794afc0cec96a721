"""Several tasks in one vector: each has environments of its own, behind whatever backend serves them best.

Every row belongs to one task. Between two rollouts rows can be given to other tasks (`reassign`); a row that
stays with its task keeps its episode where the backend can carry it over. The seeds of a task's copies depend
on its name and on their number within it, not on the other tasks.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from gymsolve.envs.contract import Envs, Snapshot, Step
from gymsolve.envs.join import Fit, Joint, task_seed
from gymsolve.errors import EnvFaultError
from gymsolve.spec import Array, Obs

_ELSEWHERE: Snapshot = {"kind": "another task"}
"""A snapshot that no backend can reach: the row begins anew."""


class _Part:
    """The environments of one task and the rows that they stand in."""

    def __init__(self, fit: Fit, envs: Envs, rows: list[int]) -> None:
        self.fit, self.envs, self.rows = fit, envs, np.array(rows)


class JoinedEnvs:
    """`Envs` over the environments of several tasks."""

    def __init__(
        self, joint: Joint, copies: Mapping[str, int], make_part: Callable[[str, int], Envs]
    ) -> None:
        """`make_part(name, count)` builds the environments of a task; one without copies has none."""
        self.spec, self.fits, self._make_part = joint.spec, joint.fits, make_part
        self.num_envs = sum(copies.values())
        self._parts: dict[str, _Part] = {}
        first = 0
        for name, count in copies.items():
            if count:
                self._parts[name] = self._build(name, list(range(first, first + count)))
            first += count
        self._name_backend()
        self._obs: Obs = {}
        self._masks: Array | None = None

    def _name_backend(self) -> None:
        parts = (f"{name}: {len(part.rows)} × {part.envs.backend}" for name, part in self._named())
        self.backend = "; ".join(parts)

    @property
    def rows(self) -> dict[str, list[int]]:
        """The rows of each task, in the order of its copies; empty for a task that has none now."""
        rows = {name: part.rows.tolist() for name, part in self._parts.items()}
        return {name: rows.get(name, []) for name in self.spec.tasks}

    @property
    def endless(self) -> list[str]:
        """Tasks whose episodes no time limit ends."""
        return [name for name, fit in self.fits.items() if fit.own.max_episode_steps is None]

    def _build(self, name: str, rows: list[int]) -> _Part:
        return _Part(self.fits[name], self._make_part(name, len(rows)), rows)

    def _named(self) -> Iterator[tuple[str, _Part]]:
        """The parts in the order of the tasks."""
        return ((name, self._parts[name]) for name in self.spec.tasks if name in self._parts)

    # ------------------------------------------------------------------------------- playing

    def reset(self, seeds: list[int]) -> tuple[Obs, Array | None]:
        self._begin_anew()
        for name, part in self._named():
            self._write(part, *part.envs.reset(_seeds_of(name, seeds, len(part.rows))))
        return self._obs, self._masks

    def step(self, actions: Array) -> Step:
        count, spec = self.num_envs, self.spec
        out = Step(
            obs=self._empty(),
            rewards=np.zeros(count, np.float32),
            terminated=np.zeros(count, bool),
            truncated=np.zeros(count, bool),
            valid=np.ones(count, bool),
            final_obs=None,
            masks=np.ones((count, spec.action.mask_size), bool) if spec.masked else None,
            episodes=[],
            components=np.zeros((count, len(spec.components))) if spec.components else None,
            watched=np.zeros((count, len(spec.watched))) if spec.watched else None,
        )
        for name, part in self._named():
            self._merge(out, name, part, _step(part, actions))
        self._obs, self._masks = out.obs, out.masks
        return out

    def _merge(self, out: Step, name: str, part: _Part, step: Step) -> None:
        """Put what one task gave into the rows of all."""
        rows, fit = part.rows, part.fit
        fit.write_obs(out.obs, rows, step.obs)
        out.rewards[rows], out.valid[rows] = step.rewards, step.valid
        out.terminated[rows], out.truncated[rows] = step.terminated, step.truncated
        if step.final_obs is not None:
            out.final_obs = out.final_obs or self._empty()
            fit.write_obs(out.final_obs, rows, step.final_obs)
        if out.masks is not None:
            out.masks[rows] = fit.legal(len(rows), step.masks)
        if step.components is not None and out.components is not None:
            columns = fit.columns(fit.own.components, self.spec.components)
            out.components[np.ix_(rows, columns)] = step.components
        if step.watched is not None and out.watched is not None:
            columns = fit.columns(fit.own.watched, self.spec.watched)
            out.watched[np.ix_(rows, columns)] = step.watched
        if step.cut is not None:
            out.cut = np.zeros(self.num_envs, bool) if out.cut is None else out.cut
            out.cut[rows] = step.cut
        out.episodes += [episode._replace(env=int(rows[episode.env]), task=name) for episode in step.episodes]
        out.faults += tuple(f"In the task {name}: {fault}" for fault in step.faults)

    def _empty(self) -> Obs:
        entries = self.spec.obs.items()
        return {key: np.zeros((self.num_envs, *entry.shape), entry.dtype) for key, entry in entries}

    def _begin_anew(self) -> None:
        """Empty arrays to be written to; those handed out before are left alone."""
        self._obs = self._empty()
        size = (self.num_envs, self.spec.action.mask_size)
        self._masks = np.ones(size, bool) if self.spec.masked else None

    def _write(self, part: _Part, obs: Obs, masks: Array | None) -> None:
        part.fit.write_obs(self._obs, part.rows, obs)
        if self._masks is not None:
            self._masks[part.rows] = part.fit.legal(len(part.rows), masks)

    # ---------------------------------------------------------------------- capture and restore

    def capture(self) -> dict[str, Any] | None:
        """A task whose environments cannot be captured has None there, and begins anew."""
        states = {name: part.envs.capture() for name, part in self._named()}
        if all(state is None for state in states.values()):
            return None
        return {"kind": "joined", "rows": self.rows, "states": states}

    def restore(self, state: dict[str, Any], seeds: list[int]) -> tuple[Obs, Array | None, list[int]]:
        known = state["kind"] == "joined" and tuple(state["rows"]) == self.spec.tasks
        if not known or sorted(_all(state["rows"].values())) != list(range(self.num_envs)):
            return *self.reset(seeds), list(range(self.num_envs))
        self._rearrange(state["rows"])
        self._begin_anew()
        anew: list[int] = []
        for name, part in self._named():
            anew += self._continue(name, part, state["states"][name], seeds)
        return self._obs, self._masks, sorted(anew)

    def _continue(self, name: str, part: _Part, state: dict[str, Any] | None, seeds: list[int]) -> list[int]:
        """Put a task's environments where they were; the rows that began other episodes."""
        own = _seeds_of(name, seeds, len(part.rows))
        if state is None:
            self._write(part, *part.envs.reset(own))
            return [int(row) for row in part.rows]
        obs, masks, anew = part.envs.restore(state, own)
        self._write(part, obs, masks)
        return [int(part.rows[copy]) for copy in anew]

    def _rearrange(self, rows: Mapping[str, list[int]]) -> None:
        """Have so many environments of each task, in these rows."""
        for name in self.spec.tasks:
            part = self._parts.get(name)
            if part is not None and len(part.rows) == len(rows[name]):
                part.rows = np.array(rows[name])
                continue
            if part is not None:
                part.envs.close()
                del self._parts[name]
            if rows[name]:
                self._parts[name] = self._build(name, rows[name])
        self._name_backend()

    # -------------------------------------------------------------------------- other tasks

    def reassign(self, copies: Mapping[str, int], seeds: list[int]) -> tuple[Obs, Array | None, list[int]]:
        """Give each task that many copies; the last item names the rows that began other episodes.

        A task gives away its last copies and gets new ones at its end, so as few rows as possible change.
        Where a task has as many copies as before, nothing happens to it. Where its number changes, its other
        copies are carried over as by `restore`, and so may begin other episodes where that cannot be done.
        """
        rows = _distribute(self.rows, copies, self.num_envs)
        resized = [name for name, before in self.rows.items() if len(before) != len(rows[name])]
        held = {name: self._parts[name].envs.capture() for name in resized if name in self._parts}
        kept = self._obs, self._masks
        self._rearrange(rows)
        self._begin_anew()
        anew: list[int] = []
        for name, part in self._named():
            if name in resized:
                anew += self._continue(name, part, held.get(name), seeds)
            else:
                self._keep(part.rows, *kept)
        return self._obs, self._masks, sorted(anew)

    def _keep(self, rows: Array, obs: Obs, masks: Array | None) -> None:
        for key, array in obs.items():
            self._obs[key][rows] = array[rows]
        if self._masks is not None and masks is not None:
            self._masks[rows] = masks[rows]

    # --------------------------------------------------------------------- options and snapshots

    def _inside(self, rows: Sequence[int]) -> Iterator[tuple[str, _Part, list[int], list[int]]]:
        """For each task concerned: its part, positions among `rows`, and numbers of its own copies."""
        for name, part in self._named():
            places = [place for place, row in enumerate(rows) if row in part.rows]
            if places:
                yield name, part, places, [part.rows.tolist().index(rows[place]) for place in places]

    def configure(self, rows: Sequence[int], options: dict[str, Any] | None) -> None:
        for _, part, _, copies in self._inside(rows):
            part.envs.configure(copies, options)

    def snapshots(self, rows: Sequence[int]) -> list[Snapshot | None]:
        snapshots: list[Snapshot | None] = [None] * len(rows)
        for name, part, places, copies in self._inside(rows):
            for place, snapshot in zip(places, part.envs.snapshots(copies), strict=True):
                if snapshot is not None:
                    snapshots[place] = {"kind": "joined", "task": name, "of": snapshot}
        return snapshots

    def jump(
        self, rows: Sequence[int], snapshots: Sequence[Snapshot], seeds: Sequence[int]
    ) -> tuple[Obs, Array | None, list[int]]:
        """A snapshot of another task than the row's is one that cannot be reached."""
        before = self._obs, self._masks
        self._begin_anew()
        self._keep(np.arange(self.num_envs), *before)
        anew: list[int] = []
        for name, part, places, copies in self._inside(rows):
            given = [snapshots[place] for place in places]
            mine = [snapshot["of"] if snapshot.get("task") == name else _ELSEWHERE for snapshot in given]
            obs, masks, begun = part.envs.jump(copies, mine, [seeds[place] for place in places])
            self._write_again(part, obs, masks)
            anew += [int(part.rows[copy]) for copy in begun]
        return self._obs, self._masks, sorted(anew)

    def _write_again(self, part: _Part, obs: Obs, masks: Array | None) -> None:
        for array in self._obs.values():
            array[part.rows] = 0
        self._write(part, obs, masks)

    # ---------------------------------------------------------------------------------- the rest

    def render(self) -> list[Array]:
        frames: dict[int, Array] = {}
        for _, part in self._named():
            frames |= dict(zip(part.rows.tolist(), part.envs.render(), strict=False))
        return [frames[row] for row in sorted(frames)] if len(frames) == self.num_envs else []

    def close(self) -> None:
        for part in self._parts.values():
            part.envs.close()


def _step(part: _Part, actions: Array) -> Step:
    try:
        return part.envs.step(part.fit.actions(actions[part.rows]))
    except EnvFaultError as error:
        if error.bad is not None and error.bad.env is not None:  # counted over all rows from here on
            error.bad = replace(error.bad, env=int(part.rows[error.bad.env]))
        raise


def _seeds_of(name: str, seeds: Sequence[int], count: int) -> list[int]:
    """Seeds of a task's copies: by its name and their number, whatever other tasks there are."""
    return [task_seed(name, seed) for seed in seeds[:count]]


def _distribute(rows: Mapping[str, list[int]], copies: Mapping[str, int], count: int) -> dict[str, list[int]]:
    """Rows of each task when it has that many copies: its first ones, then rows that others gave away."""
    assert set(copies) <= set(rows), "there is no such task"
    assert sum(copies.values()) == count, "every row needs a task"
    kept = {name: mine[: copies.get(name, 0)] for name, mine in rows.items()}
    free = iter(sorted(set(range(count)) - set(_all(kept.values()))))
    return {
        name: mine + [next(free) for _ in range(copies.get(name, 0) - len(mine))]
        for name, mine in kept.items()
    }


def _all(several: Iterable[list[int]]) -> Iterator[int]:
    return (row for rows in several for row in rows)
