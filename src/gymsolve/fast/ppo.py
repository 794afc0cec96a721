"""Proximal policy optimisation: `algos/ppo.py` with its gradient written out.

One call of `update` is the whole algorithm: advantages, several passes over shuffled minibatches with a
clipped objective, then an update of the running statistics.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from gymsolve.experience.credit import Credit, actor_critic_credit
from gymsolve.experience.learning import adapt_rate, hyperparameters
from gymsolve.experience.rollout import Rollout
from gymsolve.fast.compiled import CompiledWork
from gymsolve.fast.inputs import Samples
from gymsolve.fast.losses import Batch, FastLearner, clipped_share, value_targets
from gymsolve.fast.policy import FastPolicy
from gymsolve.kernels import require_kernels
from gymsolve.parts import rollback_state
from gymsolve.settings.config import PPOConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array


class SurrogateMeans(NamedTuple):
    """Means over the rows of a minibatch, before its gradient step."""

    approx_kl: float
    gain: float
    """The clipped objective that the policy maximises; the policy loss is its negative."""
    value_loss: float
    entropy: float
    clip_fraction: float
    ratio: float


class FastPPO(FastLearner):
    """Clipped-surrogate policy optimisation."""

    def __init__(self, config: PPOConfig, policy: FastPolicy) -> None:
        super().__init__(config, policy)
        self.config = config
        self._kernels = require_kernels()
        self.rate_factor = 1.0  # moved by `desired_kl`, times the scheduled learning rate

    def credit(self, rollout: Rollout, progress: Progress) -> Credit:
        """Advantages and value targets of each step."""
        return actor_critic_credit(rollout, self.config, progress)

    # Overflow ends in a non-finite metric, which the trainer reports; a warning would say less.
    @np.errstate(all="ignore")
    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        config, policy = self.config, self.policy
        in_force = hyperparameters(config, progress)
        in_force["hyper/learning_rate"] *= self.rate_factor
        if not rollout.valid.any():  # every environment spent the rollout on a reset
            return in_force
        self.newest = self.credit(rollout, progress)
        credited = self.newest.flat(rollout, normalized=config.normalize_advantages)
        batch = Batch(policy, rollout, rollout.valid)
        old_values, targets = self._critic_targets(credited.values, credited.returns)
        columns = np.stack([batch.log_probs, credited.advantages, targets, old_values])  # [4, B]

        steps: list[SurrogateMeans] = []
        norms: list[float] = []
        stopped = False
        for samples, part in self._minibatches(batch.samples, columns, in_force, rng):
            means, norm = self._step(samples, part, in_force)
            steps.append(means)
            if norm is None:
                stopped = True
                break
            norms.append(norm)
        if config.desired_kl is not None and norms:
            kl = self._measure_kl(samples, part)
            self.rate_factor = adapt_rate(self.rate_factor, config.desired_kl, kl)
        self.optimizer.flush()
        policy.observe(batch.raw_obs)

        metrics = _describe(steps[: len(norms)], norms, in_force) | in_force
        # Measured before each step, also before the step that the limit forbade.
        metrics["train/approx_kl"] = float(np.mean([means.approx_kl for means in steps]))
        metrics["train/explained_variance"] = credited.explained_variance()
        metrics["train/kl_stopped"] = float(stopped)
        metrics["train/gradient_steps"] = float(len(norms))
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
    ) -> tuple[SurrogateMeans, float | None]:
        """The measures of a minibatch and its gradient's norm; None when the KL limit forbids the step."""
        config, policy, size = self.config, self.policy, columns.shape[1]
        work = policy.learning.evaluate(samples)
        means = self._surrogate(work, columns, in_force)
        if config.target_kl is not None and means.approx_kl > in_force["hyper/target_kl"]:
            return means, None
        d_entropy = -in_force["hyper/ent_coef"] / size
        policy.learning.backward(work, work.d_log_probs, d_entropy, work.d_values)
        return means, self.step(in_force)

    def _surrogate(self, work: CompiledWork, columns: Array, in_force: dict[str, float]) -> SurrogateMeans:
        """The clipped objective of a minibatch; its slopes go into `work`.

        `columns` [4, B] are old log-probability, advantage, target and old value.
        """
        config = self.config
        means = self._kernels.ppo_loss(
            columns,
            work.log_probs,
            work.entropy,
            work.values,
            work.d_log_probs,
            work.d_values,
            config.normalize_advantages == "minibatch" and columns.shape[1] > 1,
            in_force["hyper/clip_coef"],
            in_force["hyper/vf_coef"],
            config.huber_delta if config.value_loss == "huber" else math.inf,
            math.inf if config.clip_value is None else in_force["hyper/clip_value"],
        )
        return SurrogateMeans(*means)

    def _measure_kl(self, samples: Samples, columns: Array) -> float:
        """How far the whole update moved the policy, on its last minibatch."""
        log_ratio = self.policy.learning.evaluate(samples).log_probs - columns[0]
        return float(np.mean(np.exp(log_ratio) - 1.0 - log_ratio))

    def state(self) -> dict[str, Any]:
        return {"rate_factor": self.rate_factor}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        self.rate_factor = float(state.get("rate_factor", 1.0))
        return []

    def rollback_point(self) -> Callable[[], None]:
        return rollback_state(self)


def _describe(
    steps: list[SurrogateMeans], norms: list[float], in_force: dict[str, float]
) -> dict[str, float]:
    """Means over the gradient steps of an update."""
    if not steps:
        return {"train/first_ratio": float("nan")}
    means = SurrogateMeans(*np.mean(steps, axis=0).tolist())
    weighted = in_force["hyper/vf_coef"] * means.value_loss
    return {
        "train/policy_loss": -means.gain,
        "train/value_loss": means.value_loss,
        "train/entropy": means.entropy,
        "train/clip_fraction": means.clip_fraction,
        "train/ratio": means.ratio,
        "train/loss": weighted - in_force["hyper/ent_coef"] * means.entropy - means.gain,
        "train/grad_norm": float(np.mean(norms)),
        "train/grad_clipped_share": clipped_share(norms, in_force),
        "train/first_ratio": steps[0].ratio,
    }
