"""A ring of vector steps [capacity, N] with their successors.

Plain observations are arrays; pictures are compressed frames (`frame_store.py`). The successor of a step is
the row after it, except where an episode ended or was abandoned: there the true last observation is stored
separately. Rows that a backend spent on a reset are stored too, since they are successors of others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from gymsolve.experience.frame_store import FrameStore
from gymsolve.experience.rollout import Rollout
from gymsolve.spec import Array, EnvSpec, Obs

Ends = dict[int, dict[int, dict[str, Array]]]
"""True last observations by step, environment and entry; of a picture, the numbers [k] of its frames."""


@dataclass
class _Journal:
    """Rows and ends that the newest changes have overwritten."""

    rows: list[tuple[Array, dict[str, Array]]] = field(default_factory=list)
    ends: Ends = field(default_factory=dict)


class Ring:
    """The newest `capacity` vector steps; a step is addressed by its number, which counts from the start."""

    def __init__(
        self, spec: EnvSpec, capacity: int, num_envs: int, stacks: dict[str, int], first: int
    ) -> None:
        self.spec, self.capacity, self.num_envs = spec, capacity, num_envs
        self.first = first
        """Number of the first step that was put here."""
        self.added = first
        """Number of the next step."""
        self.stores: dict[str, FrameStore] = {}
        self.columns = _columns(spec, (capacity, num_envs))
        for key, entry in spec.obs.items():
            shape = (*entry.shape,)
            if key in stacks:  # numbers of frames instead of the picture
                self.stores[key] = FrameStore(num_envs, entry.shape, entry.dtype, stacks[key])
                shape = (stacks[key],)
            dtype = np.int64 if key in stacks else entry.dtype
            self.columns[f"obs/{key}"] = np.zeros((capacity, num_envs, *shape), dtype)
        self.after: dict[str, Array] = {}
        """Successors of the newest step [N, …], except pictures: those are the newest of their store."""
        self.after_masks: Array | None = None
        self.ends: Ends = {}
        self._journal: _Journal | None = None

    @property
    def oldest(self) -> int:
        """Number of the oldest step that is still there."""
        return max(self.first, self.added - self.capacity)

    # ------------------------------------------------------------------------------ writing

    def add(self, rollout: Rollout) -> None:
        """Store a rollout that has the true last observations."""
        steps = rollout.vec_steps
        slots = (self.added + np.arange(steps)) % self.capacity
        if self._journal is not None:
            saved = {name: column[slots].copy() for name, column in self.columns.items()}
            self._journal.rows.append((slots, saved))
        for step in range(self.oldest, self.added + steps - self.capacity):
            ended = self.ends.pop(step, None)
            if ended is not None and self._journal is not None:
                self._journal.ends.setdefault(step, ended)
        if steps < self.capacity:  # or the newest step is overwritten as well
            self._abandon(rollout.anew)
        self._write(rollout, slots)
        self.added += steps
        self.drop_unused_frames()

    def drop_unused_frames(self) -> None:
        """Drop the frames that only overwritten steps had."""
        for key, store in self.stores.items():
            store.drop_below(self.columns[f"obs/{key}"][self.oldest % self.capacity, :, 0])

    def _write(self, rollout: Rollout, slots: Array) -> None:
        columns = self.columns
        columns["actions"][slots], columns["rewards"][slots] = rollout.actions, rollout.rewards
        columns["terminated"][slots], columns["valid"][slots] = rollout.terminated, rollout.valid
        columns["stops"][slots] = rollout.done
        if rollout.masks is not None:
            columns["masks"][slots] = rollout.masks
        for key in self.spec.obs:
            if key not in self.stores:
                columns[f"obs/{key}"][slots] = rollout.obs[key]
        pictures = {key: rollout.obs[key] for key in self.stores}
        for t, slot in enumerate(slots.tolist()):
            for key, stored in pictures.items():
                store, pixels = self.stores[key], stored[t]
                columns[f"obs/{key}"][slot] = [store.put(env, pixels[env]) for env in range(self.num_envs)]
            for env in np.flatnonzero(rollout.done[t] & rollout.valid[t]).tolist():
                last = {key: array[env] for key, array in rollout.final_obs[t].items()}
                for key, store in self.stores.items():
                    last[key] = store.put(env, last[key])
                self._keep_end(self.added + t, env, last)
        for key, array in rollout.last_obs.items():
            if key in self.stores:
                for env in range(self.num_envs):
                    self.stores[key].put(env, array[env])
            else:
                self.after = self.after | {key: array.copy()}
        self.after_masks = None if rollout.last_masks is None else rollout.last_masks.copy()

    def _keep_end(self, step: int, env: int, last: dict[str, Array]) -> None:
        kept = {key: array.copy() for key, array in last.items()}
        self.ends[step] = {**self.ends.get(step, {}), env: kept}

    def _abandon(self, anew: Sequence[int]) -> None:
        """Cut abandoned episodes at the newest step, as a time limit would."""
        if self.added == self.first:
            return
        step = self.added - 1
        stops = self.columns["stops"][step % self.capacity]  # [N]
        for env in anew:
            if not stops[env]:
                last = {key: store.numbers[env] for key, store in self.stores.items()}
                self._keep_end(step, env, last | {key: rows[env] for key, rows in self.after.items()})
                stops[env] = True

    # ------------------------------------------------------------------------------ reading

    def obs(self, slots: Array, envs: Array) -> Obs:
        """The observations [B, …] that steps began with."""
        obs: Obs = {}
        for key in self.spec.obs:
            rows = self.columns[f"obs/{key}"][slots, envs]
            obs[key] = self.stores[key].read(envs, rows) if key in self.stores else rows
        return obs

    def successors(self, slots: Array, envs: Array) -> tuple[Obs, Array | None]:
        """The true observations after steps [B], and the masks of legal actions there.

        Environments give no mask for the last observation of an episode: there all actions that the recipe
        allows are legal.
        """
        following = (slots + 1) % self.capacity
        at_newest = np.flatnonzero(slots == (self.added - 1) % self.capacity)
        ended = np.flatnonzero(self.columns["stops"][slots, envs])
        steps = self.oldest + (slots - self.oldest) % self.capacity
        last = [self.ends[int(steps[row])][int(envs[row])] for row in ended.tolist()]
        obs: Obs = {}
        for key in self.spec.obs:
            store = self.stores.get(key)
            rows = self.columns[f"obs/{key}"][following, envs]
            rows[at_newest] = (self.after[key] if store is None else store.numbers)[envs[at_newest]]
            for row, end in zip(ended.tolist(), last, strict=True):
                rows[row] = end[key]
            obs[key] = rows if store is None else store.read(envs, rows)
        if "masks" not in self.columns:
            return obs, None
        masks = self.columns["masks"][following, envs]
        always = self.spec.legal or (True,) * self.spec.action.mask_size
        masks[at_newest] = always if self.after_masks is None else self.after_masks[envs[at_newest]]
        masks[ended] = always
        return obs, masks

    # ------------------------------------------------------------------------------ going back

    def rollback_point(self) -> Callable[[], None]:
        """A function that restores the present ring; only the newest one may be called."""
        journal = self._journal = _Journal()
        added, after, after_masks = self.added, self.after, self.after_masks
        frames = [store.rollback_point() for store in self.stores.values()]
        newest = (added - 1) % self.capacity
        stops, last = self.columns["stops"][newest].copy(), self.ends.get(added - 1)

        def put_back() -> None:
            for slots, rows in reversed(journal.rows):
                for name, saved in rows.items():
                    self.columns[name][slots] = saved
            self.columns["stops"][newest] = stops
            ends = self.ends | journal.ends
            self.ends = {step: ended for step, ended in ends.items() if step < added - 1}
            if last is not None:
                self.ends[added - 1] = last
            for undo in frames:
                undo()
            self.added, self.after, self.after_masks = added, after, after_masks
            journal.rows, journal.ends = [], {}

        return put_back


def _columns(spec: EnvSpec, size: tuple[int, int]) -> dict[str, Array]:
    """Columns of every step besides observations."""
    nvec = spec.action.nvec
    columns = {
        "actions": np.zeros((*size, spec.action.size), np.min_scalar_type(max(nvec) - 1) if nvec else "f4"),
        "rewards": np.zeros(size, np.float32),
        "terminated": np.zeros(size, bool),
        "stops": np.zeros(size, bool),  # the next row does not follow this one
        "valid": np.zeros(size, bool),
    }
    if spec.masked:
        columns["masks"] = np.zeros((*size, spec.action.mask_size), bool)
    return columns
