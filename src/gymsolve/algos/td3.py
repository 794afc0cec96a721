"""Twin delayed DDPG (Fujimoto et al. 2018): a deterministic policy, and noise to explore.

The target's action is moved by a little noise, so that values near each other are alike. Actor and targets
move at every second step of the critics.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from gymsolve.algos.auxiliary import Auxiliary
from gymsolve.algos.continuous import ContinuousLearner, Drawn
from gymsolve.algos.optimizer import Optimizer
from gymsolve.nn.deterministic_policy import DeterministicPolicy
from gymsolve.settings.config import TD3Config
from gymsolve.settings.schedules import Progress


class TD3(ContinuousLearner):
    """One action per state, and the lowest of the critics."""

    settings = TD3Config
    policy_type = DeterministicPolicy
    policy: DeterministicPolicy

    def __init__(
        self, config: TD3Config, policy: DeterministicPolicy, auxiliaries: Sequence[Auxiliary] = ()
    ) -> None:
        super().__init__(config, policy, auxiliaries)
        self.config = config

    def _followed(self) -> list[Optimizer]:
        return [self.critic_optimizer, self.actor_optimizer]

    def prepare(self, progress: Progress) -> None:
        """Act with the noise of now."""
        super().prepare(progress)
        self.policy.set_noise(self.config.exploration_noise.at(progress))

    @torch.no_grad()
    def targets(self, drawn: Drawn, in_force: dict[str, float], rng: np.random.Generator) -> Tensor:
        """Rewards, and the discounted value [B] that the lowest target critic gives to a noisy action."""
        target, limit = self.target.policy, in_force["hyper/noise_clip"]
        features = target.features(drawn.next_obs)
        noise = (in_force["hyper/policy_noise"] * self._noise(len(features), rng)).clamp(-limit, limit)
        unit = (target.likeliest(target.params(features)) + noise).clamp(-1.0, 1.0)
        future: Tensor = target.critics(features, unit).amin(dim=0)
        return drawn.rewards + drawn.discounts * future

    def actor_loss(
        self, features: Tensor, in_force: dict[str, float], rng: np.random.Generator
    ) -> tuple[Tensor, dict[str, Tensor]]:
        unit = self.policy.likeliest(self.policy.params(features))
        return -self.policy.critics(features, unit)[0].mean(), {}
