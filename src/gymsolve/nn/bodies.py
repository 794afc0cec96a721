"""Bodies: from an observation entry to features.

Convolutions take uint8 or float images [B, C, H, W]; `mlp` stacks fully connected layers. `policy.py` joins
them.
"""

from itertools import islice
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from gymsolve.errors import ConfigError
from gymsolve.nn.convolutions import CompiledStack, compile_stack
from gymsolve.nn.init import Draws, orthogonal_
from gymsolve.nn.normalize import BoundsNorm, RunningNorm
from gymsolve.settings.config import NetConfig
from gymsolve.spec import TASK_ENTRY, EnvSpec, Obs, ObsSpec

ACTIVATIONS: dict[str, type[nn.Module]] = {
    "tanh": nn.Tanh,
    "relu": nn.ReLU,
    "elu": nn.ELU,
    "gelu": nn.GELU,
    "silu": nn.SiLU,
    "leaky_relu": nn.LeakyReLU,
}
_PLANS = {
    "nature": ((32, 8, 4, 0), (64, 4, 2, 0), (64, 3, 1, 0)),
    "small": ((16, 8, 4, 0), (32, 4, 2, 0)),
    "tiny": ((16, 3, 1, 0), (32, 3, 1, 0)),
    "mario": ((32, 3, 2, 1),) * 4,  # as in nemanja-m's super-mario-agent
}
"""Outputs, kernel, stride and padding of plain convolutions."""
_ROOT_TWO = float(np.sqrt(2.0))


def mlp(size: int, config: NetConfig, rng: Draws) -> tuple[nn.Sequential, int]:
    """The hidden layers of a config on top of `size` features, and their output size."""
    layers: list[nn.Module] = []
    for width in config.hidden:
        layer = nn.Linear(size, width)
        orthogonal_(layer, _ROOT_TWO, rng)
        layers.append(layer)
        if config.batch_norm:
            layers.append(nn.BatchNorm1d(width))
        if config.layer_norm:
            layers.append(nn.LayerNorm(width))
        layers.append(ACTIVATIONS[config.activation]())
        if config.dropout:
            layers.append(nn.Dropout(config.dropout))
        size = width
    return nn.Sequential(*layers), size


