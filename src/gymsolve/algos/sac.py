"""Soft actor-critic (Haarnoja et al. 2018): earn much, and stay as random as possible.

The entropy of the policy counts as reward, times a weight: the temperature. It is learned so that the entropy
comes to a target, or set by `ent_coef`.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from gymsolve.algos.auxiliary import Auxiliary
from gymsolve.algos.continuous import ContinuousLearner, Drawn
from gymsolve.algos.optimizer import Optimizer
from gymsolve.experience.rollout import Rollout
from gymsolve.nn.squashed_policy import SquashedPolicy
from gymsolve.settings.config import EntropyConfig, SACConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array


class SAC(ContinuousLearner):
    """A squashed Gaussian, a temperature, and the lowest of the critics."""

    settings: ClassVar[type[EntropyConfig]] = SACConfig
    policy_type = SquashedPolicy
    policy: SquashedPolicy

    def __init__(
        self, config: EntropyConfig, policy: SquashedPolicy, auxiliaries: Sequence[Auxiliary] = ()
    ) -> None:
        super().__init__(config, policy, auxiliaries)
        self.config = config
        self._fixed: dict[str, float] = {}
        asked = config.target_entropy
        self.target_entropy = float(-policy.spec.action.size) if asked is None else asked
        self.temperature_optimizer: Optimizer | None = None
        if config.ent_coef is None:
            first = torch.full((1,), math.log(config.ent_coef_init), device=policy.device)
            self.log_temperature = nn.Parameter(first)
            self.temperature_optimizer = Optimizer(
                config.optimizer, [("log_temperature", self.log_temperature)]
            )

    @property
    def optimizers(self) -> Mapping[str, Optimizer]:
        more = {} if self.temperature_optimizer is None else {"temperature": self.temperature_optimizer}
        return {**super().optimizers, **more}

    def temperature(self, in_force: Mapping[str, float]) -> Tensor:
        """The weight of the entropy now."""
        if self.temperature_optimizer is None:
            return torch.tensor(in_force["hyper/ent_coef"], device=self.policy.device)
        return self.log_temperature.detach().exp().squeeze(0)

    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        self._fixed = (
            {} if self.config.ent_coef is None else {"hyper/ent_coef": self.config.ent_coef.at(progress)}
        )
        return super().update(rollout, progress, rng) | {
            "hyper/ent_coef": float(self.temperature(self._fixed))
        }

    def _extra(self, rollout: Rollout) -> Array:
        """The entropy of each step, as a sample of it, times its weight."""
        extra: Array = -float(self.temperature(self._fixed)) * rollout.log_probs
        return extra

    @torch.no_grad()
    def targets(self, drawn: Drawn, in_force: dict[str, float], rng: np.random.Generator) -> Tensor:
        """Rewards, and the discounted value [B] of what followed, with the entropy there."""
        unit, log_probs = self._sample(self.policy.features(drawn.next_obs), rng)
        target = self.target.policy
        future = self.future(target.critics(target.features(drawn.next_obs), unit))
        entropy = self.temperature(in_force) * log_probs
        entropy = entropy if future.ndim == 1 else entropy.unsqueeze(1)
        discounts = drawn.discounts if future.ndim == 1 else drawn.discounts.unsqueeze(1)
        rewards = drawn.rewards if future.ndim == 1 else drawn.rewards.unsqueeze(1)
        return rewards + discounts * (future - entropy)

    def future(self, values: Tensor) -> Tensor:
        """The lowest of the target critics' values [N, B]."""
        return values.amin(dim=0)

    def _sample(self, features: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Actions between -1 and 1 [B, A] of the present policy, and their log-probabilities [B]."""
        policy = self.policy
        actions, log_probs = policy.sample(policy.params(features), self._noise(len(features), rng))
        return policy.unit(actions), log_probs

    def actor_loss(
        self, features: Tensor, in_force: dict[str, float], rng: np.random.Generator
    ) -> tuple[Tensor, dict[str, Tensor]]:
        unit, log_probs = self._sample(features, rng)
        loss = (self.temperature(in_force) * log_probs - self.policy.worth(features, unit)).mean()
        entropy = -log_probs.detach().mean()
        if self.temperature_optimizer is not None:
            error = entropy - self.target_entropy  # above its target, the temperature falls
            self.temperature_optimizer.step(
                (self.log_temperature * error).sum(),
                learning_rate=in_force["hyper/learning_rate"],
                max_grad_norm=0.0,
            )
        return loss, {"train/entropy": entropy}

    # ------------------------------------------------------------------------------ state

    def arrays(self) -> dict[str, Array]:
        if self.temperature_optimizer is None:
            return {}
        return {"log_temperature": self.log_temperature.detach().cpu().numpy().copy()}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        if "log_temperature" in arrays and self.temperature_optimizer is not None:
            with torch.no_grad():
                self.log_temperature.copy_(torch.from_numpy(arrays["log_temperature"].copy()))
        return super().load(arrays, state)
