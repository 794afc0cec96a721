"""Small networks of a bonus, and how they learn."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from gymsolve.algos.optimizer import Optimizer
from gymsolve.extensions.exploration.inputs import Inputs, Seen
from gymsolve.nn.bodies import convolutions
from gymsolve.nn.init import orthogonal_
from gymsolve.nn.network import to_array
from gymsolve.parts import Part, arrays_below
from gymsolve.settings.config import OptimizerConfig
from gymsolve.settings.exploration import ExploreConfig
from gymsolve.spec import Array

_PIECE = 2048
"""Rows that pass through a network at once where there are pictures."""
_FEWEST = 128
"""Rows of a minibatch, at least: a step with fewer costs as much."""
_ROOT_TWO = float(np.sqrt(2.0))


def layers(size: int, hidden: Sequence[int], out: int, rng: np.random.Generator) -> nn.Sequential:
    """Fully connected layers with ReLU between them."""
    built: list[nn.Module] = []
    for width in hidden:
        built += [nn.Linear(size, width), nn.ReLU()]
        size = width
    built.append(nn.Linear(size, out))
    for layer in built:
        if isinstance(layer, nn.Linear):
            orthogonal_(layer, _ROOT_TWO, rng)
    return nn.Sequential(*built)


class Net(nn.Module):
    """Scaled observations → numbers [B, out]."""

    def __init__(self, inputs: Inputs, cnn: str, hidden: Sequence[int], out: int, rng: np.random.Generator):
        super().__init__()
        self.stacks = nn.ModuleList()
        size = inputs.size
        for shape in inputs.images.values():
            stack, more = convolutions(cnn, shape, rng)
            self.stacks.append(stack)
            size += more
        self.body = layers(size, hidden, out, rng)

    def forward(self, seen: Seen) -> Tensor:
        flat, pictures = seen
        parts = [stack(x) for stack, x in zip(self.stacks, pictures.values(), strict=True)]
        out: Tensor = self.body(torch.cat([flat, *parts], dim=1) if parts else flat)
        return out


class NetSetup(NamedTuple):
    """The settings, inputs and random numbers that the networks of a bonus are built from."""

    settings: ExploreConfig
    inputs: Inputs
    cnn: str
    device: torch.device
    rng: np.random.Generator

    def net(self, hidden: Sequence[int], out: int) -> Net:
        return Net(self.inputs, self.cnn, hidden, out, self.rng)


def select(seen: Seen, places: Tensor) -> Seen:
    """Some rows."""
    flat, pictures = seen
    return flat[places], {key: x[places] for key, x in pictures.items()}


def in_pieces(compute: Callable[[Seen], Tensor], seen: Seen) -> Tensor:
    """A network on all rows, without gradients, in pieces that fit into memory."""
    count = len(seen[0])
    with torch.no_grad():
        if not seen[1] or count <= _PIECE:
            return compute(seen)
        starts = range(0, count, _PIECE)
        pieces = (torch.arange(start, min(start + _PIECE, count)) for start in starts)
        return torch.cat([compute(select(seen, some)) for some in pieces])


class Learner(Part):
    """A module and the optimizer of its parameters."""

    def __init__(self, module: nn.Module, device: torch.device) -> None:
        self.module = module.to(device)
        self._device = device
        self._optimizer = Optimizer(OptimizerConfig(), self.module.named_parameters())

    def fit(
        self,
        places: Array,
        loss: Callable[[Tensor], Tensor],
        rate: float,
        passes: tuple[int, int],
        rng: np.random.Generator,
    ) -> float:
        """Minimise a loss over places, in `passes`: epochs, and minibatches at most; returns its mean."""
        epochs, most = passes
        parts = max(1, min(most, len(places) // _FEWEST))
        losses: list[Tensor] = []
        for _ in range(epochs if len(places) else 0):
            for some in np.array_split(rng.permutation(places), parts):
                here = loss(torch.from_numpy(some).to(self._device))
                self._optimizer.step(here, learning_rate=rate, max_grad_norm=1.0)
                losses.append(here.detach())
        return float(torch.stack(losses).mean()) if losses else 0.0

    def arrays(self) -> dict[str, Array]:
        weights = {f"weights/{name}": to_array(x).copy() for name, x in self.module.state_dict().items()}
        return weights | {f"moments/{name}": x for name, x in self._optimizer.arrays().items()}

    @torch.no_grad()
    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        own: dict[str, Tensor] = self.module.state_dict()
        for name, x in own.items():
            x.copy_(torch.from_numpy(np.array(arrays[f"weights/{name}"])))
        return self._optimizer.load(arrays_below(arrays, "moments/"), {})

    def fits(self, arrays: dict[str, Array]) -> bool:
        """True if the saved weights have the names and shapes of these."""
        shapes = {f"weights/{name}": tuple(x.shape) for name, x in self.module.state_dict().items()}
        saved = {name: x.shape for name, x in arrays.items() if name.startswith("weights/")}
        return shapes == saved

    def rollback_point(self) -> Callable[[], None]:
        return self._optimizer.rollback_point()


class Learned(Part):
    """A part whose state is that of a learner."""

    learner: Learner

    def arrays(self) -> dict[str, Array]:
        return self.learner.arrays()

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        return self.learner.load(arrays, state)

    def fits(self, arrays: dict[str, Array], state: dict[str, Any]) -> bool:
        return self.learner.fits(arrays)

    def rollback_point(self) -> Callable[[], None]:
        return self.learner.rollback_point()
