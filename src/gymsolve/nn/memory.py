"""Recurrent cells: what a policy remembers of an episode, one step at a time or over whole sequences.

Memory is one array [N, M]: the states of all cells side by side, then what they are told of the last step
(its action, its reward). So whoever stores, cuts, clears and restores memory need not know what is in it. A
`OneStep` takes cells through one step, `Unrolled` through padded sequences; both give the same numbers up to
rounding.
"""

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from gymsolve.first_weights import orthogonal
from gymsolve.nn.init import Draws
from gymsolve.settings.config import MemoryConfig
from gymsolve.spec import ActionSpec, Array


class Cell(nn.Module):
    """One layer of LSTM or GRU; `columns` of memory hold its state."""

    def __init__(self, inputs: int, config: MemoryConfig, place: int, rng: Draws) -> None:
        super().__init__()
        self.size, self.lstm = config.size, config.cell == "lstm"
        self.columns = slice(place, place + (2 if self.lstm else 1) * config.size)
        gates = 4 if self.lstm else 3
        self.weight_ih = nn.Parameter(_draw(gates, config.size, inputs, rng))
        self.weight_hh = nn.Parameter(_draw(gates, config.size, config.size, rng))
        self.bias_ih = nn.Parameter(torch.zeros(gates * config.size))
        with torch.no_grad():  # the second gate keeps: an LSTM's forget gate, a GRU's update gate
            self.bias_ih[config.size : 2 * config.size] = config.keep
        self.bias_hh = nn.Parameter(torch.zeros(gates * config.size))

    @property
    def _weights(self) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh

    def step(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Features [N, F] and the state before them [N, columns] → what is handed on, and the state after."""
        if not self.lstm:
            out = torch.gru_cell(x, state, *self._weights)
            return out, out
        hidden, cell = torch.lstm_cell(x, state.chunk(2, dim=1), *self._weights)
        return hidden, torch.cat([hidden, cell], dim=1)

    def unroll(self, x: Tensor, state: Tensor) -> Tensor:
        """Features [steps, S, F] and the states before the first step [S, columns] → [steps, S, size]."""
        return self._run(x, state)[0]

    def carry(self, x: Tensor, state: Tensor) -> Tensor:
        """Like `unroll`, but the states after the last step [S, columns]."""
        return torch.cat(self._run(x, state)[1:], dim=2).squeeze(0)

    def _run(self, x: Tensor, state: Tensor) -> tuple[Tensor, ...]:
        # Biases, one layer, no dropout, kept for a backward pass?, one direction, time first.
        options = (True, 1, 0.0, torch.is_grad_enabled(), False, False)
        if not self.lstm:
            return torch.gru(x, state.unsqueeze(0).contiguous(), self._weights, *options)
        hidden, cell = state.unsqueeze(0).chunk(2, dim=2)
        before = hidden.contiguous(), cell.contiguous()
        return torch.lstm(x, before, self._weights, *options)


def states_after(cell: Cell, x: Tensor, state: Tensor, lengths: Array) -> Tensor:
    """The states [S, columns] of a cell after sequences, whose features [B, F] stand one after the other.

    All go on side by side until the shortest ends, the others until the next one does: so no state passes
    through padding.
    """
    after = state.clone()
    order = np.argsort(-lengths, kind="stable")
    begins = (np.cumsum(lengths) - lengths)[order]
    state, done = state[torch.from_numpy(order)], 0
    for stop in np.unique(lengths[lengths > 0]).tolist():
        going = int(np.count_nonzero(lengths >= stop))  # the first of them in this order
        rows = begins[:going] + np.arange(done, stop)[:, None]  # [steps, going]
        state = cell.carry(x[torch.from_numpy(rows)], state[:going])
        after[torch.from_numpy(order[:going])] = state
        done = stop
    return after


def _draw(gates: int, size: int, inputs: int, rng: Draws) -> Tensor:
    """First weights [gates · size, inputs], orthogonal gate by gate."""
    if rng is None:
        return torch.empty(gates * size, inputs)
    parts = [orthogonal(size, inputs, 1.0, rng) for _ in range(gates)]
    return torch.from_numpy(np.concatenate(parts).astype(np.float32))


class LastStepInputs:
    """The last columns of memory: the action and the reward of the last step, where the settings ask."""

    def __init__(self, action: ActionSpec, inputs: tuple[str, ...]) -> None:
        self._action = action if "action" in inputs else None
        self.reward = "reward" in inputs
        self.size = int(self.reward)
        if self._action is not None:
            self.size += sum(action.nvec) if action.nvec else action.size

    def columns(self, actions: Tensor) -> list[Tensor]:
        """What memory holds of a step whose reward is not known yet; `actions` [N, A]."""
        found = []
        if self._action is not None:
            found.append(self._encode(actions, self._action))
        if self.reward:
            found.append(torch.zeros(len(actions), 1, device=actions.device))
        return found

    @staticmethod
    def _encode(actions: Tensor, spec: ActionSpec) -> Tensor:
        """Choices as ones among zeros; box actions as the environment got them, in half their range."""
        if spec.nvec:
            parts = [
                nn.functional.one_hot(actions[:, part], choices) for part, choices in enumerate(spec.nvec)
            ]
            return torch.cat(parts, dim=1).float()
        if spec.squash:
            return actions.tanh()
        return actions.clamp(-1.0, 1.0) if spec.bounded else actions

    def override_action(self, memory: Array, actions: Array) -> Array:
        """Memory [N, M] in which other actions [N, A] were taken than those that were chosen."""
        if self._action is None:
            return memory
        told = memory.copy()
        columns = self._encode(torch.from_numpy(actions), self._action).numpy()
        first = memory.shape[1] - self.size
        told[:, first : first + columns.shape[1]] = columns
        return told

    def hear(self, memory: Array, rewards: Array) -> Array:
        """Memory [N, M] with the rewards of the step; large ones grow like their logarithm."""
        if not self.reward:
            return memory
        told = memory.copy()
        exact = np.asarray(rewards, np.float32)  # some environments give Python's floats
        told[:, -1] = np.sign(exact) * np.log1p(np.abs(exact))
        return told


class Past(Protocol):
    """What came before the rows of a pass."""

    def through(self, cell: Cell, x: Tensor) -> Tensor:
        """Features [B, F] → what the cell makes of them and of the past [B, size]."""


@dataclass
class OneStep:
    """One step of each environment, with its memory [N, M]."""

    memory: Tensor
    told: int
    """How many of the last columns are inputs."""
    after: list[Tensor] = field(default_factory=list)
    """The states of the cells that were passed through, in their order."""

    def through(self, cell: Cell, x: Tensor) -> Tensor:
        if self.told:
            x = torch.cat([x, self.memory[:, -self.told :]], dim=1)
        out, state = cell.step(x, self.memory[:, cell.columns])
        self.after.append(state)
        return out


@dataclass(frozen=True)
class Unrolled:
    """Sequences in tables (`experience/sequences.py`)."""

    memory: Tensor  # [S, M] before the first step of each sequence
    told: Tensor | None  # [B, …] inputs besides the features
    places: Tensor | None  # [B] of the rows among the cells of all tables; None where they have no gaps
    tables: tuple[tuple[int, int], ...]  # steps and sequences of each

    def through(self, cell: Cell, x: Tensor) -> Tensor:
        if self.told is not None:
            x = torch.cat([x, self.told], dim=1)
        cells = [steps * count for steps, count in self.tables]
        if self.places is not None:
            x = x.new_zeros(sum(cells), x.shape[1]).index_copy(0, self.places, x)
        states = self.memory[:, cell.columns].split_with_sizes([count for _, count in self.tables])
        found = [
            cell.unroll(part.view(*table, -1), state).reshape(-1, cell.size)
            for part, table, state in zip(x.split_with_sizes(cells), self.tables, states, strict=True)
        ]
        flat = found[0] if len(found) == 1 else torch.cat(found)
        return flat if self.places is None else flat.index_select(0, self.places)
