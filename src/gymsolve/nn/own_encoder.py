"""An encoder of the user's own, `net.encoder: my_module:Class`: a torch module before the layers.

It is made by `Class(observations, **options)`, where `observations` maps each entry to its `ObsSpec`, and its
`forward` gets a dict of tensors [B, …] and returns features [B, F] of any width. What it gets is ready for
a network: vectors are float32 after `net.normalize_obs`, pictures are float32 from 0 to 1, categories are
whole numbers from 0 [B, parts].
"""

from copy import deepcopy
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from gymsolve.errors import ConfigError, OwnCodeError
from gymsolve.nn.bodies import Encoder, Vector, entry_name, make_norm, pixel_range
from gymsolve.nn.init import Draws
from gymsolve.own_faults import blaming, require_options, require_takes
from gymsolve.registry import load_own
from gymsolve.settings.network import NetConfig
from gymsolve.settings.own_parts import PartConfig
from gymsolve.spec import TASK_ENTRY, Array, EnvSpec, ObsSpec

_WHERE = "net.encoder"
_ROWS = 2


def make_encoder(spec: EnvSpec, config: NetConfig, rng: Draws) -> Encoder:
    """The encoder that the settings ask for."""
    return Encoder(spec, config, rng) if config.encoder is None else OwnEncoder(spec, config, rng)


class OwnEncoder(Encoder):
    """Prepares observations for a module of the user's own, and checks what it returns."""

    def __init__(self, spec: EnvSpec, config: NetConfig, rng: Draws) -> None:
        nn.Module.__init__(self)
        assert config.encoder is not None
        hidden = TASK_ENTRY if spec.tasks and not config.tasks.input else None
        self.read = {key: entry for key, entry in spec.obs.items() if key != hidden}
        vectors = {key: entry for key, entry in self.read.items() if entry.kind == "vector"}
        self.names = {key: entry_name(index, key) for index, key in enumerate(vectors)}
        self.entries = nn.ModuleDict(
            {self.names[key]: Vector(make_norm(entry, config), entry.shape) for key, entry in vectors.items()}
        )
        self.part = config.encoder.name
        if rng is not None:
            # A copy draws: further layers get the same weights as without an encoder of the user's own.
            torch.manual_seed(int(deepcopy(rng).integers(2**62)))  # `Network` puts torch's generator back
        self.own = _build(config.encoder, self.read).eval()  # measuring moves no statistics
        self.size = 0
        self.size = self._measure()

    def forward(self, obs: dict[str, Tensor]) -> Tensor:
        seen = {key: self._prepared(key, obs[key]) for key in self.read}
        with blaming(self.part, _WHERE, "forward"):
            out = self.own(seen)
        if not isinstance(out, Tensor) or out.ndim != 2 or self.size not in (0, out.shape[1]):
            raise self._misfit(out, len(next(iter(seen.values()))))
        features: Tensor = out
        return features

    def _prepared(self, key: str, x: Tensor) -> Tensor:
        entry = self.read[key]
        if entry.kind == "vector":
            scaled: Tensor = self.entries[self.names[key]](x)
            return scaled.reshape(len(x), *(entry.shape or (1,)))
        if entry.kind == "image":
            low, scale = pixel_range(entry)
            return (x.float() - low) * scale
        return x.reshape(len(x), -1)

    def numbers(self, obs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Inputs [B, size] of the user's module by entry, without categories."""
        wanted = (key for key, entry in self.read.items() if entry.kind != "discrete")
        return {key: self._prepared(key, obs[key]).flatten(1) for key in wanted}

    def reads_planes(self, key: str) -> bool:
        return False

    def _measure(self) -> int:
        """The width of the features, from observations within their spaces."""
        rng = np.random.default_rng(0)
        blank = {key: torch.from_numpy(_sample(entry, rng)) for key, entry in self.read.items()}
        with torch.no_grad():
            out = self(blank)
        if len(out) != _ROWS or out.shape[1] == 0 or out.dtype != torch.float32:
            raise self._misfit(out, _ROWS)
        if not bool(out.isfinite().all()):
            what = f"{self.part} returned numbers that are not finite for an observation within its space."
            raise OwnCodeError(what, where=_WHERE, hint="Look for divisions by zero, logarithms and roots.")
        return int(out.shape[1])

    def _misfit(self, out: Any, rows: int) -> OwnCodeError:
        wanted = f"[{rows}, {self.size}]" if self.size else f"[{rows}, F]"
        given = f"float32 {wanted}, one row of features for each observation"
        if not isinstance(out, Tensor):
            what, hint = f"a {type(out).__name__}", "Return a tensor."
        elif list(out.shape[:1]) == [rows] and out.ndim > 2:
            what, hint = f"a tensor {list(out.shape)}", "Return out.flatten(1)."
        else:
            what = f"a tensor {list(out.shape)} of {out.dtype}"
            hint = "Every observation of a batch needs a row of its own."
            if out.ndim == 2 and out.dtype != torch.float32:
                hint = "Return out.float()."
        return OwnCodeError(f"{self.part} returned {what}, not {given}.", where=_WHERE, hint=hint)


def _build(part: PartConfig, read: dict[str, ObsSpec]) -> nn.Module:
    kind = load_own(part.name, _WHERE)
    if not callable(kind):
        raise ConfigError(f"{part.name} is no class but a {type(kind).__name__}.", where=_WHERE)
    require_options(kind, part.name, _WHERE, part.options, ("observations",))
    with blaming(part.name, _WHERE, "its constructor"):
        module = kind(dict(read), **part.options)
    if not isinstance(module, nn.Module):
        given = f"{part.name} makes a {type(module).__name__}, no torch.nn.Module"
        raise ConfigError(f"{given}.", where=_WHERE, hint="Derive it from torch.nn.Module.")
    require_takes(module.forward, f"{part.name}.forward", _WHERE, ("observations",))
    return module


def _sample(entry: ObsSpec, rng: np.random.Generator) -> Array:
    """A few observations [_ROWS, *shape] within the space of an entry."""
    shape = (_ROWS, *entry.shape)
    if entry.kind == "discrete":
        choices = np.reshape(entry.nvec, entry.shape)
        chosen: Array = (rng.random(shape) * choices).astype(entry.dtype)
        return chosen
    if entry.kind == "image":
        low, scale = pixel_range(entry)
        return (low + rng.random(shape) / scale).astype(entry.dtype)
    if not entry.low:
        return rng.standard_normal(shape).astype(entry.dtype)
    low, high = (np.clip(np.reshape(ends, entry.shape), -10.0, 10.0) for ends in (entry.low, entry.high))
    within: Array = (low + rng.random(shape) * (high - low)).astype(entry.dtype)
    return within
