"""Names and units that other frameworks give the metrics of our catalogue."""

import math
from collections.abc import Callable

_SAME = (
    "rollout/ep_rew_mean",
    "rollout/ep_len_mean",
    "rollout/success_rate",
    "eval/mean_reward",
    "eval/success_rate",
    "time/fps",
    "train/approx_kl",
    "train/clip_fraction",
    "train/explained_variance",
    "train/loss",
    "train/value_loss",
)
_RENAMED = {
    # Stable-Baselines3
    "train/policy_gradient_loss": "train/policy_loss",
    "train/policy_loss": "train/policy_loss",
    "train/learning_rate": "hyper/learning_rate",
    "train/clip_range": "hyper/clip_coef",
    "train/grad_norm": "train/grad_norm",
    "eval/mean_ep_length": "eval/mean_ep_length",
    "time/time_elapsed": "time/elapsed",
    # CleanRL
    "charts/learning_rate": "hyper/learning_rate",
    "charts/SPS": "time/fps",
    "losses/value_loss": "train/value_loss",
    "losses/policy_loss": "train/policy_loss",
    "losses/entropy": "train/entropy",
    "losses/approx_kl": "train/approx_kl",
    "losses/clipfrac": "train/clip_fraction",
    "losses/explained_variance": "train/explained_variance",
} | {name: name for name in _SAME}


def _negate(value: float) -> float:
    return -value


def _log(value: float) -> float:
    return math.log(value) if value > 0 else -math.inf


_CONVERTED: dict[str, tuple[str, Callable[[float], float]]] = {
    "train/entropy_loss": ("train/entropy", _negate),  # Stable-Baselines3 logs the loss, minus the entropy
    "train/std": ("policy/log_std_mean", _log),
}


def is_known(name: str) -> bool:
    return name in _RENAMED or name in _CONVERTED


def convert(name: str, value: float) -> tuple[str, float] | None:
    """Our name and number for theirs; None when nothing of ours corresponds."""
    if name in _RENAMED:
        return _RENAMED[name], value
    if name in _CONVERTED:
        ours, change = _CONVERTED[name]
        return ours, change(value)
    return None
