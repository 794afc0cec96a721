"""Stacks of convolutions over uint8 pictures by the compiled kernels: torch's numbers, a third sooner.

`fast/convolutions.c` needs weights in an order of its own. This module computes that order once, from
indices; a single lookup then reorders weights and slopes. Torch's threads share the pictures, and their
slopes are added in a fixed order, so that a repeated run gives the same bits.
"""

import ctypes
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from gymsolve.kernels import load_kernels
from gymsolve.spec import Array

_NARROWEST = 8
"""Floats in a vector; with fewer (SSE, NEON) torch's own code is faster."""
_FEWEST = 2
"""Pictures per thread, at least."""


def compile_stack(layers: list[nn.Conv2d], shape: tuple[int, ...], scale: float) -> "CompiledStack | None":
    """Convolutions, each followed by a ReLU, over uint8 pictures [C, H, W]; None where torch must do it."""
    rows, (_, height, width) = [], shape
    for layer in layers:
        kernel, stride = layer.kernel_size[0], layer.stride[0]
        if layer.padding != (0, 0) or layer.dilation != (1, 1) or layer.groups != 1:
            return None
        rows.append((layer.in_channels, height, width, layer.out_channels, kernel, stride))
        height, width = (height - kernel) // stride + 1, (width - kernel) // stride + 1
    return _compile(rows, scale)


def _compile(rows: Sequence[tuple[int, ...]], scale: float) -> "CompiledStack | None":
    """Compile the stack for this machine and this process."""
    kernels, fork = load_kernels(), _find_fork()
    if kernels is None or kernels.LANES < _NARROWEST or fork is None:
        return None
    for channels, _, _, outputs, kernel, stride in rows:
        span = channels * kernel * stride  # numbers under one row of the folded kernel
        if kernel % stride or span % kernels.LANES or outputs % kernels.LANES:
            return None
    return CompiledStack(kernels, fork, rows, scale)


