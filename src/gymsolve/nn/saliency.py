"""Filters, activations and saliency of a network for an observation.

Arrays in, arrays out. Saliency is about two answers: the log-probability of the action taken and the value of
the state. A gradient or a covered patch shows where an answer would change, which is no explanation yet: to
test one, force another action and see its effect.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn

from gymsolve.nn.bodies import ACTIVATIONS, Encoder
from gymsolve.nn.memory import OneStep
from gymsolve.nn.minibatch import Minibatch
from gymsolve.nn.network import to_array
from gymsolve.nn.policy import Policy
from gymsolve.spec import Array, Obs

Side = Literal["actor", "critic", "both"]

_PATCHES = 17
"""About so many patches fit along the shorter side of a picture: a stride of 5 for 84 pixels."""
_ROWS = 64
_PASS_BYTES = 32 << 20
"""Bytes of observations in one pass, at most."""


@dataclass(frozen=True)
class Asked:
    """One step of a policy: observation, legal actions, memory and action."""

    obs: Obs  # [1, …]
    actions: Array  # [1, A] as the policy counts them
    masks: Array | None = None  # [1, mask_size]
    memory: Array | None = None  # [1, M] before this observation


@dataclass(frozen=True)
class Filters:
    """The weights that meet the pixels of one entry."""

    entry: str
    side: Side
    weights: Array  # [out, channels, height, width]


@dataclass(frozen=True)
class Gradients:
    """Slopes of both answers along one entry."""

    action: Array  # [*shape], per unit of the observation
    value: Array  # [*shape]
    unit: Array  # [*shape]
    """The change that is one unit to the network: range of a pixel, spread of a number; 0 at a limit."""


@dataclass(frozen=True)
class Occlusion:
    """How far both answers fall when a part of one entry is covered; negative where they rise."""

    action: Array  # [rows, columns] of patches; [*shape] for numbers
    value: Array  # the same
    stride: int
    """Side of a patch in pixels; 0 for numbers, which are covered one by one."""


# ----------------------------------------------------------------------------------------- filters


def find_filters(policy: Policy) -> list[Filters]:
    """The first convolution of every picture, of actor and critic where they have their own."""
    return [
        Filters(key, side, to_array(layer.weight).copy())
        for side, encoder in _encoders(policy)
        for key, stack in encoder.stacks().items()
        for layer in [next(module for module in stack.modules() if isinstance(module, nn.Conv2d))]
    ]


def _encoders(policy: Policy) -> list[tuple[Side, Encoder]]:
    if policy.shared:
        return [("both", policy.encoder)]
    return [("actor", policy.encoder), ("critic", policy.value_encoder)]


# ------------------------------------------------------------------------------------- activations


def activations(policy: Policy, obs: Obs, memory: Array | None = None) -> dict[str, Array]:
    """The output of every layer, by name, in the order of the pass.

    Pictures within convolutions are [B, channels, height, width], after their activation; layers of units
    are [B, units].
    """
    with torch.inference_mode(), _watching(policy) as outputs:
        policy(_tensors(policy, obs), None, _tensor(policy, memory))
    return {name: to_array(out) for name, out in outputs.items()}


def shares_active(policy: Policy, obs: Obs, memory: Array | None = None) -> dict[str, Array]:
    """The share of observations in which each channel or unit of a layer is not zero.

    A channel at 0 is dead: it is zero in all these observations, and no gradient reaches it.
    """
    count, most = len(next(iter(obs.values()))), _rows_at_once(_tensors(policy, obs))
    sums: dict[str, Array] = {}
    for start in range(0, count, most):
        rows = slice(start, start + most)
        part = {key: values[rows] for key, values in obs.items()}
        kept = None if memory is None else memory[rows]
        for name, out in activations(policy, part, kept).items():
            alive = (out != 0).reshape(len(out), out.shape[1], -1).any(axis=2).sum(axis=0)
            sums[name] = sums.get(name, 0) + alive
    return {name: alive / count for name, alive in sums.items()}


@contextmanager
def _watching(policy: Policy) -> Iterator[dict[str, Tensor]]:
    outputs: dict[str, Tensor] = {}
    stacks = {id(stack) for _, encoder in _encoders(policy) for stack in encoder.stacks().values()}
    hooks = []
    for path, module in policy.named_modules():
        if not isinstance(module, nn.Sequential):
            continue
        pictures = id(module) in stacks
        for index, layer in enumerate(module):
            if _is_shown(layer, pictures):
                flat = _Flattened(module) if pictures and index == len(module) - 1 else None
                hooks += [] if flat is None else [flat.hook]
                hooks.append(layer.register_forward_hook(_keep(outputs, f"{path}.{index}", flat)))
    try:
        yield outputs
    finally:
        for hook in hooks:
            hook.remove()


def _is_shown(layer: nn.Module, pictures: bool) -> bool:
    """True for activations and for other layers between convolutions; a convolution is shown activated."""
    if type(layer) in ACTIVATIONS.values():
        return True
    return pictures and not isinstance(layer, nn.Conv2d | nn.Flatten)


class _Flattened:
    """Gives the flattened output of a stack's last activation its channels and places back."""

    def __init__(self, stack: nn.Sequential) -> None:
        self._shape: torch.Size | None = None
        flatten = next(layer for layer in stack if isinstance(layer, nn.Flatten))
        self.hook = flatten.register_forward_hook(self._remember)

    def _remember(self, layer: nn.Module, given: tuple[Tensor], out: Tensor) -> None:
        self._shape = given[0].shape

    def restore(self, out: Tensor) -> Tensor:
        assert self._shape is not None
        return out.view(self._shape)


