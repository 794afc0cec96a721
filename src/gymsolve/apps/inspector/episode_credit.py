"""Advantages and returns of an inspected episode, by the functions of training, and their settings."""

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
"""Schedules were resolved when the episode was stored, so the progress does not matter."""


@dataclass(frozen=True)
class CreditSettings:
    """Settings of advantages and returns: the run's own at the checkpoint, or others to try."""

    algo: str
    gamma: float
    gae_lambda: float
    reward_scale: float = 1.0
    """The factor by which rewards are multiplied before learning."""
    reward_limit: float | None = None
    """The largest scaled reward, where the run normalises rewards."""
    baseline: str = "value"
    """REINFORCE's."""
    returns: str = "reward_to_go"
    """REINFORCE's."""
    mean_return: float | None = None
    """REINFORCE's running baseline."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "CreditSettings":
        """The settings from their `vars`; a ValueError where the data is wrong."""
        try:
            return cls(**data).checked()
        except TypeError as error:
            raise ValueError(str(error)) from error

    def checked(self) -> "CreditSettings":
        numbers = self.gamma, self.gae_lambda, self.reward_scale, self.reward_limit, self.mean_return
        if not all(number is None or _is_finite(number) for number in numbers):
            raise ValueError("gamma, gae_lambda and reward_scale are numbers.")
        if not (0 <= self.gamma <= 1 and 0 <= self.gae_lambda <= 1):
            raise ValueError("gamma and gae_lambda lie between 0 and 1.")
        if self.algo not in ALGORITHMS or self.baseline not in ("none", "mean", "value"):
            raise ValueError("there is no such algorithm or baseline.")
        if self.returns not in ("reward_to_go", "episode"):
            raise ValueError("there are no such returns.")
        return self

    def with_changes(
        self, gamma: float | None = None, gae_lambda: float | None = None, reward_scale: float | None = None
    ) -> "CreditSettings":
        """The settings with other numbers; None keeps one."""
        changes = {"gamma": gamma, "gae_lambda": gae_lambda, "reward_scale": reward_scale}
        try:
            numbers: dict[str, Any] = {key: float(new) for key, new in changes.items() if new is not None}
            return replace(self, **numbers).checked()
        except (ValueError, OverflowError) as error:
            raise UsageError(f"this cannot be computed: {error}") from error


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)


def episode_credit(rollout: Rollout, settings: CreditSettings) -> Credit:
    """Advantages and returns of the episode by the run's algorithm."""
    gamma = settings.gamma
    if settings.algo != "reinforce":
        config = PPOConfig.model_validate({"gamma": gamma, "gae_lambda": settings.gae_lambda})
        return actor_critic_credit(rollout, config, _NOW)
    chosen = {"gamma": gamma, "baseline": settings.baseline, "returns": settings.returns}
    return monte_carlo_credit(rollout, ReinforceConfig.model_validate(chosen), _NOW, settings.mean_return)
