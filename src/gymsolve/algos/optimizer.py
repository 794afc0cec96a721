"""The optimizers of torch on one flat buffer: a handful of operations per step, whatever the network.

The arithmetic is torch's own, through the functions behind its optimizer classes. The classes themselves
are not used: their first step imports torch's compiler, which takes a second. Moments are saved under
torch's names and shapes, by the name of their parameter. A parameter that a loss does not reach keeps its
moments and its step count.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim.adam import adam
from torch.optim.rmsprop import rmsprop
from torch.optim.sgd import sgd

from gymsolve.errors import CheckpointError
from gymsolve.parts import Part
from gymsolve.settings.config import OptimizerConfig
from gymsolve.spec import Array


class Optimizer(Part):
    """Steps parameters, which become views of one buffer; they must be on their device already."""

    def __init__(self, config: OptimizerConfig, named: Iterable[tuple[str, nn.Parameter]]) -> None:
        self._config = config
        owned = {name: parameter for name, parameter in named if parameter.requires_grad}
        self.names, self.parameters = tuple(owned), list(owned.values())
        self._slots = _slots(self.parameters)
        self._values = torch.cat([p.detach().reshape(-1) for p in self.parameters])
        for parameter, slot in zip(self.parameters, self._slots, strict=True):
            parameter.data = self._values[slot].view(parameter.shape)
        self._gradient = torch.zeros_like(self._values)  # newest gradient of each parameter, before clipping
        self._taken = torch.zeros_like(self._values)  # the part of it that the step follows
        self._moments = {name: torch.zeros_like(self._values) for name in _moment_names(config)}
        self._steps = [0] * len(self.parameters)
        self._spans: list[_Span] = []  # of the parameters in `_reached`
        self._reached: list[bool] = []

    @torch.no_grad()
    def step(self, loss: Tensor, *, learning_rate: float, max_grad_norm: float) -> Tensor:
        """One gradient step; the gradient's norm before clipping (a tensor: reading it would wait)."""
        gradients = torch.autograd.grad(loss, self.parameters, allow_unused=True)
        slopes = [slope.reshape(-1) for slope in gradients if slope is not None]
        # In memory that is already there: for large networks a fresh page costs more than its numbers.
        whole = len(slopes) == len(gradients)
        grads = torch.cat(slopes, out=self._gradient) if whole else torch.cat(slopes)
        norm: Tensor = torch.linalg.vector_norm(grads)
        taken = grads
        if max_grad_norm > 0:
            factor = (max_grad_norm / (norm + 1e-6)).clamp(max=1.0)  # a NaN is passed on
            taken = torch.mul(grads, factor, out=self._taken[: len(grads)])
        start = 0
        for span in self._plan([slope is not None for slope in gradients]):
            stop = start + span.slot.stop - span.slot.start
            if not whole:
                self._gradient[span.slot] = grads[start:stop]
            self._move(span, taken[start:stop], learning_rate)
            start = stop
        return norm

    def _move(self, span: "_Span", slope: Tensor, rate: float) -> None:
        config = self._config
        values, grads = [self._values[span.slot]], [slope]
        moments = {name: [flat[span.slot]] for name, flat in self._moments.items()}
        if config.name in ("adam", "adamw"):
            adam(
                *(values, grads, moments["exp_avg"], moments["exp_avg_sq"], [], [span.steps]),
                fused=True,
                decoupled_weight_decay=config.name == "adamw",
                amsgrad=False,
                beta1=config.betas[0],
                beta2=config.betas[1],
                lr=rate,
                weight_decay=config.weight_decay,
                eps=config.eps,
                maximize=False,
            )
        elif config.name == "rmsprop":
            rmsprop(
                *(values, grads, moments["square_avg"], [], moments.get("momentum_buffer", []), [span.steps]),
                lr=rate,
                alpha=config.alpha,
                eps=config.eps,
                weight_decay=config.weight_decay,
                momentum=config.momentum,
                centered=False,
            )
        else:
            sgd(
                *(values, grads, [*moments.get("momentum_buffer", [None])]),
                weight_decay=config.weight_decay,
                momentum=config.momentum,
                lr=rate,
                dampening=0.0,
                nesterov=False,
                maximize=False,
            )
            span.steps += 1

    def _plan(self, reached: list[bool]) -> "list[_Span]":
        """Stretches of the buffer whose parameters are reached and have had equally many steps."""
        if reached == self._reached:
            return self._spans
        self._settle()
        for slot, steps, wanted in zip(self._slots, self._steps, reached, strict=True):
            if not wanted:
                continue
            last = self._spans[-1] if self._spans else None
            if last is not None and last.slot.stop == slot.start and int(last.steps) == steps:
                last.slot = slice(last.slot.start, slot.stop)
            else:
                self._spans.append(_Span(slot, torch.tensor(float(steps), device=self._values.device)))
        self._reached = reached
        return self._spans

    def _settle(self) -> None:
        """Write the counts of the stretches back to their parameters."""
        for span in self._spans:
            for index, slot in enumerate(self._slots):
                if span.slot.start <= slot.start < span.slot.stop:
                    self._steps[index] = int(span.steps)
        self._spans, self._reached = [], []

    @property
    def values(self) -> Tensor:
        """All trainable numbers, as one tensor of which the parameters are views."""
        return self._values

    def weights(self) -> Array:
        """A copy of all trainable numbers, as one array."""
        return self._values.cpu().numpy().copy()

    def gradients(self, parts: Sequence[str]) -> dict[str, list[Array]]:
        """The newest gradient, before clipping, in pieces by the part that each parameter belongs to."""
        flat = self._gradient.cpu().numpy()
        moments: dict[str, list[Array]] = {part: [] for part in parts}
        for part, slot in zip(parts, self._slots[: len(parts)], strict=True):
            moments[part].append(flat[slot])
        return moments

    def group_norms(self, parts: Sequence[str]) -> dict[str, float]:
        """Length of the newest gradient, before clipping, by the part that each parameter belongs to.

        `parts` are those of the policy's parameters, which come first; auxiliary ones are left out.
        """
        slots = self._slots[: len(parts)]
        if not slots:
            return {}
        squares = torch.stack([self._gradient[slot].square().sum() for slot in slots]).tolist()
        sums = dict.fromkeys(parts, 0.0)
        for part, square in zip(parts, squares, strict=True):
            sums[part] += square
        return {part: math.sqrt(square) for part, square in sums.items()}

    def reset(self) -> None:
        """Forget all moments."""
        self._spans, self._reached = [], []
        self._steps = [0] * len(self._steps)
        for flat in self._moments.values():
            flat.zero_()

    def rollback_point(self) -> Callable[[], None]:
        """A function that brings weights and moments back to what they are now."""
        flat = (self._values, *self._moments.values())
        kept = [tensor.clone() for tensor in flat]
        steps, reached = list(self._steps), self._reached
        spans = [(span.slot, span.steps.clone()) for span in self._spans]

        def put_back() -> None:
            for tensor, values in zip(flat, kept, strict=True):
                tensor.copy_(values)
            self._steps, self._reached = steps, reached
            self._spans = [_Span(*span) for span in spans]

        return put_back

    def arrays(self) -> dict[str, Array]:
        """Moments by `<parameter>/<name>`; none for a parameter never stepped."""
        self._settle()
        arrays: dict[str, Array] = {}
        for index, (parameter, slot) in enumerate(zip(self.parameters, self._slots, strict=True)):
            if not self._steps[index]:
                continue
            owner = self.names[index]
            if self._config.name != "sgd":
                arrays[f"{owner}/step"] = np.array(self._steps[index], np.float32)
            for name, flat in self._moments.items():
                arrays[f"{owner}/{name}"] = flat[slot].view(parameter.shape).cpu().numpy().copy()
        return arrays

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        """Continue with saved moments."""
        for key, array in arrays.items():
            self._require_fit(key, array)
        self.reset()
        places = {name: index for index, name in enumerate(self.names)}
        for key, array in arrays.items():
            owner, name = key.split("/")
            index = places[owner]
            if name == "step":
                self._steps[index] = int(array)
            else:
                self._moments[name][self._slots[index]].copy_(torch.from_numpy(array.reshape(-1)))
                self._steps[index] = max(self._steps[index], 1)  # sgd counts no steps of its own
        return []

    def _require_fit(self, key: str, array: Array) -> None:
        owner, name = key.split("/")
        if name not in self._moments and (name != "step" or self._config.name == "sgd"):
            raise CheckpointError(
                "the checkpoint's moments are those of another optimizer.",
                where="algo.optimizer",
                hint="Resume with --fresh-optimizer.",
            )
        own = self.parameters[self.names.index(owner)] if owner in self.names else None
        if own is None or (array.ndim and array.shape != own.shape):
            raise CheckpointError(
                "the optimizer's state does not fit this network.",
                hint="Resume with --fresh-optimizer, or start a new run with `train --from`.",
            )


class _Span:
    """A stretch of the buffer, and how many steps it has had: a tensor, which torch's kernels count up."""

    def __init__(self, slot: slice, steps: Tensor) -> None:
        self.slot, self.steps = slot, steps


def _slots(parameters: list[nn.Parameter]) -> list[slice]:
    """Where each parameter lies in the buffer."""
    ends = np.cumsum([p.numel() for p in parameters]).tolist()
    return [slice(end - p.numel(), end) for p, end in zip(parameters, ends, strict=True)]


def _moment_names(config: OptimizerConfig) -> tuple[str, ...]:
    """Torch's names, in torch's order."""
    if config.name in ("adam", "adamw"):
        return "exp_avg", "exp_avg_sq"
    buffer = ("momentum_buffer",) if config.momentum else ()
    return ("square_avg", *buffer) if config.name == "rmsprop" else buffer
