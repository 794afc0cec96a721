"""Looking at hidden layers while a batch passes through them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from gymsolve.nn.bodies import ACTIVATIONS


@contextmanager
def watching_activations(module: nn.Module) -> Iterator[dict[str, Tensor]]:
    """Fills with what each activation gives [B, units], by its name, while passes go through `module`.

    A unit of a convolution is a channel, measured by the mean of its size over the picture: places where
    nothing ever happens say something about the picture, not about the network.
    """
    found: dict[str, Tensor] = {}
    kinds = tuple(ACTIVATIONS.values())
    layers = {name: layer for name, layer in module.named_modules() if type(layer) in kinds}
    hooks = [
        layer.register_forward_hook(_keep(found, name, _channels(module, name)))
        for name, layer in layers.items()
    ]
    try:
        yield found
    finally:
        for hook in hooks:
            hook.remove()


def _channels(module: nn.Module, name: str) -> int | None:
    """Channels before an activation among convolutions; None for one among fully connected layers."""
    stack = module.get_submodule(name.rpartition(".")[0])
    convolved = [layer for layer in stack.modules() if isinstance(layer, nn.Conv2d)]
    return convolved[-1].out_channels if convolved else None


def _keep(
    found: dict[str, Tensor], name: str, channels: int | None
) -> Callable[[nn.Module, Any, Tensor], None]:
    def hook(layer: nn.Module, given: Any, out: Tensor) -> None:
        if out.ndim > 2:
            out = out.flatten(2).abs().mean(dim=2)
        elif channels is not None:  # the last one works on what is flattened already
            out = out.view(len(out), channels, -1).abs().mean(dim=2)
        found[name] = out.clone()

    return hook
