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
    """Channels before an activation among convolutions; None for one among fully connected layers.

    In a module of the user's own that is no sequence, nobody knows what comes before an activation.
    """
    parent, _, own = name.rpartition(".")
    stack = module.get_submodule(parent)
    if not isinstance(stack, nn.Sequential):
        return None
    children = dict(stack.named_children())
    before = list(children.values())[: list(children).index(own)]
    weighed = [m for layer in before for m in layer.modules() if isinstance(m, nn.Conv2d | nn.Linear)]
    last = weighed[-1] if weighed else None
    return last.out_channels if isinstance(last, nn.Conv2d) else None


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