class CompiledStack:
    """The arithmetic of one stack; weights and biases are given with every call."""

    def __init__(self, kernels: Any, fork: int, rows: Sequence[tuple[int, ...]], scale: float) -> None:
        self._kernels, self._fork = kernels, fork
        self._rows, self._geometry = rows, np.array(rows, np.int64)
        self._pixels = rows[0][0] * rows[0][3] * rows[0][4] ** 2
        self._scale = scale
        """Scale of pixels; it is multiplied into the first `_pixels` weights, which meet them."""
        _, height, width, outputs, kernel, stride = rows[-1]
        self._features = outputs * ((height - kernel) // stride + 1) * ((width - kernel) // stride + 1)
        self._kept = sum(
            _ceil(height, stride) * _ceil(width, stride) * stride**2 * channels
            for channels, height, width, _, _, stride in rows[1:]
        )
        forward, turned, start = [], [], 0
        for channels, _, _, outputs, kernel, stride in rows:
            count = outputs * channels * kernel**2
            index = np.arange(start, start + count).reshape(outputs, channels, kernel, kernel)
            folded = _fold(index, stride)
            forward.append(_by_outputs(folded, 2 * kernels.LANES))
            turned.append(_by_inputs(folded, 2 * kernels.LANES))
            start += count
        self._forward = torch.from_numpy(np.concatenate(forward))  # [weights]
        self._turned = torch.from_numpy(np.concatenate(turned))  # [weights]
        self._spare: Array | None = None
        self.reads_planes = (rows[0][0], rows[0][5]) == (4, 4)
        """True if pictures of separate channels are read as quickly as channels last."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are compiled anew: kernels and addresses are those of a machine and a process."""
        return _compile, (self._rows, self._scale)

    def __call__(self, x: Tensor, layers: list[nn.Conv2d]) -> Tensor:
        """Features [B, F] of pictures x [B, C, H, W], after the last ReLU."""
        parameters = [w for layer in layers for w in (layer.weight, layer.bias)]
        # Within an autograd function gradients are always off, and weights still require them.
        learning = torch.is_grad_enabled()
        features: Tensor = _Convolve.apply(self, learning, x, *parameters)  # type: ignore[no-untyped-call]
        return features

    def forward(self, x: Tensor, weights: list[Tensor], biases: list[Tensor], kept: Array | None) -> Tensor:
        features = torch.empty(len(x), self._features)
        packed = self._flatten(weights).index_select(0, self._forward).numpy()
        given = (self._geometry, x.numpy(), packed, torch.cat(biases).numpy(), kept, features.numpy())
        self._kernels.convolve(*given, _threads(len(x)), self._fork)
        return features

    def backward(self, d_features: Tensor, saved: "_Saved") -> list[Tensor]:
        """Slopes of weights and biases, layer by layer."""
        flat = self._flatten(saved.weights)
        packed = flat.index_select(0, self._turned).numpy()
        outputs = [len(w) for w in saved.weights]
        threads = _threads(len(saved.x))
        d_weights, d_biases = torch.zeros(threads, len(flat)), torch.zeros(threads, sum(outputs))
        given = (self._geometry, saved.x.numpy(), packed, saved.kept, saved.features.numpy())
        slopes = d_features.contiguous().numpy(), d_weights.numpy(), d_biases.numpy()
        self._kernels.convolve_back(*given, *slopes, threads, self._fork)
        slope = torch.empty_like(flat)
        slope[self._turned] = d_weights.sum(0)
        slope[: self._pixels] *= self._scale
        sizes = [w.numel() for w in saved.weights]
        shaped = [part.view_as(w) for part, w in zip(_cut(slope, sizes), saved.weights, strict=True)]
        return [slope for pair in zip(shaped, _cut(d_biases.sum(0), outputs), strict=True) for slope in pair]

    def room(self, pictures: int) -> Array:
        """Memory that a forward pass fills for its backward pass; that of an earlier pass if it is free."""
        spare, self._spare = self._spare, None
        if spare is not None and len(spare) == pictures:
            return spare
        return torch.empty(pictures, self._kept).numpy()

    def give_back(self, room: Array) -> None:
        """Take memory back after a backward pass: pages that exist already cost nothing."""
        self._spare = room

    def _flatten(self, weights: list[Tensor]) -> Tensor:
        flat = torch.cat([w.reshape(-1) for w in weights])
        flat[: self._pixels] *= self._scale
        return flat


class _Saved:
    """Tensors for the backward pass."""

    def __init__(self, x: Tensor, weights: list[Tensor], features: Tensor, kept: Array) -> None:
        self.x, self.weights, self.features, self.kept = x, weights, features, kept


class _Convolve(torch.autograd.Function):
    """Slopes of weights and biases; pictures have none."""

    @staticmethod
    def forward(ctx: Any, stack: CompiledStack, learning: bool, x: Tensor, *parameters: Tensor) -> Tensor:
        weights, biases = [w.detach() for w in parameters[::2]], [b.detach() for b in parameters[1::2]]
        kept = stack.room(len(x)) if learning and any(ctx.needs_input_grad) else None
        features = stack.forward(x, weights, biases, kept)
        if kept is not None:
            ctx.stack, ctx.kept = stack, kept
            ctx.save_for_backward(x, features, *parameters[::2])  # torch checks that they stay unchanged
        return features

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, d_features: Tensor) -> tuple[Tensor | None, ...]:
        x, features, *weights = ctx.saved_tensors
        if ctx.kept is None:
            raise RuntimeError("compiled convolutions can be walked back once; compute the loss again")
        saved = _Saved(x, [w.detach() for w in weights], features.detach(), ctx.kept)
        slopes = ctx.stack.backward(d_features, saved)
        ctx.stack.give_back(ctx.kept)
        ctx.kept = None
        return None, None, None, *slopes


def _threads(pictures: int) -> int:
    return max(1, min(torch.get_num_threads(), pictures // _FEWEST))


@functools.cache
def _find_fork() -> int | None:
    """The address of the function by which torch's own OpenMP starts work in its threads.

    Its threads spin for a while after each use by torch, so other threads would have to wait.
    """
    for path in Path(torch.__file__).parent.glob("lib/libgomp*.so*"):
        library = ctypes.CDLL(str(path))  # the one that is loaded already
        return ctypes.cast(library.GOMP_parallel, ctypes.c_void_p).value
    return None


def _cut(flat: Tensor, sizes: list[int]) -> list[Tensor]:
    ends = np.cumsum(sizes).tolist()
    return [flat[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def _ceil(size: int, stride: int) -> int:
    return -(-size // stride)


def _fold(weights: Array, stride: int) -> Array:
    """[O, C, k, k] → [taps, span, O]: rows of the folded kernel, with the inputs under each."""
    outputs, channels, kernel, _ = weights.shape
    taps = kernel // stride
    split = weights.reshape(outputs, channels, taps, stride, taps, stride)
    return split.transpose(2, 4, 3, 5, 1, 0).reshape(taps, -1, outputs)


def _by_outputs(folded: Array, block: int) -> Array:
    """Blocks of outputs, each [taps, span, block]; the last one may be narrower."""
    outputs = folded.shape[2]
    return np.concatenate([folded[:, :, o : o + block].ravel() for o in range(0, outputs, block)])


def _by_inputs(folded: Array, block: int) -> Array:
    """For every row of taps, blocks of inputs, each [outputs, block]; the last one may be narrower."""
    span = folded.shape[1]
    return np.concatenate([row[j : j + block].T.ravel() for row in folded for j in range(0, span, block)])
