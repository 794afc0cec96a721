"""Recurrent cells, run one step at a time or over whole sequences.

Memory is one array [N, M]: the states of all cells side by side, then their inputs from the last step (its
action, its reward). Code that stores, cuts, clears and restores memory need not know its columns. `OneStep`
runs cells for one step, `Unrolled` over padded sequences; both give the same numbers up to rounding.
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
        """Features [N, F] and the state before them [N, columns] → output and state after them."""
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
        # Biases, one layer, no dropout, for a backward pass or not, one direction, time first.
        options = (True, 1, 0.0, torch.is_grad_enabled(), False, False)
        if not self.lstm:
            return torch.gru(x, state.unsqueeze(0).contiguous(), self._weights, *options)
        hidden, cell = state.unsqueeze(0).chunk(2, dim=2)
        before = hidden.contiguous(), cell.contiguous()
        return torch.lstm(x, before, self._weights, *options)


def states_after(cell: Cell, x: Tensor, state: Tensor, lengths: Array) -> Tensor:
    """The states [S, columns] of a cell after sequences, whose features [B, F] stand one after the other.

    All run side by side until the shortest ends, the others until the next one ends: so there is no padding.
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
    """The last columns of memory: action and reward of the last step, where the settings ask for them."""

    def __init__(self, action: ActionSpec, inputs: tuple[str, ...]) -> None:
        self._action = action if "action" in inputs else None
        self.reward = "reward" in inputs
        self.size = int(self.reward)
        if self._action is not None:
            self.size += sum(action.nvec) if action.nvec else action.size

    def columns(self, actions: Tensor) -> list[Tensor]:
        """The columns of a step with `actions` [N, A] whose reward is not known yet."""
        columns = []
        if self._action is not None:
            columns.append(self._encode(actions, self._action))
        if self.reward:
            columns.append(torch.zeros(len(actions), 1, device=actions.device))
        return columns

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
        """Memory [N, M] after other actions [N, A] than the chosen ones were taken."""
        if self._action is None:
            return memory
        after = memory.copy()
        columns = self._encode(torch.from_numpy(actions), self._action).numpy()
        first = memory.shape[1] - self.size
        after[:, first : first + columns.shape[1]] = columns
        return after

    def hear(self, memory: Array, rewards: Array) -> Array:
        """Memory [N, M] with the rewards of the step; large ones grow like their logarithm."""
        if not self.reward:
            return memory
        after = memory.copy()
        exact = np.asarray(rewards, np.float32)  # some environments give Python's floats
        after[:, -1] = np.sign(exact) * np.log1p(np.abs(exact))
        return after


class Past(Protocol):
    """The memory before the rows of a pass."""

    def through(self, cell: Cell, x: Tensor) -> Tensor:
        """Features [B, F] → outputs [B, size] of the cell, which continues from the past."""


@dataclass
class OneStep:
    """One step of each environment, with its memory [N, M]."""

    memory: Tensor
    inputs: int
    """Number of the last columns that are inputs."""
    after: list[Tensor] = field(default_factory=list)
    """The states of the cells after this step, in order."""

    def through(self, cell: Cell, x: Tensor) -> Tensor:
        if self.inputs:
            x = torch.cat([x, self.memory[:, -self.inputs :]], dim=1)
        out, state = cell.step(x, self.memory[:, cell.columns])
        self.after.append(state)
        return out


@dataclass(frozen=True)
class Unrolled:
    """Sequences in tables (`experience/sequences.py`)."""

    memory: Tensor  # [S, M] before the first step of each sequence
    inputs: Tensor | None  # [B, …] besides the features
    places: Tensor | None  # [B] of the rows among the cells of all tables; None where they have no gaps
    tables: tuple[tuple[int, int], ...]  # steps and sequences of each

    def through(self, cell: Cell, x: Tensor) -> Tensor:
        if self.inputs is not None:
            x = torch.cat([x, self.inputs], dim=1)
        cells = [steps * count for steps, count in self.tables]
        if self.places is not None:
            x = x.new_zeros(sum(cells), x.shape[1]).index_copy(0, self.places, x)
        states = self.memory[:, cell.columns].split_with_sizes([count for _, count in self.tables])
        outputs = [
            cell.unroll(part.view(*table, -1), state).reshape(-1, cell.size)
            for part, table, state in zip(x.split_with_sizes(cells), self.tables, states, strict=True)
        ]
        flat = outputs[0] if len(outputs) == 1 else torch.cat(outputs)
        return flat if self.places is None else flat.index_select(0, self.places)
