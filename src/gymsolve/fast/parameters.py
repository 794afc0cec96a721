"""The trainable numbers of a policy: one flat buffer, with a view per tensor of the torch policy.

Names, shapes and order are those of the torch engine, so that weights and optimizer moments move
freely between the two. In memory a weight lies input-major and its bias right behind it: together
they are one matrix [inputs + 1, outputs] whose last row is the bias. A column of ones in the input
then makes a layer a single product, and a one-hot input a row to look up.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gymsolve.first_weights import orthogonal
from gymsolve.settings.config import NetConfig
from gymsolve.spec import ActionSpec, Array

Loss = Literal["both", "policy", "value"]
"""The outputs that are computed, or have a slope: these decide which towers take part."""
_ROOT_TWO = float(np.sqrt(2.0))


@dataclass(frozen=True)
class Slot:
    """One tensor: its name and shape in the torch policy, and where it lies in the flat buffer."""

    name: str
    shape: tuple[int, ...]
    start: int
    gain: float | None
    """Gain of the orthogonal first weights; None for a tensor that starts at a constant."""
    losses: frozenset[str]
    """The losses that have a gradient for it: `policy`, `value`."""

    @property
    def stop(self) -> int:
        return self.start + math.prod(self.shape)

    def view(self, flat: Array) -> Array:
        """This tensor inside a flat buffer, in torch's shape."""
        part = flat[self.start : self.stop]
        if len(self.shape) == 1:
            return part
        return part.reshape(self.shape[::-1]).T


class Parameters:
    """Weights of `towers` equal trunks, of the action head and of the value head, with gradients."""

    def __init__(self, inputs: int, action: ActionSpec, config: NetConfig, towers: int) -> None:
        self.towers, self.widths = towers, (inputs, *config.hidden)
        self.slots: list[Slot] = []
        owners = (("actor", {"policy"}), ("critic", {"value"})) if towers == 2 else (("actor", None),)
        for tower, losses in owners:
            for layer, width in enumerate(config.hidden):
                # Layers are numbered as in torch, where an activation follows each of them.
                self._add_linear(f"{tower}.{2 * layer}", self.widths[layer], width, _ROOT_TWO, losses)
        self.tower_size = self.size // towers
        width = self.widths[-1]
        outputs = action.size if action.kind == "box" else action.mask_size
        if action.kind == "box":
            self._add("_head.log_std", (outputs,), None, {"policy"})
        self._add_linear("_head.linear", width, outputs, config.policy_gain, {"policy"})
        self._add_linear("value_head", width, 1, 1.0, {"value"})
        self.groups = tuple("trunk" if len(s.losses) > 1 else next(iter(s.losses)) for s in self.slots)
        self.values, self.grads = _aligned_zeros(self.size), _aligned_zeros(self.size)

    @property
    def size(self) -> int:
        return self.slots[-1].stop if self.slots else 0

    def _add(self, name: str, shape: tuple[int, ...], gain: float | None, losses: set[str] | None) -> None:
        by = frozenset({"policy", "value"} if losses is None else losses)
        self.slots.append(Slot(name, shape, self.size, gain, by))

    def _add_linear(self, name: str, inputs: int, outputs: int, gain: float, losses: set[str] | None) -> None:
        self._add(f"{name}.weight", (outputs, inputs), gain, losses)
        self._add(f"{name}.bias", (outputs,), None, losses)

    def initialize(self, rng: np.random.Generator) -> None:
        """The start of the torch policy for the same generator: same draws, same order."""
        for slot in self.slots:
            if slot.gain is not None:
                rows, columns = slot.shape
                slot.view(self.values)[...] = orthogonal(rows, columns, slot.gain, rng)

    def slot(self, name: str) -> Slot:
        return next(slot for slot in self.slots if slot.name == name)

    def views(self, flat: Array) -> dict[str, Array]:
        """Every tensor inside a flat buffer, by name, in torch's shape."""
        return {slot.name: slot.view(flat) for slot in self.slots}

    def matrix(self, flat: Array, name: str) -> Array:
        """Weight and bias of a linear layer as one matrix [inputs + 1, outputs]."""
        weight = self.slot(f"{name}.weight")
        outputs, inputs = weight.shape
        return flat[weight.start : weight.stop + outputs].reshape(inputs + 1, outputs)

    def tower_matrices(self, flat: Array) -> list[Array]:
        """The same for each trunk layer, of all towers at once: [towers, inputs + 1, outputs]."""
        block = flat[: self.towers * self.tower_size].reshape(self.towers, self.tower_size)
        matrices, start = [], 0
        for inputs, outputs in zip(self.widths, self.widths[1:], strict=False):
            stop = start + (inputs + 1) * outputs
            matrices.append(block[:, start:stop].reshape(self.towers, inputs + 1, outputs))
            start = stop
        return matrices


def _aligned_zeros(size: int) -> Array:
    """Starting on a cache line, which a vector of weights then does not straddle."""
    line = 64
    memory = np.zeros(size * 4 + line, np.uint8)
    start = -memory.ctypes.data % line
    return memory[start : start + size * 4].view(np.float32)
