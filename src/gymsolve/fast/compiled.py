"""Passes through the network by the compiled kernels: `passes.py` over `kernels.c`."""

from types import ModuleType

import numpy as np

from gymsolve.fast.activations import ACTIVATIONS
from gymsolve.fast.heads import quadrature
from gymsolve.fast.inputs import Features, Inputs, Samples
from gymsolve.fast.parameters import Parameters
from gymsolve.spec import ActionSpec, Array

_KEPT_SIZES = 8
"""Batch sizes whose arrays are kept, so that rollouts of ever new sizes do not fill the memory."""


class CompiledWork:
    """Results of the last pass of one batch size, and room for the slopes."""

    def __init__(self, batch: int) -> None:
        self.log_probs, self.entropy, self.values = (np.zeros(batch, np.float32) for _ in range(3))  # [B]
        self.d_log_probs, self.d_values = (np.zeros(batch, np.float32) for _ in range(2))  # [B]


class CompiledPasses:
    """Forward and backward passes of batches; a backward pass follows the last forward pass."""

    def __init__(
        self, kernels: ModuleType, parameters: Parameters, inputs: Inputs, action: ActionSpec, activation: str
    ) -> None:
        self._box, self._size = action.kind == "box", action.size
        self._net = kernels.Network(
            values=parameters.values,
            grads=parameters.grads,
            trunk=_trunk_places(parameters),
            ends=np.array([_place(parameters, "_head.linear"), _place(parameters, "value_head")], np.int64),
            blocks=_dense_blocks(inputs),
            choices=np.array(() if self._box else action.nvec, np.int64),
            rule=np.stack(quadrature()),
            dense=inputs.dense_size,
            lookups=sum(len(entry.offsets) for entry in inputs.looked_up),
            log_std=parameters.slot("_head.log_std").start if self._box else -1,
            activation=list(ACTIVATIONS).index(activation),
            squash=action.squash,
        )
        self._kept: dict[int, CompiledWork] = {}

    def act(self, x: Features, illegal: Array | None, noise: Array) -> tuple[Array, Array, Array]:
        batch = x.dense.shape[1]
        actions = np.empty((batch, self._size), np.float32 if self._box else np.int64)
        log_probs, values = np.empty(batch, np.float32), np.empty(batch, np.float32)
        self._net.act(x.dense, x.lookups, illegal, noise, actions, log_probs, values)
        return actions, log_probs, values

    def greedy(self, x: Features, illegal: Array | None) -> Array:
        actions = np.empty((x.dense.shape[1], self._size), np.float32 if self._box else np.int64)
        self._net.act(x.dense, x.lookups, illegal, None, actions, None, None)
        return actions

    def values(self, x: Features) -> Array:
        values = np.empty(x.dense.shape[1], np.float32)
        self._net.critic(x.dense, x.lookups, values)
        return values

    def evaluate(self, samples: Samples) -> CompiledWork:
        x, work = samples.features, self._work(len(samples.actions))
        self._net.evaluate(
            x.dense, x.lookups, samples.illegal, samples.actions, work.log_probs, work.entropy, work.values
        )
        return work

    def critic_values(self, samples: Samples) -> CompiledWork:
        x, work = samples.features, self._work(len(samples.actions))
        self._net.critic(x.dense, x.lookups, work.values)
        return work

    def backward(
        self, work: CompiledWork, d_log_probs: Array | None, d_entropy: float, d_values: Array | None
    ) -> None:
        self._net.backward(d_log_probs, d_entropy, d_values)

    def _work(self, batch: int) -> CompiledWork:
        if batch not in self._kept:
            if len(self._kept) >= _KEPT_SIZES:
                del self._kept[next(iter(self._kept))]
            self._kept[batch] = CompiledWork(batch)
        return self._kept[batch]


def _place(parameters: Parameters, name: str) -> tuple[int, int, int]:
    """The place of a linear layer's matrix in the buffer: start, inputs, outputs."""
    slot = parameters.slot(f"{name}.weight")
    outputs, inputs = slot.shape
    return slot.start, inputs, outputs


def _trunk_places(parameters: Parameters) -> Array:
    towers = ("actor", "critic")[: parameters.towers]
    layers = range(len(parameters.widths) - 1)
    return np.array([[_place(parameters, f"{t}.{2 * k}") for k in layers] for t in towers], np.int64)


def _dense_blocks(inputs: Inputs) -> Array:
    """`Inputs.blocks` as (row, input, count), without the bias that closes the last one."""
    blocks = [(rows.start, dense.start, rows.stop - rows.start) for rows, dense in inputs.blocks]
    row, dense, count = blocks[-1]
    return np.array([*blocks[:-1], (row, dense, count - 1)], np.int64)
