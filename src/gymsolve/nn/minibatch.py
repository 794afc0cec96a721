"""The input of a policy in an update, and its output."""

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from gymsolve.nn.memory import Past
from gymsolve.spec import Array


@dataclass(frozen=True, slots=True)
class Minibatch:
    """Some steps of a rollout as tensors, to be differentiated through."""

    obs: dict[str, Tensor]  # [B, …]
    actions: Tensor  # [B, A]
    masks: Tensor | None  # [B, mask_size]
    log_probs: Tensor  # [B] of the actions, when they were taken
    index: Array  # [B] which steps of the batch these are
    past: Past | None = None  # memory before these steps; None without a recurrent cell


class Evaluated(NamedTuple):
    """Outputs of the present policy for a minibatch."""

    log_probs: Tensor  # [B]
    entropy: Tensor  # [B]
    values: Tensor  # [B] in the value head's own units
    features: Tensor  # [B, F] inputs of the action head
    params: Tensor  # [B, …] of the action distribution
