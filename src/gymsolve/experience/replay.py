"""The replay buffer: the last steps of all environments, to learn from repeatedly.

It takes its shape from the first rollout. `sample` draws positions, `take` gives the steps there. Its state
is too large to be written at every checkpoint: files of its own hold stretches of it (`replay_files.py`).
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gymsolve.experience.frames import Frames
from gymsolve.experience.replay_files import load_segment, read_span, write_segments
from gymsolve.experience.ring import Ring
from gymsolve.experience.rollout import Rollout
from gymsolve.experience.steps import Steps
from gymsolve.parts import Part
from gymsolve.spec import Array, EnvSpec


class ReplayBuffer(Part):
    """At most `size` steps of all environments together."""

    def __init__(self, spec: EnvSpec, size: int, name: str = "replay") -> None:
        self._spec, self._size, self.name = spec, size, name
        self.transitions = 0
        """Valid steps that were added since the buffer was empty."""
        self.ring: Ring | None = None
        self._segments: list[str] = []
        """Names of the files of this state, oldest first."""

    def __len__(self) -> int:
        return 0 if self.ring is None else int(np.count_nonzero(self.ring.columns["valid"]))

    def add(self, rollout: Rollout) -> None:
        """Store a rollout; with another number of environments than before, the buffer starts empty."""
        if self.ring is None or self.ring.num_envs != rollout.num_envs:
            stacks = {}
            for key, entry in self._spec.obs.items():
                stored = rollout.obs[key]
                if entry.kind == "image":
                    stacks[key] = stored.numbers.shape[2] if isinstance(stored, Frames) else 1
            first = 0 if self.ring is None else self.ring.added
            self.ring, self._segments = self._make_ring(rollout.num_envs, stacks, first), []
            self.transitions = 0
        assert rollout.vec_steps <= self.ring.capacity, "a rollout must fit into the buffer"
        self.ring.add(rollout)
        self.transitions += rollout.env_steps

    def _make_ring(self, num_envs: int, stacks: dict[str, int], first: int) -> Ring:
        return Ring(self._spec, max(1, self._size // num_envs), num_envs, stacks, first)

    def sample(self, count: int, rng: np.random.Generator) -> Array:
        """Positions [count] of steps, each drawn uniformly among the valid ones."""
        ring = self._require_ring()
        filled = (ring.added - ring.oldest) * ring.num_envs
        valid = ring.columns["valid"].reshape(-1)
        rows = self._place(rng.integers(0, filled, count))
        while len(bad := np.flatnonzero(~valid[rows])):
            rows[bad] = self._place(rng.integers(0, filled, len(bad)))
        return rows

    def spread(self, count: int) -> Array:
        """Positions of at most `count` (two or more) steps, evenly spread among the valid ones by age."""
        ring = self._require_ring()
        rows = self._place(np.arange((ring.added - ring.oldest) * ring.num_envs))
        rows = rows[ring.columns["valid"].reshape(-1)[rows]]
        return rows[np.unique(np.linspace(0, len(rows) - 1, count).astype(np.int64))]

    def _place(self, numbers: Array) -> Array:
        """The positions in the ring of rows counted from the oldest one."""
        ring = self._require_ring()
        size = ring.capacity * ring.num_envs
        return (numbers + (ring.oldest % ring.capacity) * ring.num_envs) % size

    def take(self, rows: Array, n_step: int = 1, gamma: float = 1.0) -> Steps:
        """Steps at positions [B], with the discounted rewards of up to `n_step` steps from there on.

        The sum stops where an episode ends or is cut, and at the newest step; `next_obs` is what followed.
        """
        ring = self._require_ring()
        columns, newest = ring.columns, (ring.added - 1) % ring.capacity
        slots, envs = np.divmod(rows, ring.num_envs)
        last = slots.copy()
        rewards = columns["rewards"][slots, envs].astype(np.float64)
        factors = np.full(len(rows), float(gamma))
        for _ in range(n_step - 1):
            following = (last + 1) % ring.capacity
            going = ~columns["stops"][last, envs] & (last != newest) & columns["valid"][following, envs]
            last = np.where(going, following, last)
            rewards += np.where(going, factors * columns["rewards"][last, envs], 0.0)
            factors = np.where(going, factors * gamma, factors)
        terminated = columns["terminated"][last, envs]
        next_obs, next_masks = ring.successors(last, envs)
        return Steps(
            obs=ring.obs(slots, envs),
            actions=columns["actions"][slots, envs].astype(np.int64 if self._spec.action.nvec else "f4"),
            rewards=rewards.astype(np.float32),
            next_obs=next_obs,
            terminated=terminated,
            discounts=np.where(terminated, 0.0, factors).astype(np.float32),
            masks=columns["masks"][slots, envs] if "masks" in columns else None,
            next_masks=next_masks,
        )

    def _require_ring(self) -> Ring:
        assert self.ring is not None, "nothing was added yet"
        return self.ring

    # ------------------------------------------------------------------------------ state

    def arrays(self) -> dict[str, Array]:
        """The successors of the newest step, which no file has."""
        ring = self.ring
        if ring is None:
            return {}
        arrays = {f"after/{key}": rows for key, rows in ring.after.items()}
        for key, store in ring.stores.items():
            arrays[f"after/{key}"] = store.newest_pictures()
            arrays[f"numbers/{key}"], arrays[f"following/{key}"] = store.numbers, store.following
        return arrays if ring.after_masks is None else arrays | {"after_masks": ring.after_masks}

    def state(self) -> dict[str, Any]:
        ring = self.ring
        if ring is None:
            return {}
        return {
            "transitions": self.transitions,
            "first": ring.oldest,
            "added": ring.added,
            "num_envs": ring.num_envs,
            "stacks": {key: store.stacked for key, store in ring.stores.items()},
        }

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        """An empty ring of the right shape; `load_files` fills it."""
        self.ring, self._segments, self.transitions = None, [], 0
        if not state:
            return []
        self.transitions = int(state["transitions"])
        stacks = {key: int(count) for key, count in state["stacks"].items()}
        ring = self.ring = self._make_ring(int(state["num_envs"]), stacks, int(state["first"]))
        ring.added = int(state["added"])
        ring.first = ring.oldest  # where the buffer has become smaller
        for key in self._spec.obs:
            if key in ring.stores:
                newest = arrays[f"after/{key}"], arrays[f"numbers/{key}"], arrays[f"following/{key}"]
                ring.stores[key].continue_from(*newest)
            else:
                ring.after[key] = arrays[f"after/{key}"]
        ring.after_masks = arrays.get("after_masks")
        return []

    def write_files(self, folder: Path) -> list[str]:
        """Write the steps that no file has yet; returns the names of all files with steps of the ring."""
        ring = self.ring
        if ring is None:
            return []
        self._segments = [name for name in self._segments if read_span(name)[1] > ring.oldest]
        if not all((folder / name).is_file() for name in self._segments):
            self._segments = []  # another run began with this buffer: its files are elsewhere
        first = read_span(self._segments[-1])[1] if self._segments else ring.oldest
        self._segments += write_segments(ring, folder, self.name, max(first, ring.oldest))
        return list(self._segments)

    def load_files(self, folder: Path, names: Sequence[str]) -> None:
        ring = self.ring
        if ring is None:
            return
        self._segments = sorted(names, key=read_span)
        for name in self._segments:
            load_segment(ring, folder / name)
        ring.drop_unused_frames()

    def rollback_point(self) -> Callable[[], None]:
        ring, transitions, segments = self.ring, self.transitions, list(self._segments)
        undo = None if ring is None else ring.rollback_point()

        def put_back() -> None:
            self.ring, self.transitions, self._segments = ring, transitions, segments
            if undo is not None:
                undo()

        return put_back