def _keep(
    outputs: dict[str, Tensor], name: str, flattened: _Flattened | None
) -> Callable[[nn.Module, Any, Tensor], None]:
    def hook(layer: nn.Module, given: Any, out: Tensor) -> None:
        outputs[name] = (out if flattened is None else flattened.restore(out)).clone()

    return hook


# ---------------------------------------------------------------------------------------- saliency


def answers(policy: Policy, asked: Asked) -> tuple[float, float]:
    """Log-probability of the action, and the value in units of reward."""
    with torch.inference_mode():
        action, value = _answer(policy, _tensors(policy, asked.obs), asked)
    return float(action[0]), float(value[0])


def _answer(policy: Policy, obs: dict[str, Tensor], asked: Asked) -> tuple[Tensor, Tensor]:
    """Both answers [B] for observations [B, …] instead of that of the step."""
    count = len(next(iter(obs.values())))
    actions, masks, memory = (
        None if given is None else given.expand(count, -1)
        for given in (_tensor(policy, array) for array in (asked.actions, asked.masks, asked.memory))
    )
    assert actions is not None
    past = None
    if policy.config.memory is not None:
        held = _tensor(policy, policy.first_memory(count)) if memory is None else memory
        assert held is not None
        past = OneStep(held, policy.memory_inputs)
    blank = torch.zeros(count)
    evaluated = policy.evaluate(Minibatch(obs, actions, masks, blank, np.arange(count), past))
    return evaluated.log_probs, policy.real_values(evaluated.values, obs)


def gradients(policy: Policy, asked: Asked) -> dict[str, Gradients]:
    """Gradients of every entry except categories, which have none."""
    obs = _tensors(policy, asked.obs)
    leaves = {
        key: obs[key].float().detach().requires_grad_()
        for key, entry in policy.spec.obs.items()
        if entry.kind != "discrete"
    }
    if not leaves:
        return {}
    action, value = _answer(policy, obs | leaves, asked)
    taken = torch.cat(list(policy.encoder.numbers(obs | leaves).values()), dim=1)
    slopes = [_slopes(answer, leaves) for answer in (action, value, taken)]
    by_entry = {}
    for key in leaves:
        of_action, of_value, scale = (slope[key] for slope in slopes)
        unit = np.divide(1.0, scale, out=np.zeros_like(scale), where=scale != 0)
        by_entry[key] = Gradients(of_action, of_value, unit)
    return by_entry


