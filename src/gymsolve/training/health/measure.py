"""Measures around an update.

It takes the costly measures some fifty times per run, when a record is due, and the time that they take is a
metric itself. Nothing here changes what is learned: it draws no random number and moves no statistic of the
policy.
"""

import math

import numpy as np

from gymsolve.experience.rollout import Rollout
from gymsolve.experience.statistics import (
    action_statistics,
    component_statistics,
    credit_statistics,
    episode_statistics,
    first_observations,
    largest_entropy,
    mean_and_std,
    observed_range,
    task_statistics,
    typical_size,
)
from gymsolve.metrics.tables.learning import DECADES
from gymsolve.spec import Array
from gymsolve.training.health.probe import churn, dormant_share, feature_rank, memory_effect, sample_obs
from gymsolve.training.records import next_multiple
from gymsolve.training.trainer import Trainer

_EARLY, _LATE = 100, 32
"""Measures are a hundredth of the budget apart in its first fifth, since rules wait for some in a row before
they speak, and 1/32 from there on. That makes 46; twice as many would cost small networks a percent."""
_SCALED = (
    ("train/scaled_value_loss", "train/value_loss", "hyper/vf_coef"),
    ("train/scaled_entropy", "train/entropy", "hyper/ent_coef"),
)
"""Metric of a loss as it counts in the sum, metric of the loss itself, and its coefficient."""


_EDGES = np.array([0.0, *(10.0**power for power in DECADES[1:]), np.inf])


def before_update(trainer: Trainer, rollout: Rollout) -> "Before | None":
    """Measure before an update; None unless the costly measures are due."""
    trainer.probe.take(rollout, trainer.learner.replay)
    counters, steps = trainer.counters, rollout.env_steps
    due = counters.env_steps + steps >= max(counters.next_record, counters.next_measure)
    return Before(trainer, rollout) if due and steps else None


def after_update(
    trainer: Trainer, rollout: Rollout, before: "Before | None", metrics: dict[str, float]
) -> dict[str, float]:
    """Metrics that follow from an update's own, and the costly ones when they are due."""
    scaled_losses = {
        scaled: metrics[coefficient] * metrics[loss]
        for scaled, loss, coefficient in _SCALED
        if loss in metrics
    }
    if before is None:
        return scaled_losses
    here = trainer.counters.env_steps + rollout.env_steps
    trainer.counters.next_measure = next_multiple(here, _spacing(here, trainer.config.env_budget))
    return scaled_losses | before.measured | _after(trainer, rollout, before, metrics)


