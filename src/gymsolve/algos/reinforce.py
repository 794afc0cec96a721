"""REINFORCE (Williams 1992): the Monte Carlo policy gradient, on finished episodes only.

The algorithm learns from a step once the end of its episode is in the rollout. It leaves out steps whose
episode is still running; it never treats such an episode as ended. A time limit ends the recording, not
the task: the baseline's estimate stands for what was not seen. Without a baseline there is no such
estimate, and the return up to the limit is the objective.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from gymsolve.algos.auxiliary import Auxiliary, add_losses
from gymsolve.algos.batch import Batch
from gymsolve.algos.losses import mean_metrics, moved, value_loss, value_targets, was_clipped
from gymsolve.algos.policy_gradient import PolicyGradient
from gymsolve.experience.credit import Credit, Credited, monte_carlo_credit
from gymsolve.experience.learning import hyperparameters
from gymsolve.experience.rollout import Rollout
from gymsolve.nn.minibatch import Minibatch
from gymsolve.nn.policy import Policy
from gymsolve.parts import rollback_state
from gymsolve.settings.config import ReinforceConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array


class Reinforce(PolicyGradient):
    """Monte Carlo policy gradient with an optional baseline."""

    settings = ReinforceConfig

    def __init__(
        self, config: ReinforceConfig, policy: Policy, auxiliaries: Sequence[Auxiliary] = ()
    ) -> None:
        super().__init__(config, policy, auxiliaries)
        self.config = config
        self.mean_return: float | None = None  # running, for baseline "mean"

    def credit(self, rollout: Rollout, progress: Progress) -> Credit:
        """The advantage of each step; the running baseline stays as it is."""
        return monte_carlo_credit(rollout, self.config, progress, self.mean_return)

    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        config, policy = self.config, self.policy
        in_force = hyperparameters(config, progress)
        credit = self.newest = self.credit(rollout, progress)
        usable = credit.rows
        metrics = in_force | {"train/unfinished_share": 1.0 - float(usable.sum()) / max(1, rollout.env_steps)}
        if not usable.any():
            policy.observe(Batch(policy, rollout, rollout.valid).raw_obs)
            return metrics
        self.mean_return = credit.mean_return
        credited = credit.flat(rollout, normalized=config.normalize_advantages)
        batch = Batch(policy, rollout, usable).whole()
        row = self._step(batch, credited, in_force)
        row |= moved(policy, batch)  # before the normaliser moves: that is not the gradient's doing
        policy.observe(Batch(policy, rollout, rollout.valid).raw_obs)
        if config.baseline == "value":
            metrics["train/explained_variance"] = credited.explained_variance()
        return metrics | mean_metrics([row])

    def _step(
        self, batch: Minibatch, credited: Credited, in_force: dict[str, float]
    ) -> dict[str, torch.Tensor]:
        """One step on the policy, several on the value function if there is one."""
        policy, config = self.policy, self.config
        policy.gradient_mode(True)
        evaluated = policy.evaluate(batch)
        policy_loss = -(torch.from_numpy(credited.advantages).to(policy.device) * evaluated.log_probs).mean()
        entropy = evaluated.entropy.mean()
        loss = policy_loss - in_force["hyper/ent_coef"] * entropy
        loss, further = add_losses(loss, self.auxiliaries, policy, batch, evaluated)
        rates = {
            "learning_rate": in_force["hyper/learning_rate"],
            "max_grad_norm": in_force["hyper/max_grad_norm"],
        }
        row = further | {
            "train/policy_loss": policy_loss,
            "train/entropy": entropy,
            "train/loss": loss,
            "train/first_ratio": (evaluated.log_probs.detach() - batch.log_probs).exp().mean(),
            "train/grad_norm": self.optimizer.step(loss, **rates),
        }
        row["train/grad_clipped_share"] = was_clipped(row["train/grad_norm"], in_force)
        if config.baseline == "value":
            targets = value_targets(policy, credited)
            for _ in range(config.value_epochs):
                critic = value_loss(config, policy.critic_values(batch.obs, batch.past), targets).mean()
                self.optimizer.step(in_force["hyper/vf_coef"] * critic, **rates)
            row["train/value_loss"] = critic
        policy.gradient_mode(False)
        return row

    def state(self) -> dict[str, Any]:
        return {"mean_return": self.mean_return}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        mean = state.get("mean_return")
        self.mean_return = None if mean is None else float(mean)
        return []

    def rollback_point(self) -> Callable[[], None]:
        return rollback_state(self)
