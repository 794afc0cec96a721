"""The steps of a rollout that are learned from, as flat tensors."""

import torch
from torch import Tensor

from gymsolve.nn.policy import Policy
from gymsolve.rollout.learning import flatten, flatten_obs
from gymsolve.rollout.rollout import Rollout
from gymsolve.spec import Array

__all__ = ["Batch"]


class Batch:
    """The valid steps of a rollout as flat tensors [B, …] that share the rollout's memory where possible."""

    def __init__(self, policy: Policy, rollout: Rollout, rows: Array) -> None:
        masks = None if rollout.masks is None else flatten(rollout.masks, rows)
        self.raw_obs = flatten_obs(rollout, rows)
        self.obs = policy.tensors(self.raw_obs)
        self.masks = None if masks is None else torch.from_numpy(masks).to(policy.device)
        self.actions = torch.from_numpy(flatten(rollout.actions, rows)).to(policy.device)
        self.log_probs = torch.from_numpy(flatten(rollout.log_probs, rows)).to(policy.device)

    def select(self, index: Tensor) -> tuple[dict[str, Tensor], Tensor, Tensor | None]:
        """Observations, actions and masks of some rows."""
        masks = None if self.masks is None else self.masks[index]
        return {key: x[index] for key, x in self.obs.items()}, self.actions[index], masks
