"""One update, and what can be measured around it.

The costly measures are taken about a hundred times per run, where a record will be written, and the time
they take is a metric itself. Nothing here changes what is learned: no random number is drawn, no statistic
of the policy moves.
"""

import math
import time

import numpy as np

from gymsolve.config import ReinforceConfig
from gymsolve.rollout.rollout import Rollout
from gymsolve.rollout.statistics import (
    action_statistics,
    component_statistics,
    credit_statistics,
    episode_statistics,
    first_observations,
    largest_entropy,
    observed_range,
    typical_size,
)
from gymsolve.spec import Array
from gymsolve.training.probe import churn, dormant_share, feature_rank, take_probe
from gymsolve.training.records import next_multiple
from gymsolve.training.trainer import Trainer

__all__ = ["learn"]

_MEASURES = 100
"""So many points make a curve; twice as many would cost small networks several percent of their time."""


def learn(trainer: Trainer, rollout: Rollout) -> dict[str, float]:
    """Update the policy with a rollout; the update's own metrics, and all others when they are due."""
    clock, counters = trainer.clock, trainer.counters
    with clock.timing("diagnose"):
        if trainer.probe is None and rollout.env_steps:
            trainer.probe = take_probe(rollout, trainer.policy.spec)
        due = counters.env_steps + rollout.env_steps >= max(counters.next_record, counters.next_measure)
        state = _State(trainer, rollout) if due and rollout.env_steps else None
    began = time.perf_counter()
    with np.errstate(all="ignore"):  # what overflows is found afterwards, and told better than by a warning
        metrics = trainer.algorithm.update(rollout, trainer.progress, trainer.minibatch_rng)
    seconds = time.perf_counter() - began
    clock.add("update", seconds)
    clock.updates += 1
    with clock.timing("diagnose"):
        metrics |= _scaled(metrics) | {"time/update_seconds": seconds}
        if state is not None:
            metrics |= state.measured | _after(trainer, rollout, state, metrics)
            here = counters.env_steps + rollout.env_steps
            counters.next_measure = next_multiple(here, max(1, trainer.config.steps // _MEASURES))
    return metrics


class _State:
    """How things stand before an update."""

    def __init__(self, trainer: Trainer, rollout: Rollout) -> None:
        assert trainer.probe is not None
        self.measured = _before(trainer, rollout)
        self.weights = trainer.algorithm.optimizer.weights()
        self.greedy = trainer.policy.greedy(trainer.probe.obs, trainer.probe.masks)


def _scaled(metrics: dict[str, float]) -> dict[str, float]:
    """Losses as they count in the sum."""
    found = {}
    for loss, coefficient in (("value_loss", "vf_coef"), ("entropy", "ent_coef")):
        if f"train/{loss}" in metrics:
            found[f"train/scaled_{loss}"] = metrics[f"hyper/{coefficient}"] * metrics[f"train/{loss}"]
    return found


@np.errstate(all="ignore")  # what overflows here is a metric that is not finite, and an alert
def _before(trainer: Trainer, rollout: Rollout) -> dict[str, float]:
    """Of the rollout, through the eyes of the policy that collected it."""
    algo, policy = trainer.config.algo, trainer.policy
    mean_return = trainer.algorithm.state().get("mean_return")
    return {
        **credit_statistics(rollout, algo, trainer.progress, mean_return),
        **episode_statistics(rollout),
        **component_statistics(rollout, trainer.envs.spec.components),
        **action_statistics(rollout, policy.spec.action),
        **_observations(trainer, rollout),
    }


def _observations(trainer: Trainer, rollout: Rollout) -> dict[str, float]:
    """What the network sees: scaling keeps the order of numbers, so their ends tell the largest."""
    ends, still = observed_range(rollout)
    found = {"obs/constant_share": still}
    some = take_probe(rollout, trainer.policy.spec).obs
    both = {key: np.concatenate([rows, ends[key]]) for key, rows in some.items()}
    seen = list(trainer.policy.seen(both).values())
    if seen:
        numbers = np.concatenate([rows[:-2].reshape(-1) for rows in seen]).astype(np.float64)
        found |= {"obs/mean": float(numbers.mean()), "obs/std": float(numbers.std())}
        found["obs/abs_max"] = max(float(np.abs(rows[-2:]).max()) for rows in seen)
    first = first_observations(rollout)
    size = None if first is None else typical_size(trainer.policy.seen(first))
    return found if size is None else found | {"obs/first_size": size}


@np.errstate(all="ignore")
def _after(trainer: Trainer, rollout: Rollout, state: _State, metrics: dict[str, float]) -> dict[str, float]:
    """What the update did to the network."""
    policy, optimizer, probe = trainer.policy, trainer.algorithm.optimizer, trainer.probe
    assert probe is not None
    change = (optimizer.weights() - state.weights).astype(np.float64)
    hidden = policy.hidden(probe.obs)
    now = policy.greedy(probe.obs, probe.masks)
    found = {
        "train/step_rms": math.sqrt(float(np.dot(change, change)) / len(change)),
        "train/step_max": float(np.abs(change).max()),
        "train/dormant_share": dormant_share(hidden),
        "train/feature_rank": feature_rank(_features(hidden)),
        "train/churn": churn(state.greedy, now, box=policy.spec.action.kind == "box"),
    }
    algo = trainer.config.algo
    for part, norm in optimizer.part_norms(policy.parts()).items():
        if part != "value" or not isinstance(algo, ReinforceConfig) or algo.baseline == "value":
            found[f"train/grad_norm_{part}"] = norm
    largest = largest_entropy(rollout, policy.spec.action)
    if largest and "train/entropy" in metrics:
        found["policy/entropy_relative"] = metrics["train/entropy"] / largest
    log_std = policy.log_std()
    return found if log_std is None else found | {"policy/log_std_mean": float(log_std.mean())}


def _features(hidden: dict[str, Array]) -> Array:
    """The layer that the policy's head reads."""
    return next(layer for name, layer in reversed(hidden.items()) if name.startswith("actor."))