class _Residual(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(channels, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.second(functional.relu_(self.first(functional.relu(x))))
        return x + out


def convolutions(name: str, shape: tuple[int, ...], rng: Draws) -> tuple[nn.Sequential, int]:
    """A named stack of convolutions for images [C, H, W], flattened, and its output size."""
    channels, *sides = shape
    smallest = min(sides)
    layers: list[nn.Module] = []
    least = {"nature": 36, "small": 5, "mario": 1, "impala": 8}[name]
    _require(smallest >= least, name, shape, least)
    if name == "impala":
        for out in (16, 32, 32):
            layers += [nn.Conv2d(channels, out, 3, padding=1), nn.MaxPool2d(3, 2, padding=1)]
            layers += [_Residual(out), _Residual(out)]
            channels = out
        layers.append(nn.ReLU(inplace=True))
    else:
        # Below 36 pixels a side, strides of the small stack would leave nothing.
        plan = _PLANS["tiny" if name == "small" and smallest < 36 else name]
        for out, kernel, stride, padding in plan:
            layers += [nn.Conv2d(channels, out, kernel, stride, padding), nn.ReLU(inplace=True)]
            channels = out
    # The last activation after flattening: from there on, memory is in the order of the next layer.
    stack = nn.Sequential(*layers[:-1], nn.Flatten(), layers[-1])
    for module in stack.modules():
        if isinstance(module, nn.Conv2d):
            orthogonal_(module, _ROOT_TWO, rng)
    with torch.no_grad():
        size = stack(torch.zeros(1, *shape)).shape[1]
    return stack, int(size)


def _require(fits: bool, name: str, shape: tuple[int, ...], least: int) -> None:
    if not fits:
        raise ConfigError(
            f"the {name} convolutions need images of at least {least}×{least} pixels, "
            f"not {shape[1]}×{shape[2]}.",
            where="net.cnn",
            hint="Use net.cnn=small, or a `resize` wrapper.",
        )


class Encoder(nn.Module):
    """Every entry of an observation → one feature vector [B, size]."""

    def __init__(self, spec: EnvSpec, config: NetConfig, rng: Draws) -> None:
        super().__init__()
        self.entries = nn.ModuleDict()
        self.names: dict[str, str] = {}  # of the module of each entry, in the order of the features
        self.size = 0
        hidden = TASK_ENTRY if spec.tasks and not config.tasks.input else None
        for index, (key, entry) in enumerate(spec.obs.items()):
            if key == hidden:
                continue
            module, size = _encode_entry(entry, config, rng)
            self.names[key] = entry_name(index, key)
            self.entries[self.names[key]] = module
            self.size += size

    def forward(self, obs: dict[str, Tensor]) -> Tensor:
        parts = [self.entries[name](obs[key]) for key, name in self.names.items()]
        return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)

    def numbers(self, obs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Inputs [B, size] of the first layer by entry, without categories."""
        scaled = {}
        for key, name in self.names.items():
            entry = self.entries[name]
            if isinstance(entry, Vector):
                scaled[key] = entry(obs[key])
            elif isinstance(entry, _Image):
                scaled[key] = entry.scaled(obs[key]).flatten(1)
        return scaled

    def stacks(self) -> dict[str, nn.Sequential]:
        """The convolutions of every picture, by entry."""
        entries = {key: self.entries[name] for key, name in self.names.items()}
        return {key: entry.stack for key, entry in entries.items() if isinstance(entry, _Image)}

    def usual(self, key: str) -> Tensor:
        """The numbers [*shape] of an entry that become zeros for the first layer."""
        entry = self.entries[self.names[key]]
        assert isinstance(entry, Vector)
        return entry.usual()

    @property
    def compiled(self) -> bool:
        """True if compiled kernels convolve, on a CPU."""
        images = [entry for entry in self.entries.values() if isinstance(entry, _Image)]
        return any(entry.compiled is not None for entry in images)

    def reads_planes(self, key: str) -> bool:
        """True if pictures are read as quickly channel by channel as with channels last, on a CPU."""
        entry = self.entries[self.names[key]]
        return isinstance(entry, _Image) and entry.compiled is not None and entry.compiled.reads_planes

    def observe(self, obs: Obs) -> None:
        """Take a batch of raw observations into the running statistics."""
        for key, name in self.names.items():
            entry = self.entries[name]
            if isinstance(entry, Vector) and isinstance(entry.norm, RunningNorm):
                entry.norm.observe(obs[key])


def entry_name(index: int, key: str) -> str:
    """The name of an entry's module: with no dot, no attribute of ModuleDict ("type"), and only once."""
    return f"{index}_{key.replace('/', '__').replace('.', '_')}"


def _encode_entry(entry: ObsSpec, config: NetConfig, rng: Draws) -> tuple[nn.Module, int]:
    if entry.kind == "image":
        stack, size = convolutions(config.cnn, entry.shape, rng)
        return _Image(stack, entry), size
    if entry.kind == "discrete":
        module = _Discrete(entry, config, rng)
        return module, module.size
    return Vector(make_norm(entry, config), entry.shape), int(np.prod(entry.shape, dtype=np.int64))


def make_norm(entry: ObsSpec, config: NetConfig) -> nn.Module:
    """The normaliser of a vector that the settings ask for."""
    if config.normalize_obs == "running":
        return RunningNorm(entry.shape)
    return BoundsNorm(entry) if config.normalize_obs == "bounds" else nn.Identity()


class Vector(nn.Module):
    """The numbers of an entry [B, size], scaled."""

    def __init__(self, norm: nn.Module, shape: tuple[int, ...]) -> None:
        super().__init__()
        self.norm, self._shape = norm, shape

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.norm(x.float())
        return out.reshape(len(x), -1)

    def usual(self) -> Tensor:
        """The numbers that come out as zeros."""
        if isinstance(self.norm, RunningNorm):
            return self.norm.mean.float()
        if isinstance(self.norm, BoundsNorm) and self.norm.bounded:
            return self.norm.low + self.norm.span / 2
        return torch.zeros(self._shape)


def pixel_range(entry: ObsSpec) -> tuple[float, float]:
    """The lowest pixel, and the factor that brings all to [0, 1] from there."""
    unbounded = (0.0, 255.0) if entry.dtype == "uint8" else (0.0, 1.0)
    low, high = (entry.low[0], entry.high[0]) if entry.low else unbounded
    return low, 1.0 / (high - low) if high > low else 1.0


class _Image(nn.Module):
    """Pixels brought to [0, 1] by the bounds of their space, then convolutions.

    The compiled kernels do it where they can. With torch, pixels are laid out channels last, which on a CPU
    makes the whole pass about 1.7 times as fast; weights keep torch's usual layout. The first weights are
    multiplied by the scale instead of every pixel.
    """

    def __init__(self, stack: nn.Sequential, entry: ObsSpec) -> None:
        super().__init__()
        self.stack = stack
        self.low, self.scale = pixel_range(entry)
        plain = all(type(layer) in (nn.Conv2d, nn.ReLU, nn.Flatten) for layer in stack)
        self._layers = [layer for layer in stack if isinstance(layer, nn.Conv2d)]
        self.compiled: CompiledStack | None = None
        if plain and entry.dtype == "uint8" and not self.low:
            self.compiled = compile_stack(self._layers, entry.shape, self.scale)

    def forward(self, x: Tensor) -> Tensor:
        if self.compiled is not None and self._is_plain(x) and not self._watched():
            return self.compiled(x, self._layers)
        pixels = x.to(torch.float32, memory_format=torch.channels_last)
        if self.low:
            pixels = pixels - self.low
        out = self._first(pixels)
        for layer in islice(self.stack, 1, None):
            out = layer(out)
        return out

    @staticmethod
    def _is_plain(x: Tensor) -> bool:
        """True for bytes on a CPU; a caller may have pictures in floats, or on a device."""
        return x.device.type == "cpu" and x.dtype == torch.uint8

    def _watched(self) -> bool:
        """True while hooks record single layers."""
        return any(layer._forward_hooks for layer in self.stack)

    def scaled(self, x: Tensor) -> Tensor:
        """Scaled pixels; scaled first weights have the same effect."""
        return (x.float() - self.low) * self.scale

    def _first(self, pixels: Tensor) -> Tensor:
        layer = cast(nn.Conv2d, self.stack[0])
        weight = layer.weight * self.scale
        return functional.conv2d(pixels, weight, layer.bias, layer.stride, layer.padding)


class _Discrete(nn.Module):
    """Categories as one-hot vectors, or as learned vectors."""

    offsets: Tensor

    def __init__(self, entry: ObsSpec, config: NetConfig, rng: Draws) -> None:
        super().__init__()
        self.total = sum(entry.nvec)
        starts = np.concatenate([[0], np.cumsum(entry.nvec)[:-1]])
        self.register_buffer("offsets", torch.as_tensor(starts, dtype=torch.int64), persistent=False)
        self.embedding: nn.Embedding | None = None
        self.size = self.total
        if config.discrete_obs == "embedding":
            self.embedding = nn.Embedding(self.total, config.embedding_size)
            if rng is not None:
                table = rng.standard_normal((self.total, config.embedding_size)).astype(np.float32)
                self.embedding.weight.data.copy_(torch.from_numpy(table))
            self.size = config.embedding_size * len(entry.nvec)

    def forward(self, x: Tensor) -> Tensor:
        index = x.reshape(len(x), -1) + self.offsets  # [B, parts]
        if self.embedding is not None:
            embedded: Tensor = self.embedding(index)
            return embedded.flatten(1)
        return torch.zeros(len(x), self.total, device=x.device).scatter_(1, index, 1.0)