def _spacing(env_steps: int, budget: int) -> int:
    """Environment steps from one measure to the next."""
    return max(1, budget // (_EARLY if env_steps < budget // 5 else _LATE))


class Before:
    """Measures from before an update, and the arrays to compare with afterwards."""

    def __init__(self, trainer: Trainer, rollout: Rollout) -> None:
        self.measured = _before(trainer, rollout)
        self.weights = _weights(trainer)
        probe, policy = trainer.probe, trainer.policy
        self.greedy = policy.greedy(probe.obs, probe.masks, probe.remember(policy)) if probe.obs else None


@np.errstate(all="ignore")  # what overflows here is a metric that is not finite, and an alert
def _before(trainer: Trainer, rollout: Rollout) -> dict[str, float]:
    """Measure the rollout with the policy that collected it."""
    return {
        **_credit(trainer, rollout),
        **episode_statistics(rollout),
        **component_statistics(rollout, trainer.envs.spec.components),
        **action_statistics(rollout, trainer.policy.spec.action),
        **_observations(trainer, rollout),
    }


def _credit(trainer: Trainer, rollout: Rollout) -> dict[str, float]:
    """Statistics of what each step is worth; none for an algorithm that gives no credit by step."""
    credit = trainer.learner.credit(rollout, trainer.progress)
    if credit is None:
        return {}
    return credit_statistics(rollout, credit) | task_statistics(rollout, credit)


def _weights(trainer: Trainer) -> Array:
    """All trainable numbers, as one array."""
    return np.concatenate([optimizer.weights() for optimizer in trainer.learner.optimizers.values()])


def _observations(trainer: Trainer, rollout: Rollout) -> dict[str, float]:
    """Measures of what the network sees. Scaling keeps the order of numbers, so the ends hold the largest."""
    ends, still = observed_range(rollout)
    if trainer.probe.bounds is not None:
        trainer.probe.bounds.look(ends)
    some = sample_obs(rollout, trainer.policy.spec)[0]
    # Evaluation compares with what a reset shows, and an archive begins episodes elsewhere.
    first = first_observations(rollout) if trainer.collector.starts is None else None
    parts = [some, ends] if first is None else [some, ends, first]
    together = {key: np.concatenate([part[key] for part in parts]) for key in ends}
    seen = trainer.policy.seen(together)  # in one call for all rows: its cost hardly depends on their number
    metrics = {"obs/constant_share": still}
    if not seen:
        return metrics
    count = len(next(iter(some.values())))
    numbers = np.concatenate([rows[:count].reshape(-1) for rows in seen.values()])
    metrics["obs/mean"], metrics["obs/std"] = mean_and_std(numbers)
    metrics["obs/abs_max"] = max(float(np.abs(rows[count : count + 2]).max()) for rows in seen.values())
    size = None if first is None else typical_size({key: rows[count + 2 :] for key, rows in seen.items()})
    return metrics if size is None else metrics | {"obs/first_size": size}


@np.errstate(all="ignore")
def _after(trainer: Trainer, rollout: Rollout, before: Before, metrics: dict[str, float]) -> dict[str, float]:
    """Measures of the network after the update."""
    policy = trainer.policy
    memory = trainer.probe.remember(policy)
    changes = {} if before.greedy is None else _hidden_layers(trainer, memory)
    if metrics.get("train/gradient_steps") != 0.0:  # 0 while a replay buffer fills, or between rare steps
        changes |= _changes(trainer, before, memory) | _gradients(trainer)
    largest = largest_entropy(rollout, policy.spec.action)
    if largest and "train/entropy" in metrics:
        changes["policy/entropy_relative"] = metrics["train/entropy"] / largest
    log_std = policy.log_std()
    return changes if log_std is None else changes | {"policy/log_std_mean": float(log_std.mean())}


def _changes(trainer: Trainer, before: Before, memory: Array | None) -> dict[str, float]:
    """How the update changed weights and choices."""
    change = (_weights(trainer) - before.weights).astype(np.float64)
    changes = {
        "train/step_rms": math.sqrt(float(np.dot(change, change)) / len(change)),
        "train/step_max": float(np.abs(change).max()),
    }
    if before.greedy is not None:
        policy, probe = trainer.policy, trainer.probe
        now = policy.greedy(probe.obs, probe.masks, memory)
        changes["train/churn"] = churn(before.greedy, now, box=policy.spec.action.kind == "box")
    return changes


def _hidden_layers(trainer: Trainer, memory: Array | None) -> dict[str, float]:
    """Measures of the hidden layers on the probe."""
    policy, probe = trainer.policy, trainer.probe
    hidden = policy.hidden(probe.obs, memory)
    measures = {"train/dormant_share": dormant_share(hidden)}
    if memory is not None:
        measures["train/memory_effect"] = memory_effect(policy, probe, memory)
    features = _features(hidden)
    return measures if features is None else measures | {"train/feature_rank": feature_rank(features)}


def _gradients(trainer: Trainer) -> dict[str, float]:
    """Sizes of the newest gradient, by the group of its parameters."""
    learner, sizes = trainer.learner, {}
    for name, optimizer in learner.optimizers.items():
        groups = learner.parameter_groups(name)
        for part, norm in optimizer.group_norms(groups).items():
            if part != "value" or trainer.config.algo.has_critic:
                sizes[f"train/grad_norm_{part}"] = norm
        for part, pieces in optimizer.gradients(groups).items():
            if part != "value" or trainer.config.algo.has_critic:
                sizes |= gradient_sizes(part, pieces)
    return sizes


def gradient_sizes(part: str, pieces: list[Array]) -> dict[str, float]:
    """Shares of a gradient's entries by their decade: a histogram of log10 |g|, and how many are exactly 0.

    The first decade has everything smaller too, the last everything larger.
    """
    total, zeros = 0, 0
    counts = np.zeros(len(DECADES))
    for piece in pieces:
        sizes = np.abs(piece).ravel()
        total += sizes.size
        zeros += sizes.size - int(np.count_nonzero(sizes))
        counts += np.histogram(sizes, _EDGES)[0]
    counts[0] -= zeros
    shares = (counts / max(1, total)).tolist()
    named = {f"gradient/{part}_1e{power}": share for power, share in zip(DECADES, shares, strict=True)}
    return named | {f"gradient/{part}_zero": zeros / max(1, total)}


def _features(hidden: dict[str, Array]) -> Array | None:
    """The layer that the policy's head reads; None where there is no hidden layer."""
    return next((layer for name, layer in reversed(hidden.items()) if name.startswith("actor")), None)
