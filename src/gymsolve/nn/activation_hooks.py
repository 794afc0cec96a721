"""Records the outputs of hidden layers while a batch passes through them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn

from gymsolve.nn.bodies import ACTIVATIONS


@contextmanager
def watching_activations(module: nn.Module) -> Iterator[dict[str, Tensor]]:
    """A dict that is filled with the output [B, units] of each activation, by name, in passes of `module`.

    A unit of a convolution is a channel, measured by the mean of its size over the picture: places in which
    nothing ever happens are a property of the picture, not of the network.
    """
    outputs: dict[str, Tensor] = {}
    kinds = tuple(ACTIVATIONS.values())
    layers = {name: layer for name, layer in module.named_modules() if type(layer) in kinds}
    hooks = [
        layer.register_forward_hook(_keep(outputs, name, _channels(module, name)))
        for name, layer in layers.items()
    ]
    try:
        yield outputs
    finally:
        for hook in hooks:
            hook.remove()


def _channels(module: nn.Module, name: str) -> int | None:
    """Channels before an activation among convolutions; None for one among fully connected layers."""
    stack = module.get_submodule(name.rpartition(".")[0])
    convolved = [layer for layer in stack.modules() if isinstance(layer, nn.Conv2d)]
    return convolved[-1].out_channels if convolved else None


def _keep(
    outputs: dict[str, Tensor], name: str, channels: int | None
) -> Callable[[nn.Module, Any, Tensor], None]:
    def hook(layer: nn.Module, given: Any, out: Tensor) -> None:
        if out.ndim > 2:
            out = out.flatten(2).abs().mean(dim=2)
        elif channels is not None:  # the input of the last activation is flattened already
            out = out.view(len(out), channels, -1).abs().mean(dim=2)
        outputs[name] = out.clone()

    return hook
