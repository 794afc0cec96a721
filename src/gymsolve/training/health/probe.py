"""The probe: early observations with which the policy is measured again and again.

They are those of the first rollout, or of a replay buffer: rollouts that go there are short, so the first
shows little more than the starts of episodes. They stay the same for the whole run, and checkpoints keep
them, so that changes are the network's doing. A policy with memory gets the first steps of whole episodes:
what it remembers of them is computed anew for each measure, since memory from other weights would say
nothing about these.
"""

from typing import Any

import numpy as np

from gymsolve.envs.determinism import Bounds
from gymsolve.experience.learner import Policy
from gymsolve.experience.replay import ReplayBuffer
from gymsolve.experience.rollout import Rollout
from gymsolve.experience.sequences import cut_sequences
from gymsolve.experience.statistics import sample_rows
from gymsolve.parts import Part
from gymsolve.spec import Array, EnvSpec, Obs, ObsSpec

DORMANT = 0.025
"""A unit is dormant below this share of its layer's mean activation (Sokar et al. 2023)."""
_LONGEST = 16
"""Steps of one episode among the observations, where the policy has memory."""
_APART = 8
"""A replay buffer is sampled once it has this many times the steps that are kept."""


class Probe(Part):
    """A batch of observations, and what was legal there; empty until there are enough."""

    def __init__(self, spec: EnvSpec) -> None:
        self.spec = spec
        self.obs: Obs = {}
        self.masks: Array | None = None
        self.steps: Array | None = None  # [B] of the episode, before each row; None without memory
        self.told: Array | None = None  # [B, M] memory as it was, of which only the inputs are used
        self.bounds: Bounds | None = None
        """Finds the first observation outside of its space; None where nobody needs to know."""

    def take(self, rollout: Rollout, replay: ReplayBuffer | None) -> None:
        """Keep some of a rollout, or of the replay buffer where there is one, unless it has some already."""
        if self.obs or not rollout.env_steps:
            return
        if replay is not None:
            self._take_replayed(replay)
            return
        if rollout.memory is None:
            self.obs, self.masks = sample_obs(rollout, self.spec)
            return
        rows, self.steps = _first_steps(rollout, _most_rows(self.spec))
        self.obs, self.masks = rollout.seen(rows), _masks(rollout, rows)
        self.told = rollout.memory.reshape(-1, rollout.memory.shape[2])[rows]

    def _take_replayed(self, replay: ReplayBuffer) -> None:
        most, stored = _most_rows(self.spec), len(replay)
        if stored >= _APART * most or stored < replay.transitions:  # a full buffer may have less
            steps = replay.take(replay.spread(most))
            self.obs, self.masks = steps.obs, steps.masks

    def remember(self, policy: Policy) -> Array | None:
        """The policy's memory before each row [B, M]; None without memory."""
        if self.steps is None or self.told is None:
            return None
        inputs = policy.memory_inputs
        memory = np.zeros_like(self.told)
        for step in range(1, int(self.steps.max(initial=0)) + 1):
            rows = np.flatnonzero(self.steps == step)
            before = {key: array[rows - 1] for key, array in self.obs.items()}
            masks = None if self.masks is None else self.masks[rows - 1]
            after = policy.choose(before, masks, memory[rows - 1]).memory
            assert after is not None
            memory[rows] = after
            if inputs:
                memory[rows, -inputs:] = self.told[rows, -inputs:]
        return memory

    def arrays(self) -> dict[str, Array]:
        arrays = {f"obs/{key}": array for key, array in self.obs.items()}
        further = {"masks": self.masks, "steps": self.steps, "told": self.told}
        return arrays | {name: array for name, array in further.items() if array is not None}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        """Take over what was saved; nothing where it does not fit these spaces."""
        obs = {key: arrays[f"obs/{key}"] for key in self.spec.obs if f"obs/{key}" in arrays}
        further = {name: arrays.get(name) for name in ("masks", "steps", "told")}
        if self._fits(obs, further):
            self.obs, self.masks = obs, further["masks"]
            self.steps, self.told = further["steps"], further["told"]
        return []

    def _fits(self, obs: Obs, further: dict[str, Array | None]) -> bool:
        """True if the arrays are rows of these spaces: a checkpoint may come from anybody."""
        spec, (masks, steps, memory) = self.spec, further.values()
        if len(obs) < len(spec.obs) or spec.masked != (masks is not None):
            return False
        given = [array for array in (*obs.values(), *further.values()) if array is not None]
        if not all(array.ndim and len(array) == len(given[0]) for array in given):
            return False
        if not all(_is_of(obs[key], entry) for key, entry in spec.obs.items()):
            return False
        if masks is not None and masks.shape[1:] != (spec.action.mask_size,):
            return False
        if steps is None or memory is None:
            return steps is memory
        within = steps.ndim == 1 and memory.ndim == 2 and bool(((steps >= 0) & (steps < _LONGEST)).all())
        return within and not steps[:1].any()  # a row has the one before it in its episode