def _slopes(answer: Tensor, leaves: dict[str, Tensor]) -> dict[str, Array]:
    """Slopes by entry; zeros along an entry that the network does not read."""
    slopes = torch.autograd.grad(answer.sum(), list(leaves.values()), retain_graph=True, allow_unused=True)
    return {
        key: np.zeros(leaf.shape[1:], np.float32) if slope is None else to_array(slope[0])
        for (key, leaf), slope in zip(leaves.items(), slopes, strict=True)
    }


def occlusion_stride(shape: tuple[int, ...]) -> int:
    """Side of the patches for pictures [channels, height, width]."""
    return max(1, round(min(shape[1:]) / _PATCHES))


@torch.inference_mode()
def occlude(policy: Policy, asked: Asked, stride: int | None = None) -> dict[str, Occlusion]:
    """Cover every patch of a picture by the median of each channel, every number by its usual value.

    The median is the background of most games, and "nothing here" where channels are flags. The usual value
    is the number that becomes zero for the network: the running mean, the middle of its bounds, or zero.
    """
    obs = _tensors(policy, asked.obs)
    before = [answer[0] for answer in _answer(policy, obs, asked)]
    by_entry, most = {}, _rows_at_once(obs)
    for key, entry in policy.spec.obs.items():
        if entry.kind == "image":
            side = stride or occlusion_stride(entry.shape)
            covered, grid = _patched(obs[key], side)
        elif entry.kind == "vector":
            side, grid = 0, entry.shape
            covered = _put_to_usual(policy, key, obs[key])
        else:
            continue
        falls: list[list[Tensor]] = [[], []]
        for start in range(0, math.prod(grid), most):
            rows = covered(start, min(start + most, math.prod(grid)))
            others = {name: x.repeat_interleave(len(rows), 0) for name, x in obs.items() if name != key}
            for fall, answer, was in zip(
                falls, _answer(policy, others | {key: rows}, asked), before, strict=True
            ):
                fall.append(was - answer)
        action, value = (to_array(torch.cat(fall)).reshape(grid) for fall in falls)
        by_entry[key] = Occlusion(action, value, side)
    return by_entry


_Covered = Callable[[int, int], Tensor]
"""Copies of an observation with patches (or numbers) from the first up to the second index covered."""


def _patched(picture: Tensor, side: int) -> tuple[_Covered, tuple[int, ...]]:
    _, _, height, width = picture.shape
    grid = -(-height // side), -(-width // side)
    middle = picture.flatten(2).median(dim=2).values[0, :, None, None]  # [channels, 1, 1]

    def covered(first: int, last: int) -> Tensor:
        copies = picture.repeat(last - first, 1, 1, 1)
        for copy, index in zip(copies, range(first, last), strict=True):
            top, left = (index // grid[1]) * side, (index % grid[1]) * side
            copy[:, top : top + side, left : left + side] = middle
        return copies

    return covered, grid


def _put_to_usual(policy: Policy, key: str, numbers: Tensor) -> _Covered:
    usual = policy.encoder.usual(key).to(numbers.dtype).flatten()

    def covered(first: int, last: int) -> Tensor:
        copies = numbers.flatten(1).repeat(last - first, 1)
        which = torch.arange(first, last)
        copies[which - first, which] = usual[which]
        return copies.view(last - first, *numbers.shape[1:])

    return covered


def _rows_at_once(obs: dict[str, Tensor]) -> int:
    """Observations of one pass: few of them where they are large."""
    size = 4 * sum(x[0].numel() for x in obs.values())
    return max(1, min(_ROWS, _PASS_BYTES // size))


def _tensors(policy: Policy, obs: Obs) -> dict[str, Tensor]:
    return policy.tensors({key: np.array(values, order="C") for key, values in obs.items()})


def _tensor(policy: Policy, array: Array | None) -> Tensor | None:
    return None if array is None else torch.from_numpy(np.array(array, order="C")).to(policy.device)
