"""The optimizers of torch, formula by formula, on the flat buffer.

Moments are saved under torch's names and shapes, by the name of their parameter. A parameter that a loss does
not reach keeps its moments and its step count, as a torch parameter without a gradient does.
"""

import math
from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from gymsolve.errors import CheckpointError
from gymsolve.fast.parameters import Loss, Parameters
from gymsolve.kernels import require_kernels
from gymsolve.parts import Part
from gymsolve.settings.config import OptimizerConfig
from gymsolve.spec import Array

_TINY = 1e-30


class FastOptimizer(Part):
    """Steps `parameters.values` along `parameters.grads`."""

    def __init__(self, config: OptimizerConfig, parameters: Parameters) -> None:
        self._config, self._parameters = config, parameters
        self._moments = {name: np.zeros_like(parameters.values) for name in _moment_names(config)}
        self._kernels = require_kernels()
        self.names = tuple(slot.name for slot in parameters.slots)
        self._steps = [0] * len(parameters.slots)
        self._spare = np.empty_like(parameters.values)
        self._spans: list[tuple[slice, int]] = []  # for `_spans_of`, and how many steps each has had
        self._spans_of: Loss | None = None

    def step(self, loss: Loss = "both", *, learning_rate: float, max_grad_norm: float) -> float:
        """One step with the gradient of `loss`; the gradient's norm before clipping."""
        grads = self._parameters.grads
        spans = self._plan(loss)
        norm = math.sqrt(sum(float(np.dot(grads[span], grads[span])) for span, _ in spans))
        limit = max_grad_norm if max_grad_norm > 0 else math.inf
        factor = limit / (norm + 1e-6)
        factor = 1.0 if factor >= 1.0 else factor  # a NaN is passed on, as torch does
        for span, steps in spans:
            if self._config.name in ("adam", "adamw"):
                self._step_adam(span, steps, (factor, learning_rate))
            else:
                self._step_plain(span, (factor, learning_rate))
        return norm

    def _plan(self, loss: Loss) -> list[tuple[slice, int]]:
        """Count the step; the stretches of the buffer, each with its number of steps so far."""
        if loss == self._spans_of:
            self._spans = [(span, steps + 1) for span, steps in self._spans]
            return self._spans
        self._settle()
        spans: list[tuple[slice, int]] = []
        for slot, before in zip(self._parameters.slots, self._steps, strict=True):
            if loss != "both" and loss not in slot.losses:
                continue
            start = slot.start
            if spans and spans[-1][0].stop == start and spans[-1][1] == before + 1:
                start = spans.pop()[0].start
            spans.append((slice(start, slot.stop), before + 1))
        self._spans, self._spans_of = spans, loss
        return spans

    def _settle(self) -> None:
        """Write the counts of the stretches back to their parameters."""
        for index, slot in enumerate(self._parameters.slots):
            for span, steps in self._spans:
                if span.start <= slot.start < span.stop:
                    self._steps[index] = steps
        self._spans, self._spans_of = [], None

    def _step_adam(self, span: slice, steps: int, scales: tuple[float, float]) -> None:
        """Clip, decay and step in one pass over the buffers."""
        (factor, rate), config = scales, self._config
        first, second = (1.0 - beta**steps for beta in config.betas)
        decoupled = config.name == "adamw"
        self._kernels.adam(
            self._parameters.values[span],
            self._parameters.grads[span],
            self._moments["exp_avg"][span],
            self._moments["exp_avg_sq"][span],
            factor,
            *config.betas,
            config.eps * math.sqrt(second),
            rate * math.sqrt(second) / first,
            0.0 if decoupled else config.weight_decay,
            1.0 - rate * config.weight_decay if decoupled else 1.0,
        )

    def _step_plain(self, span: slice, scales: tuple[float, float]) -> None:
        """SGD or RMSprop, in a few NumPy passes over the buffers."""
        (factor, rate), config = scales, self._config
        values, grads = self._parameters.values[span], self._parameters.grads[span]
        if factor != 1.0:
            grads = grads * factor  # a copy: metrics need the gradient before clipping
        spare = self._spare[span]
        moments = {name: array[span] for name, array in self._moments.items()}
        if config.weight_decay:
            grads = grads + config.weight_decay * values
        direction = grads
        if config.name == "rmsprop":
            direction = _rmsprop(config, grads, moments["square_avg"], spare)
        if config.momentum:
            moments["momentum_buffer"] *= config.momentum
            moments["momentum_buffer"] += direction
            direction = moments["momentum_buffer"]
        values -= np.multiply(direction, rate, out=spare)

    def weights(self) -> Array:
        """A copy of all trainable numbers, as one array."""
        return self._parameters.values.copy()

    def gradients(self, parts: Sequence[str]) -> dict[str, list[Array]]:
        """The newest gradient, before clipping, in pieces by the group of each parameter."""
        pieces: dict[str, list[Array]] = {part: [] for part in parts}
        for part, slot in zip(parts, self._parameters.slots, strict=True):
            pieces[part].append(self._parameters.grads[slot.start : slot.stop])
        return pieces

    def group_norms(self, parts: Sequence[str]) -> dict[str, float]:
        """Length of the newest gradient, before clipping, by the group of each parameter."""
        squares = dict.fromkeys(parts, 0.0)
        for part, together in groupby(zip(parts, self._parameters.slots, strict=True), key=itemgetter(0)):
            slots = [slot for _, slot in together]
            slope = self._parameters.grads[slots[0].start : slots[-1].stop]
            squares[part] += float(np.dot(slope, slope))
        return {part: math.sqrt(square) for part, square in squares.items()}

    def flush(self) -> None:
        """Set moments to 0 that are too small to matter; called once per update.

        Moments of a unit without a gradient shrink to subnormal numbers, which cost a hundred times as much.
        """
        for array in self._moments.values():
            array[np.abs(array) < _TINY] = 0.0

    def reset(self) -> None:
        """Forget all moments."""
        self._settle()
        self._steps = [0] * len(self._steps)
        for array in self._moments.values():
            array[...] = 0.0

    def rollback_point(self) -> Callable[[], None]:
        """A function that restores the present weights and moments."""
        flat = (self._parameters.values, *self._moments.values())
        kept = [array.copy() for array in flat]
        steps, spans, spans_of = list(self._steps), self._spans, self._spans_of

        def put_back() -> None:
            for array, values in zip(flat, kept, strict=True):
                array[...] = values
            self._steps, self._spans, self._spans_of = steps, spans, spans_of

        return put_back

    def arrays(self) -> dict[str, Array]:
        """Moments by `<parameter>/<name>`; none for a parameter never stepped."""
        self._settle()
        arrays: dict[str, Array] = {}
        for slot, steps in zip(self._parameters.slots, self._steps, strict=True):
            if not steps:
                continue
            if self._config.name != "sgd":
                arrays[f"{slot.name}/step"] = np.array(steps, np.float32)
            for name, flat in self._moments.items():
                arrays[f"{slot.name}/{name}"] = slot.view(flat).copy(order="C")
        return arrays

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        """Continue with saved moments."""
        slots, places = self._parameters.slots, {name: index for index, name in enumerate(self.names)}
        for key, array in arrays.items():
            owner, _, name = key.partition("/")
            if name != "step" and name not in self._moments:
                raise CheckpointError(
                    "the checkpoint's moments are those of another optimizer.",
                    where="algo.optimizer",
                    hint="Resume with --fresh-optimizer.",
                )
            index = places.get(owner)
            if index is None or (array.ndim and array.shape != slots[index].shape):
                raise CheckpointError(
                    "the optimizer's state does not fit this network.",
                    hint="Resume with --fresh-optimizer, or start a new run with `train --from`.",
                )
        self.reset()
        for key, array in arrays.items():
            owner, _, name = key.partition("/")
            index = places[owner]
            if name == "step":
                self._steps[index] = int(array)
            else:
                slots[index].view(self._moments[name])[...] = array
                self._steps[index] = max(self._steps[index], 1)  # sgd saves no count of steps
        return []


def _moment_names(config: OptimizerConfig) -> tuple[str, ...]:
    """Torch's names, in torch's order."""
    if config.name in ("adam", "adamw"):
        return "exp_avg", "exp_avg_sq"
    buffer = ("momentum_buffer",) if config.momentum else ()
    return ("square_avg", *buffer) if config.name == "rmsprop" else buffer


def _rmsprop(config: OptimizerConfig, grads: Array, square: Array, spare: Array) -> Array:
    np.multiply(grads, grads, out=spare)
    spare *= 1.0 - config.alpha
    square *= config.alpha
    square += spare
    np.sqrt(square, out=spare)
    spare += config.eps
    return np.divide(grads, spare, out=spare)
