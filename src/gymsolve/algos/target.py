"""Target networks: a copy of some weights that follows them at a distance."""

import copy
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from gymsolve.algos.optimizer import Optimizer
from gymsolve.errors import CheckpointError
from gymsolve.nn.network import Network, fill, to_array
from gymsolve.parts import Part
from gymsolve.spec import Array

Followed = TypeVar("Followed", bound=Network)


class Target(Part, Generic[Followed]):
    """A copy of a policy, in which the weights of some optimizers follow and the others are not used."""

    def __init__(self, policy: Followed, optimizers: Sequence[Optimizer]) -> None:
        self.policy = copy.deepcopy(policy)
        self.policy.requires_grad_(False)
        self._learned = policy
        self._optimizers = tuple(optimizers)
        self._flats = [self._flatten(optimizer) for optimizer in optimizers]

    def _flatten(self, optimizer: Optimizer) -> Tensor:
        """One tensor of which the parameters that an optimizer steps become views here."""
        mine = dict(self.policy.named_parameters())
        flat = optimizer.values.clone()
        start = 0
        for name in optimizer.names:
            stop = start + mine[name].numel()
            mine[name].data = flat[start:stop].view(mine[name].shape)
            start = stop
        return flat

    @torch.no_grad()
    def follow(self, tau: float) -> None:
        """Move the weights by a share of τ of the way; running statistics are copied."""
        for flat, optimizer in zip(self._flats, self._optimizers, strict=True):
            flat.lerp_(optimizer.values, tau)
        for statistic, newest in zip(self.policy.buffers(), self._learned.buffers(), strict=True):
            statistic.copy_(newest)

    def _tensors(self) -> dict[str, Tensor]:
        """Statistics, and the weights that follow."""
        unused = {name for name, _ in self.policy.named_parameters()}
        unused.difference_update(*(optimizer.names for optimizer in self._optimizers))
        return {name: tensor for name, tensor in self.policy.state_dict().items() if name not in unused}

    def arrays(self) -> dict[str, Array]:
        return {name: to_array(tensor).copy() for name, tensor in self._tensors().items()}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        if not arrays:
            return ["the target network was not in the checkpoint: it starts at random"]
        misfits = fill(self._tensors(), arrays)
        if misfits:
            raise CheckpointError(f"the target network does not fit this run's settings: {misfits[0]}.")
        return []

    def rollback_point(self) -> Callable[[], None]:
        kept = self.arrays()

        def put_back() -> None:
            fill(self._tensors(), kept)

        return put_back
