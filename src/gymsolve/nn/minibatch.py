"""What a policy is asked in an update, and what it answers."""

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
    past: Past | None = None  # what came before these steps; None without a recurrent cell


class Evaluated(NamedTuple):
    """What the policy says of a minibatch now."""

    log_probs: Tensor  # [B]
    entropy: Tensor  # [B]
    values: Tensor  # [B] in the value head's own units
    features: Tensor  # [B, F] what the action head reads
    params: Tensor  # [B, …] of the action distribution
