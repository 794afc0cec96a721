"""What every engine computes the same way before and after its gradients: rows, rates, credit, measures."""

import numpy as np

from gymsolve.config import A2CConfig, PPOConfig, ReinforceConfig
from gymsolve.rollout.frames import Frames
from gymsolve.rollout.returns import monte_carlo, standardize
from gymsolve.rollout.rollout import Rollout
from gymsolve.schedules import Progress, Schedule
from gymsolve.spec import Array, Obs

__all__ = [
    "EpisodeCredit",
    "adapt_rate",
    "explained_variance",
    "flatten",
    "flatten_entry",
    "flatten_obs",
    "hyperparameters",
]

AnyAlgo = PPOConfig | A2CConfig | ReinforceConfig


def flatten(array: Array, rows: Array) -> Array:
    """[T, N, …] → [B, …] with only the rows that are True in `rows` [T, N]."""
    flat = array.reshape(-1, *array.shape[2:])
    return flat if rows.all() else flat[rows.reshape(-1)]


def flatten_obs(rollout: Rollout, rows: Array) -> Obs:
    """The observations of some rows, every entry [B, …]."""
    return {key: flatten_entry(stored, rows) for key, stored in rollout.obs.items()}


def flatten_entry(stored: Array | Frames, rows: Array) -> Array:
    """One entry of a rollout's observations."""
    return stored.take(np.flatnonzero(rows)) if isinstance(stored, Frames) else flatten(stored, rows)


def hyperparameters(config: AnyAlgo, progress: Progress) -> dict[str, float]:
    """Every schedulable value in force, by metric name."""
    return {f"hyper/{name}": value.at(progress) for name, value in config if isinstance(value, Schedule)}


def adapt_rate(factor: float, desired: float, kl: float) -> float:
    """The factor on the learning rate after an update that moved the policy by `kl`."""
    if kl > 2.0 * desired:
        return max(factor / 1.5, 1e-3)
    return min(factor * 1.5, 1e3) if kl < 0.5 * desired else factor


def explained_variance(predicted: Array, target: Array) -> float:
    """1 is a perfect critic, 0 no better than the mean, below 0 worse; NaN when nothing varies."""
    if not len(target) or target.min() == target.max():  # the variance of equal floats is not exactly 0
        return float("nan")
    exact = target.astype(np.float64)
    return 1.0 - float(np.var(exact - predicted) / np.var(exact))


class EpisodeCredit:
    """REINFORCE's weights: what followed an action, or its whole episode, against a baseline."""

    def __init__(self, config: ReinforceConfig, mean_return: float | None = None) -> None:
        self.config = config
        self.mean_return = mean_return  # running, for baseline "mean"

    def assign(self, rollout: Rollout, usable: Array, gamma: float) -> tuple[Array, Array]:
        """Advantages and value targets [B] of the usable steps."""
        advantages, targets = self.measure(rollout, usable, gamma)
        if self.config.normalize_advantages == "rollout":
            advantages = standardize(advantages)
        return advantages, targets

    def measure(self, rollout: Rollout, usable: Array, gamma: float) -> tuple[Array, Array]:
        """The same before normalisation; moves the running baseline."""
        togo = self._rewards_to_go(rollout, gamma)
        whole = self.config.returns == "episode"
        credit = flatten(_whole_episode(togo, rollout) if whole else togo, usable)
        advantages = (credit - self._baseline(credit, flatten(rollout.values, usable))).astype(np.float32)
        return advantages, flatten(togo, usable).astype(np.float32)

    def _rewards_to_go(self, rollout: Rollout, gamma: float) -> Array:
        """Discounted sums of rewards [T, N] to the end of each episode."""
        tails = np.zeros_like(rollout.values)
        if self.config.baseline == "value":
            tails = rollout.next_values
        elif self.config.baseline == "mean" and self.mean_return is not None and gamma < 1.0:
            # Undiscounted, an estimate that feeds on itself would grow without bound.
            tails = np.full_like(rollout.values, self.mean_return)
        return monte_carlo(rollout.rewards, tails, rollout.terminated, rollout.truncated, gamma=gamma)

    def _baseline(self, credit: Array, values: Array) -> Array | float:
        if self.config.baseline == "value":
            return values
        if self.config.baseline == "none":
            return 0.0
        now = float(credit.mean())
        self.mean_return = now if self.mean_return is None else 0.9 * self.mean_return + 0.1 * now
        return self.mean_return


def _whole_episode(togo: Array, rollout: Rollout) -> Array:
    """Every step of an episode gets the return from its first step in the rollout."""
    begins = np.ones(togo.shape, bool)
    begins[1:] = rollout.done[:-1] | ~rollout.valid[:-1]
    whole = togo.copy()
    for t in range(1, len(togo)):
        whole[t] = np.where(begins[t], togo[t], whole[t - 1])
    return whole