def _is_of(rows: Array, entry: ObsSpec) -> bool:
    """The rows are observations of this entry."""
    if rows.shape[1:] != entry.shape or rows.dtype.kind not in "biuf":
        return False
    if entry.kind != "discrete":
        return True
    most = np.reshape(entry.nvec, entry.shape)
    return rows.dtype.kind in "iu" and bool(((rows >= 0) & (rows < most)).all())


def _most_rows(spec: EnvSpec) -> int:
    """How many observations to keep; fewer pictures, which are large and whose network is slow."""
    return 32 if any(entry.kind == "image" for entry in spec.obs.values()) else 128


def sample_obs(rollout: Rollout, spec: EnvSpec) -> tuple[Obs, Array | None]:
    """Observations of a rollout, evenly spread, and what was legal there."""
    rows = sample_rows(rollout, _most_rows(spec))
    return rollout.seen(rows), _masks(rollout, rows)


def _masks(rollout: Rollout, rows: Array) -> Array | None:
    return None if rollout.masks is None else rollout.masks.reshape(-1, rollout.masks.shape[2])[rows]


def _first_steps(rollout: Rollout, most: int) -> tuple[Array, Array]:
    """Positions of at most `most` steps in stretches from the start of an episode, one after the other, and
    how many steps of its episode came before each."""
    assert rollout.memory is not None
    sequences = cut_sequences(rollout.valid, rollout.done, _LONGEST)
    positions = np.flatnonzero(rollout.valid)[sequences.rows]
    flat = rollout.memory.reshape(-1, rollout.memory.shape[2])
    fresh = ~flat[positions[sequences.begins]].any(axis=1)  # nothing is remembered at the start only
    rows: list[Array] = []
    for begin, length in zip(
        sequences.begins[fresh].tolist(), sequences.lengths[fresh].tolist(), strict=True
    ):
        rows.append(positions[begin : begin + min(length, most)])
        most -= len(rows[-1])
        if most <= 0:
            break
    steps = [np.arange(len(stretch)) for stretch in rows]
    return np.concatenate(rows or [positions[:0]]), np.concatenate(steps or [positions[:0]])


def dormant_share(hidden: dict[str, Array]) -> float:
    """Share of the units of all layers [B, units] whose mean size is tiny compared with their layer's."""
    dormant = units = 0
    for layer in hidden.values():
        size = np.add.reduce(np.abs(layer), axis=0)  # [units]
        dormant += int(np.count_nonzero(size <= DORMANT / len(size) * np.add.reduce(size)))
        units += len(size)
    return dormant / max(1, units)


def feature_rank(features: Array) -> float:
    """How many directions features [B, units] really use: (Σλ)² / Σλ² over the squared singular values.

    1 when all lie on a line, as many as there are units when all directions are used alike. It needs no
    decomposition, only two sums over the small one of the two products of the features with themselves.
    """
    rows, units = features.shape
    product = features.T @ features if units <= rows else features @ features.T
    square = float(np.vdot(product, product))
    return float(np.trace(product)) ** 2 / square if square > 0.0 else 0.0


def memory_effect(policy: Policy, probe: Probe, memory: Array) -> float:
    """How much clearing the memory [B, M] changes the best actions, or the values by their own spread."""
    cleared, box = np.zeros_like(memory), policy.spec.action.kind == "box"
    actions = [policy.greedy(probe.obs, probe.masks, rows) for rows in (memory, cleared)]
    with_it, without = (policy.values(probe.obs, rows).astype(np.float64) for rows in (memory, cleared))
    moved = float(np.sqrt(np.mean((with_it - without) ** 2)))
    spread = float(with_it.std())
    return max(churn(*actions, box=box), moved / spread if spread > 0.0 else 0.0)


def churn(before: Array, after: Array, *, box: bool) -> float:
    """Share of the likeliest actions [B, A] that changed; in a box by more than a hundredth of its half."""
    changed = np.abs(after - before) > 0.01 if box else after != before
    return np.count_nonzero(changed.any(axis=1)) / len(changed)
