"""The steps of a rollout that are learned from, as flat tensors."""

import torch
from torch import Tensor

from gymsolve.nn.policy import Policy
from gymsolve.rollout.rollout import Rollout
from gymsolve.spec import Array

__all__ = ["Batch", "flatten"]


class Batch:
    """The valid steps of a rollout as flat tensors [B, …] that share the rollout's memory where possible."""

    def __init__(self, policy: Policy, rollout: Rollout, rows: Array) -> None:
        masks = None if rollout.masks is None else flatten(rollout.masks, rows)
        obs = {key: flatten(array, rows) for key, array in rollout.obs.items()}
        self.raw_obs = obs
        self.obs = policy.tensors(obs)
        self.masks = None if masks is None else torch.from_numpy(masks).to(policy.device)
        self.actions = torch.from_numpy(flatten(rollout.actions, rows)).to(policy.device)
        self.log_probs = torch.from_numpy(flatten(rollout.log_probs, rows)).to(policy.device)

    def select(self, index: Tensor) -> tuple[dict[str, Tensor], Tensor, Tensor | None]:
        """Observations, actions and masks of some rows."""
        masks = None if self.masks is None else self.masks[index]
        return {key: x[index] for key, x in self.obs.items()}, self.actions[index], masks


def flatten(array: Array, rows: Array) -> Array:
    """[T, N, …] → [B, …] with only the rows that are True in `rows` [T, N]."""
    flat = array.reshape(-1, *array.shape[2:])
    return flat if rows.all() else flat[rows.reshape(-1)]
