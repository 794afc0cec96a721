"""What decides the credit of an inspected episode, and that credit, by the functions of training."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from gymsolve.errors import UsageError
from gymsolve.experience.credit import Credit, actor_critic_credit, monte_carlo_credit
from gymsolve.experience.rollout import Rollout
from gymsolve.registry import ALGORITHMS
from gymsolve.settings.config import PPOConfig, ReinforceConfig
from gymsolve.settings.schedules import Progress

_NOW = Progress(0, 1)
"""Schedules are resolved before an episode is stored; what is computed here has constants."""


@dataclass(frozen=True)
class CreditSettings:
    """What decides advantages and returns: the run's own at the checkpoint, or what somebody wants to try."""

    algo: str
    gamma: float
    gae_lambda: float
    reward_scale: float = 1.0
    """What rewards are multiplied by before anything is learned from them."""
    reward_limit: float | None = None
    """Bound of scaled rewards, where the run normalises them."""
    baseline: str = "value"
    """Of REINFORCE."""
    returns: str = "reward_to_go"
    """Of REINFORCE."""
    mean_return: float | None = None
    """Its running baseline."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "CreditSettings":
        """What `vars` gave; a ValueError if it is nothing of the kind."""
        try:
            found = cls(**data)
        except TypeError as error:
            raise ValueError(str(error)) from error
        return found.checked()

    def checked(self) -> "CreditSettings":
        numbers = self.gamma, self.gae_lambda, self.reward_scale, self.reward_limit, self.mean_return
        if not all(one is None or (type(one) in (int, float) and math.isfinite(one)) for one in numbers):
            raise ValueError("gamma, gae_lambda and reward_scale are numbers.")
        if not (0 <= self.gamma <= 1 and 0 <= self.gae_lambda <= 1):
            raise ValueError("gamma and gae_lambda lie between 0 and 1.")
        words = self.algo, self.baseline, self.returns
        if words[0] not in ALGORITHMS or words[1] not in ("none", "mean", "value"):
            raise ValueError("there is no such algorithm or baseline.")
        if words[2] not in ("reward_to_go", "episode"):
            raise ValueError("there are no such returns.")
        return self

    def with_changes(
        self,
        *,
        gamma: float | None = None,
        gae_lambda: float | None = None,
        reward_scale: float | None = None,
    ) -> "CreditSettings":
        """The same with other numbers."""
        own = self.gamma, self.gae_lambda, self.reward_scale
        given = (gamma, gae_lambda, reward_scale)
        numbers = [mine if one is None else float(one) for mine, one in zip(own, given, strict=True)]
        try:
            return replace(self, gamma=numbers[0], gae_lambda=numbers[1], reward_scale=numbers[2]).checked()
        except (ValueError, OverflowError) as error:
            raise UsageError(f"this cannot be computed: {error}") from error


def episode_credit(rollout: Rollout, settings: CreditSettings) -> Credit:
    """What the run's algorithm makes of the episode."""
    gamma = settings.gamma
    if settings.algo != "reinforce":
        config = PPOConfig.model_validate({"gamma": gamma, "gae_lambda": settings.gae_lambda})
        return actor_critic_credit(rollout, config, _NOW)
    chosen = {"gamma": gamma, "baseline": settings.baseline, "returns": settings.returns}
    return monte_carlo_credit(rollout, ReinforceConfig.model_validate(chosen), _NOW, settings.mean_return)
