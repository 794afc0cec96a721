"""Steps of a replay buffer, to learn from."""

from typing import NamedTuple

from gymsolve.spec import Array, Obs


class Steps(NamedTuple):
    """Some steps [B, …]; unknown columns are None."""

    obs: Obs
    actions: Array  # [B, A] as the policy emitted them
    rewards: Array  # [B] of one step, or the discounted sum over several
    next_obs: Obs | None = None
    """The true observations after the last of those steps; also where an episode ended."""
    terminated: Array | None = None  # [B] bool: no future after the last of those steps
    discounts: Array | None = None  # [B] by which the value of `next_obs` counts: 0 where terminated
    masks: Array | None = None  # [B, choices] legal actions
    next_masks: Array | None = None  # [B, choices]
    weights: Array | None = None  # [B] of each step in the loss; None weighs all alike
