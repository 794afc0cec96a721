"""The common base of policies on torch: encoders, statistics, saving and loading of weights.

A subclass builds its layers in `_build`. It acts and is measured in NumPy arrays; only `forward` and methods
that an algorithm differentiates take tensors.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from gymsolve.errors import CheckpointError, CodeRefusedError
from gymsolve.nn.activation_hooks import watching_activations
from gymsolve.nn.bodies import Encoder
from gymsolve.nn.init import Draws
from gymsolve.settings.config import NetConfig
from gymsolve.settings.own_parts import PartConfig
from gymsolve.spec import Array, EnvSpec, Obs


class Network(nn.Module):
    """Layers for one environment's spaces, with running statistics beside the weights."""

    kind: ClassVar[str | None] = None
    """The name of this class in `registry.POLICIES` and in policy files; None in files without one."""
    encoder: Encoder

    def __init__(self, spec: EnvSpec, config: NetConfig, rng: Draws) -> None:
        super().__init__()
        self.spec, self.config = spec, config
        # All weights come from `rng`. Torch's layers draw weights of their own first, which must not move the
        # stream of dropout: a run that loads another policy must stay the same.
        with torch.random.fork_rng(devices=[]):
            self._build(rng)
        self.eval()  # layers with modes are switched by `gradient_mode` alone
        self._norms = tuple(m for m in self.modules() if isinstance(m, _BatchNorm))
        self._dropouts = tuple(m for m in self.modules() if isinstance(m, _DropoutNd))

    def _build(self, rng: Draws) -> None:
        raise NotImplementedError

    @property
    def encoders(self) -> list[Encoder]:
        """All encoders of observations; `observe` moves their statistics."""
        return [self.encoder]

    @property
    def memory_inputs(self) -> int:
        """The number of last columns of memory that are inputs: action and reward of the last step."""
        return 0

    @property
    def device(self) -> torch.device:
        return next(self.parameters()).device

    def tensors(self, obs: Obs) -> dict[str, Tensor]:
        return {key: torch.from_numpy(array).to(self.device) for key, array in obs.items()}

    def _mask_tensor(self, masks: Array | None) -> Tensor | None:
        return None if masks is None else torch.from_numpy(masks).to(self.device)

    @torch.no_grad()
    def observe(self, obs: Obs) -> None:
        """Take a batch of raw observations [B, …] into every running statistic."""
        for encoder in self.encoders:
            encoder.observe(obs)
        if self._norms and len(next(iter(obs.values()))) > 1:  # one row has no variance
            for module in self._norms:
                module.train()
            self(self.tensors(obs), None)
            for module in self._norms:
                module.eval()

    def gradient_mode(self, on: bool) -> None:
        """Dropout is active in gradient passes only; batch norm always uses its running statistics."""
        for module in self._dropouts:
            module.train(on)

    def rollback_point(self) -> Callable[[], None]:
        """A function that restores the present statistics; the optimizer does so for the weights."""
        live = list(self.buffers())
        kept = [tensor.clone() for tensor in live]

        def put_back() -> None:
            for tensor, values in zip(live, kept, strict=True):
                tensor.copy_(values)

        return put_back

    @torch.no_grad()
    def checksum(self) -> float:
        """The sum of all weights and statistics: not finite as soon as one of them is not."""
        parts = (*self.parameters(), *self.buffers())
        return float(sum(part.sum() for part in parts))

    @torch.inference_mode()
    def finds_bad_features(self, obs: Obs) -> bool:
        """True if an encoder makes numbers that are not finite out of observations [B, …]."""
        seen = self.tensors(obs)
        return not all(bool(encoder(seen).isfinite().all()) for encoder in self.encoders)

    @torch.inference_mode()
    def seen(self, obs: Obs) -> dict[str, Array]:
        """Inputs of the network for observations [B, …]: numbers [B, size] by entry, without categories."""
        return {key: to_array(x) for key, x in self.encoder.numbers(self.tensors(obs)).items()}

    @torch.inference_mode()
    def hidden(self, obs: Obs, memory: Array | None = None) -> dict[str, Array]:
        """The output [B, units] of every hidden layer after its activation, by the activation's name."""
        with watching_activations(self) as layers:
            self(self.tensors(obs), None)
        return {name: to_array(x) for name, x in layers.items()}

    def arrays(self) -> dict[str, Array]:
        """Weights and statistics by name."""
        return {name: to_array(tensor).copy() for name, tensor in self.state_dict().items()}

    def load_arrays(self, arrays: dict[str, Array]) -> list[str]:
        """Copy what fits by name and shape; say in sentences what did not."""
        return fill(self.state_dict(), arrays)

    def metadata(self) -> dict[str, str]:
        """Spaces and settings, which a file needs besides the arrays to rebuild the policy."""
        described = {"spec": json.dumps(self.spec.to_json()), "net": self.config.model_dump_json()}
        kind = self.kind if is_ours(type(self)) else path_of(type(self))
        return described if kind is None else described | {"kind": kind}

    @classmethod
    def from_arrays(
        cls, arrays: dict[str, Array], metadata: dict[str, str], encoder: PartConfig | None = None
    ) -> Self:
        """The policy that `arrays` and `metadata` were taken from.

        An encoder of the user's own is imported only if it is the `encoder` that the caller may import.
        """
        spec = EnvSpec.from_json(json.loads(metadata["spec"]))
        config = NetConfig.model_validate_json(metadata["net"])
        require_approved(config.encoder, encoder)
        policy = cls(spec, config, None)
        misfits = policy.load_arrays(arrays)
        if misfits:
            raise CheckpointError(f"the weights do not fit the network they describe: {misfits[0]}.")
        return policy


def require_approved(needed: PartConfig | None, approved: PartConfig | None) -> None:
    """Refuse weights that need an encoder other than the one that their run's settings name."""
    if needed is None or needed == approved:
        return
    named = "no encoder" if approved is None else _spelled(approved)
    raise CodeRefusedError(
        f"these weights need the code {_spelled(needed)} (net.encoder), and the settings they came with name "
        f"{named}.",
        where="policy.safetensors",
        hint="Load them with their run, as gymsolve.load_policy(RUN) does: its settings name what to import.",
    )


def _spelled(part: PartConfig) -> str:
    return f"{part.name!r} with {part.options}" if part.options else repr(part.name)


def is_ours(kind: type[Any]) -> bool:
    """True for a class of gymsolve itself."""
    return kind.__module__.partition(".")[0] == "gymsolve"


def path_of(kind: type[Any]) -> str:
    """A class of the user's own, as `module:Class`."""
    return f"{kind.__module__}:{kind.__qualname__}"


@torch.no_grad()
def fill(own: Mapping[str, Tensor], arrays: dict[str, Array]) -> list[str]:
    """Copy what fits by name and shape into tensors; say in sentences what did not."""
    misfits = []
    for name, tensor in own.items():
        if name not in arrays:
            misfits.append(f"{name} is not in the checkpoint")
        elif tuple(tensor.shape) != arrays[name].shape:
            here, there = list(tensor.shape), list(arrays[name].shape)
            misfits.append(f"{name} has shape {here} here and {there} in the checkpoint")
        else:
            tensor.copy_(torch.from_numpy(np.array(arrays[name])))
    return misfits + [f"{name} has no place in this network" for name in arrays if name not in own]


def to_array(tensor: Tensor) -> Array:
    """A tensor as an array that may share its memory."""
    out: Array = tensor.detach().cpu().numpy()
    return out
