"""Shared by algorithms that learn action values: policy, ε, and one gradient step."""

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from gymsolve.algos.auxiliary import Auxiliary
from gymsolve.algos.losses import value_loss, was_clipped
from gymsolve.algos.optimizer import Optimizer
from gymsolve.errors import ConfigError
from gymsolve.experience.learner import Learner
from gymsolve.nn.init import Draws
from gymsolve.nn.q_policy import QPolicy
from gymsolve.settings.config import DQNConfig, NetConfig, PQNConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import EnvSpec


class ActionValueLearner(Learner):
    """A policy that follows action values, and an optimizer for them."""

    policy_type: ClassVar[type[QPolicy]] = QPolicy
    """The networks that it learns; an own algorithm may derive a class of its own."""

    def __init__(
        self, config: PQNConfig | DQNConfig, policy: QPolicy, auxiliaries: Sequence[Auxiliary] = ()
    ) -> None:
        if auxiliaries:
            raise ConfigError(
                f"{config.name} has a loss of its own only, and cannot learn {auxiliaries[0].name} too.",
                where="algo.name",
                hint="Use algo.name=ppo, a2c or reinforce.",
            )
        self.policy: QPolicy = policy
        self.optimizer: Optimizer = Optimizer(config.optimizer, policy.named_parameters())
        self._loss_settings = config

    @classmethod
    def make_policy(cls, spec: EnvSpec, net: NetConfig, rng: Draws) -> QPolicy:
        """The policy that it learns."""
        return cls.policy_type(spec, net, rng)

    def prepare(self, progress: Progress) -> None:
        """Act with the ε of now."""
        self.policy.set_epsilon(self._loss_settings.epsilon.at(progress))

    def descend(
        self, values: Tensor, targets: Tensor, in_force: dict[str, float], weights: Tensor | None = None
    ) -> dict[str, Tensor]:
        """One gradient step that moves values [B] of taken actions towards targets [B]; its measures."""
        losses = value_loss(self._loss_settings, values, targets)
        loss = (losses if weights is None else weights * losses).mean()
        norm = self.optimizer.step(
            loss,
            learning_rate=in_force["hyper/learning_rate"],
            max_grad_norm=in_force["hyper/max_grad_norm"],
        )
        return {  # detached: a loss that is kept keeps its whole graph
            "train/loss": loss.detach(),
            "train/q_mean": values.detach().mean(),
            "train/td_error": (targets - values.detach()).abs().mean(),
            "train/grad_norm": norm,
            "train/grad_clipped_share": was_clipped(norm, in_force),
        }


def pick_taken(worth: Tensor, actions: Tensor) -> Tensor:
    """The values [B] of the actions [B, 1] that were taken, among those of all actions [B, choices]."""
    return torch.gather(worth, 1, actions).squeeze(1)
