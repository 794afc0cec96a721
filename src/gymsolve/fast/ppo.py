"""Proximal policy optimisation: `algos/ppo.py` with its gradient written out.

One call of `update` is the whole algorithm: advantages, several passes over shuffled minibatches with
a clipped objective, then the running statistics move.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from gymsolve.config import PPOConfig
from gymsolve.fast.losses import Batch, value_loss, value_targets
from gymsolve.fast.optimizer import FastOptimizer
from gymsolve.fast.inputs import Samples
from gymsolve.fast.policy import FastPolicy
from gymsolve.rollout.learning import adapt_rate, explained_variance, flatten, hyperparameters
from gymsolve.rollout.returns import standardize
from gymsolve.rollout.rollout import Rollout
from gymsolve.schedules import Progress
from gymsolve.spec import Array

__all__ = ["FastPPO"]

_MEASURES = ("train/policy_loss", "train/value_loss", "train/entropy", "train/clip_fraction", "train/ratio")


class FastPPO:
    """Clipped-surrogate policy optimisation."""

    def __init__(self, config: PPOConfig, policy: FastPolicy) -> None:
        self.config, self.policy = config, policy
        self.optimizer = FastOptimizer(config.optimizer, policy.parameters)
        self.rate_factor = 1.0  # moved by `desired_kl`, times the scheduled learning rate

    # Overflow ends in a non-finite metric, which the trainer reports; a warning would say less.
    @np.errstate(all="ignore")
    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        config, policy = self.config, self.policy
        in_force = hyperparameters(config, progress)
        in_force["hyper/learning_rate"] *= self.rate_factor
        if not rollout.valid.any():  # every environment spent the rollout on a reset
            return in_force
        measured = rollout.advantages(gamma=in_force["hyper/gamma"], gae_lambda=in_force["hyper/gae_lambda"])
        advantages = flatten(measured, rollout.valid)
        values = flatten(rollout.values, rollout.valid).copy()
        returns = advantages + values
        batch = Batch(policy, rollout, rollout.valid)
        old_values, targets = self._critic_targets(values, returns)
        if config.normalize_advantages == "rollout":
            advantages = standardize(advantages)
        columns = np.stack([batch.log_probs, advantages, targets, old_values])  # [4, B]

        rows: list[dict[str, float]] = []
        moves: list[float] = []  # KL before each step, and the one that forbade a step
        stopped = False
        for samples, part in self._minibatches(batch.samples, columns, in_force, rng):
            approx_kl, row = self._step(samples, part, in_force)
            moves.append(approx_kl)
            if row is None:
                stopped = True
                break
            rows.append(row)
        if config.desired_kl is not None and rows:
            kl = self._measure_kl(samples, part)
            self.rate_factor = adapt_rate(self.rate_factor, config.desired_kl, kl)
        self.optimizer.flush()
        policy.observe(batch.raw_obs)

        metrics = {name: float(np.mean([row[name] for row in rows])) for name in (rows[0] if rows else ())}
        metrics |= in_force
        metrics["train/approx_kl"] = float(np.mean(moves))
        metrics["train/explained_variance"] = explained_variance(values, returns)
        metrics["train/kl_stopped"] = float(stopped)
        metrics["train/gradient_steps"] = float(len(rows))
        metrics["train/first_ratio"] = rows[0]["train/ratio"] if rows else float("nan")
        return metrics

    def _critic_targets(self, values: Array, returns: Array) -> tuple[Array, Array]:
        """Old predictions and targets [B] in the units in which the value head now predicts."""
        norm = self.policy.value_norm
        if norm is None:
            return values, returns
        before = norm.normalize(values)
        targets = value_targets(self.policy, returns)  # the units move
        return (norm.normalize(values) if norm.preserve else before), targets

    def _minibatches(
        self, samples: Samples, columns: Array, in_force: dict[str, float], rng: np.random.Generator
    ) -> Iterator[tuple[Samples, Array]]:
        """Every row once per epoch, in a new order each time, gathered once per epoch."""
        rows = columns.shape[1]
        count = min(self.config.num_minibatches, rows)  # fewer rows than planned when resets took some
        least, longer = divmod(rows, count)
        for _ in range(round(in_force["hyper/num_epochs"])):
            order = rng.permutation(rows)
            shuffled, mixed = samples.gather(order), columns.take(order, axis=1)
            stop = 0
            for number in range(count):  # the first ones are one row longer, as in np.array_split
                start, stop = stop, stop + least + (number < longer)
                yield shuffled.part(slice(start, stop)), mixed[:, start:stop]

    def _step(
        self, samples: Samples, columns: Array, in_force: dict[str, float]
    ) -> tuple[float, dict[str, float] | None]:
        """The KL so far and the measures of one gradient step; None when the KL limit forbids it."""
        config, clip, size = self.config, in_force["hyper/clip_coef"], columns.shape[1]
        old_log_probs, advantages, targets, old_values = columns
        work = self.policy.evaluate(samples)
        log_ratio = work.log_probs - old_log_probs
        ratio = np.exp(log_ratio)
        change = ratio - 1.0
        approx_kl = float(np.add.reduce(change - log_ratio)) / size
        if config.target_kl is not None and approx_kl > in_force["hyper/target_kl"]:
            return approx_kl, None

        if config.normalize_advantages == "minibatch" and size > 1:
            advantages = _standardize(advantages)
        measures = np.empty((len(_MEASURES), size), np.float32)
        gain = advantages * ratio
        kept = np.minimum(np.maximum(ratio, 1.0 - clip), 1.0 + clip)
        kept *= advantages
        np.minimum(gain, kept, out=measures[0])
        measures[1], d_values = self._critic(work.values, targets, old_values, in_force)
        measures[2] = work.entropy
        np.greater(np.abs(change), clip, out=measures[3])
        measures[4] = ratio

        # Where the clipped branch is the smaller one, nothing flows back.
        d_log_probs = gain * (gain <= kept)
        d_log_probs *= -1.0 / size
        d_values *= in_force["hyper/vf_coef"] / size
        self.policy.backward(work, d_log_probs, -in_force["hyper/ent_coef"] / size, d_values)
        norm = self.optimizer.step(
            learning_rate=in_force["hyper/learning_rate"], max_grad_norm=in_force["hyper/max_grad_norm"]
        )
        return approx_kl, _describe(measures, in_force) | {"train/grad_norm": norm}

    def _critic(
        self, values: Array, targets: Array, old_values: Array, in_force: dict[str, float]
    ) -> tuple[Array, Array]:
        """Value loss of each row and its slope."""
        loss, slope = value_loss(self.config, values, targets)
        if self.config.clip_value is None:
            return loss, slope
        limit = in_force["hyper/clip_value"]
        change = values - old_values
        near = old_values + np.clip(change, -limit, limit)
        clipped, _ = value_loss(self.config, near, targets)
        # Inside the limit both are the same; outside, the clipped one no longer depends on the values.
        slope *= (np.abs(change) <= limit) | (loss > clipped)
        return np.maximum(loss, clipped), slope

    def _measure_kl(self, samples: Samples, columns: Array) -> float:
        """How far the whole update moved the policy, on its last minibatch."""
        log_ratio = self.policy.evaluate(samples).log_probs - columns[0]
        return float(np.mean(np.exp(log_ratio) - 1.0 - log_ratio))

    def state(self) -> dict[str, Any]:
        return {"rate_factor": self.rate_factor}

    def load(self, state: dict[str, Any]) -> None:
        self.rate_factor = state["rate_factor"]


def _describe(measures: Array, in_force: dict[str, float]) -> dict[str, float]:
    """Means of `_MEASURES` over the rows, all at once, and the loss they make up."""
    means = np.add.reduce(measures, axis=1) / measures.shape[1]
    row = dict(zip(_MEASURES, means.tolist(), strict=True))
    row["train/policy_loss"] *= -1.0
    row["train/loss"] = (
        row["train/policy_loss"]
        + in_force["hyper/vf_coef"] * row["train/value_loss"]
        - in_force["hyper/ent_coef"] * row["train/entropy"]
    )
    return row


def _standardize(values: Array) -> Array:
    """`rollout.returns.standardize` with fewer passes: it runs once per gradient step."""
    exact = values.astype(np.float64)
    exact -= np.add.reduce(exact) / len(exact)
    exact /= np.sqrt(np.dot(exact, exact) / len(exact)) + 1e-8
    return exact.astype(values.dtype)
