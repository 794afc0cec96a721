"""Further losses beside an algorithm's own, such as predictions that shape the features.

An auxiliary is a part: it owns its weights and statistics. `add_losses` adds its loss to the algorithm's, and
the same optimizer minimises the sum.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

from torch import Tensor, nn

from gymsolve.nn.minibatch import Evaluated, Minibatch
from gymsolve.nn.policy import Policy
from gymsolve.parts import Part


class Auxiliary(Part, Protocol):
    """One more thing to learn from every minibatch."""

    name: str

    def parameters(self) -> Iterable[tuple[str, nn.Parameter]]:
        """Its own weights by name, besides those of the policy."""
        return ()

    def loss(
        self, policy: Policy, minibatch: Minibatch, evaluated: Evaluated
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss as it counts in the sum, and measures by metric name, detached."""
        ...


def add_losses(
    loss: Tensor,
    auxiliaries: Sequence[Auxiliary],
    policy: Policy,
    minibatch: Minibatch,
    evaluated: Evaluated,
) -> tuple[Tensor, dict[str, Tensor]]:
    """The sum of an algorithm's loss and the auxiliary ones, and what the auxiliaries measured."""
    measures: dict[str, Tensor] = {}
    for auxiliary in auxiliaries:
        more, measured = auxiliary.loss(policy, minibatch, evaluated)
        loss, measures = loss + more, measures | measured
    return loss, measures


def trainable(policy: Policy, auxiliaries: Sequence[Auxiliary]) -> list[tuple[str, nn.Parameter]]:
    """Every weight that an update moves, by name."""
    parameters = list(policy.named_parameters())
    for auxiliary in auxiliaries:
        parameters += [(f"{auxiliary.name}.{name}", weight) for name, weight in auxiliary.parameters()]
    return parameters
