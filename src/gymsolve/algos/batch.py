"""The steps of a rollout that are learned from, as flat tensors."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from gymsolve.experience.frames import Frames
from gymsolve.experience.learning import flatten, flatten_entry
from gymsolve.experience.rollout import Rollout
from gymsolve.experience.sequences import Layout, Sequences, cut_sequences
from gymsolve.nn.memory import Unrolled
from gymsolve.nn.minibatch import Minibatch
from gymsolve.nn.network import Network
from gymsolve.spec import Array


class Batch:
    """The valid steps of a rollout as flat tensors [B, …] that share the rollout's memory where possible."""

    def __init__(self, policy: Network, rollout: Rollout, rows: Array) -> None:
        device = policy.device
        masks = None if rollout.masks is None else flatten(rollout.masks, rows)
        self._obs: dict[str, Tensor | _Stacks] = {}
        self.raw_obs: dict[str, Array] = {}
        """The raw observations, for the running statistics."""
        for key, stored in rollout.obs.items():
            if isinstance(stored, Frames) and (device.type != "cpu" or policy.encoder.reads_planes(key)):
                self._obs[key] = _Stacks(stored, rows, device)
                if policy.config.batch_norm:
                    self.raw_obs[key] = flatten_entry(stored, rows)
                continue
            self.raw_obs[key] = flatten_entry(stored, rows)
            x = torch.from_numpy(self.raw_obs[key]).to(device)
            if policy.spec.obs[key].kind == "image":
                # Once per update instead of in every minibatch: the convolutions read this layout faster.
                x = x.contiguous(memory_format=torch.channels_last)
            self._obs[key] = x
        self.masks = None if masks is None else torch.from_numpy(masks).to(device)
        self.actions = torch.from_numpy(flatten(rollout.actions, rows)).to(device)
        self.log_probs = torch.from_numpy(flatten(rollout.log_probs, rows)).to(device)
        self._sequences: Sequences | None = None
        self._newest = np.arange(len(self.actions))
        self._whole: Minibatch | None = None
        if rollout.memory is not None and policy.config.memory is not None:
            longest = policy.config.memory.longest(rollout.vec_steps)
            self._sequences = cut_sequences(rows, rollout.done, longest)
            self._memory = torch.from_numpy(flatten(rollout.memory, rows)).to(device)  # [B, M]
            self._told = policy.memory_inputs

    def minibatches(self, count: int, rng: np.random.Generator) -> Iterator[Minibatch]:
        """One pass: every row once, in a new order, in `count` minibatches; sequences stay whole."""
        for chosen in self._shuffled(count, rng):
            self._newest = chosen
            yield self.newest()

    def _shuffled(self, count: int, rng: np.random.Generator) -> list[Array]:
        """The numbers of the rows, or of the sequences, of each minibatch."""
        if self._sequences is not None:
            return self._sequences.split(count, rng)
        rows = len(self.actions)
        # There may be fewer rows than planned, when backends spent some on resets.
        return np.array_split(rng.permutation(rows), min(count, rows))

    def newest(self) -> Minibatch:
        """The minibatch that came last, again."""
        return self._select(self._newest) if self._sequences is None else self._select_sequences(self._newest)

    def _select(self, index: Array) -> Minibatch:
        """Some rows [B]."""
        rows = torch.from_numpy(index).to(self.actions.device)
        masks = None if self.masks is None else self.masks[rows]
        obs = {key: _rows(x, rows) for key, x in self._obs.items()}
        return Minibatch(obs, self.actions[rows], masks, self.log_probs[rows], index)

    def _select_sequences(self, chosen: Array) -> Minibatch:
        """The rows of some sequences."""
        assert self._sequences is not None
        if len(chosen) == len(self._sequences.begins):
            return self.whole()  # the order of all at once changes nothing but rounding
        layout = self._sequences.lay_out(chosen)
        return replace(self._select(layout.rows), past=self._past(layout, layout.rows, layout.places))

    def whole(self) -> Minibatch:
        """All rows, in their order."""
        if self._whole is None:
            obs = {key: x.select(None) if isinstance(x, _Stacks) else x for key, x in self._obs.items()}
            index, past = np.arange(len(self.actions)), None
            if self._sequences is not None:
                layout = self._sequences.lay_out()
                past = self._past(layout, index, layout.place_all())
            self._whole = Minibatch(obs, self.actions, self.masks, self.log_probs, index, past)
        return self._whole

    def _past(self, layout: Layout, index: Array, places: Array | None) -> Unrolled:
        """The steps before rows `index` [B], which stand at `places` of the tables."""
        device, last_inputs = self.actions.device, None
        if self._told:
            last_inputs = self._memory[torch.from_numpy(index).to(device), -self._told :]
        before = self._memory[torch.from_numpy(layout.first).to(device)]
        at = None if places is None else torch.from_numpy(places).to(device)
        return Unrolled(before, last_inputs, at, layout.tables)


class _Stacks:
    """Stacks of frames [B, k·C, H, W], put together when they are needed."""

    def __init__(self, frames: Frames, rows: Array, device: torch.device) -> None:
        self._shape = frames.shape[2:]
        self._frames = torch.from_numpy(frames.pool).to(device)  # [M, C·H·W]
        self._numbers = torch.from_numpy(flatten(frames.numbers, rows)).to(device)  # [B, k]

    def select(self, index: Tensor | None) -> Tensor:
        numbers = self._numbers if index is None else self._numbers[index]
        return self._frames.index_select(0, numbers.view(-1)).view(len(numbers), *self._shape)


def _rows(x: "Tensor | _Stacks", index: Tensor) -> Tensor:
    """x[index]; images keep their layout, and their rows are copied whole: six times as fast."""
    if isinstance(x, _Stacks):
        return x.select(index)
    if x.ndim == 4:
        return x.permute(0, 2, 3, 1).index_select(0, index).permute(0, 3, 1, 2)
    return x.index_select(0, index)
