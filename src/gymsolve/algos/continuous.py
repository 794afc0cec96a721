"""Shared by SAC, TD3 and TQC: critics and actor with an optimizer each, and the order of their steps.

A gradient step draws a batch, moves the critics towards the targets of a subclass, then the actor towards
actions that the critics value, then the target networks. The actor and the targets may move more rarely.
"""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from gymsolve.algos.auxiliary import Auxiliary
from gymsolve.algos.losses import value_loss, was_clipped
from gymsolve.algos.optimizer import Optimizer
from gymsolve.algos.replay_learner import ReplayLearner
from gymsolve.algos.target import Target
from gymsolve.errors import ConfigError
from gymsolve.experience.obtained import ObtainedReturns
from gymsolve.experience.rollout import Rollout
from gymsolve.nn.continuous_policy import ContinuousPolicy
from gymsolve.nn.init import Draws
from gymsolve.parts import Part
from gymsolve.settings.config import ContinuousConfig, NetConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array, EnvSpec

_OTHERS = {
    "discrete": ("a Discrete one", "Use algo.name=dqn or algo.name=pqn, or algo.name=ppo."),
    "multi_discrete": ("a MultiDiscrete one", "Use algo.name=ppo or algo.name=a2c."),
    "multi_binary": ("a MultiBinary one", "Use algo.name=ppo or algo.name=a2c."),
    "box": (
        "one with an infinite bound",
        "Wrap the environment so that its actions are bounded, or use ppo.",
    ),
}


class Drawn(NamedTuple):
    """A batch from the replay buffer, as tensors."""

    obs: dict[str, Tensor]
    actions: Tensor  # [B, A] between -1 and 1
    rewards: Tensor  # [B] of up to n steps
    discounts: Tensor  # [B] of the value of what followed: 0 where the episode terminated
    next_obs: dict[str, Tensor]


class ContinuousLearner(ReplayLearner):
    """Critics that learn from a replay buffer, and an actor that learns from the critics."""

    policy_type: ClassVar[type[ContinuousPolicy]]
    policy: ContinuousPolicy

    def __init__(
        self, config: ContinuousConfig, policy: ContinuousPolicy, auxiliaries: Sequence[Auxiliary] = ()
    ) -> None:
        if auxiliaries:
            raise ConfigError(
                f"{type(self).__name__} has its own losses only, and cannot learn {auxiliaries[0].name} too.",
                where="algo.name",
                hint="Use algo.name=ppo, a2c or reinforce.",
            )
        super().__init__(config, policy.spec)
        self.policy = policy
        named = list(policy.named_parameters())
        critic = [(name, weight) for name, weight in named if name.startswith("critics.")]
        actor = [(name, weight) for name, weight in named if not name.startswith("critics.")]
        self.critic_optimizer = Optimizer(config.optimizer, critic)
        self.actor_optimizer = Optimizer(config.optimizer, actor)
        self.target = Target(policy, self._followed())
        self.obtained = ObtainedReturns()

    @classmethod
    def make_policy(cls, spec: EnvSpec, net: NetConfig, rng: Draws) -> ContinuousPolicy:
        """The policy that it learns."""
        if spec.action.kind != "box" or not spec.action.bounded:
            what, instead = _OTHERS[spec.action.kind]
            raise ConfigError(
                f"{cls.__name__} serves action spaces that are a bounded Box, and {spec.id} has {what}.",
                where="algo.name",
                hint=instead,
            )
        return cls.policy_type(spec, net, rng)

    def _followed(self) -> list[Optimizer]:
        """The optimizers whose weights have a target network."""
        return [self.critic_optimizer]

    @property
    def optimizers(self) -> Mapping[str, Optimizer]:
        return {"critic": self.critic_optimizer, "actor": self.actor_optimizer}

    def parameter_groups(self, optimizer: str) -> tuple[str, ...]:
        group = {"critic": "value", "actor": "policy"}.get(optimizer)
        return () if group is None else (group,) * len(self.optimizers[optimizer].names)

    @property
    def parts(self) -> Mapping[str, Part]:
        return {"target": self.target, "replay": self.replay, "obtained": self.obtained}

    def start_from(self, arrays: dict[str, Array]) -> list[str]:
        misfits = super().start_from(arrays)
        self.target.follow(1.0)  # or the first targets would be those of random weights
        return misfits

    def prepare(self, progress: Progress) -> None:
        """Act at random until learning begins."""
        self.policy.explores_evenly = not self.begun

    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        if not self.policy.explores_evenly:
            self.obtained.add(rollout, self._extra(rollout), self._settings.gamma.at(progress))
        return super().update(rollout, progress, rng) | self.obtained.metrics()

    def _extra(self, rollout: Rollout) -> Array:
        """The earnings of each step [T, N] besides its reward."""
        return np.zeros_like(rollout.rewards)

    # --------------------------------------------------------------------------- gradient steps

    def learn(self, in_force: dict[str, float], rng: np.random.Generator) -> dict[str, Tensor]:
        """One gradient step of the critics, and those of the actor and the target where they are due."""
        config: Any = self._settings
        drawn = self._draw(in_force["hyper/gamma"], rng)
        measures = self._step_critics(drawn, in_force, rng)
        self.gradient_steps += 1
        if self.gradient_steps % config.policy_every == 0:
            measures |= self._step_actor(drawn, in_force, rng)
        if self.gradient_steps % config.target_every == 0:
            self.target.follow(config.tau)
        return measures

    def _draw(self, gamma: float, rng: np.random.Generator) -> Drawn:
        config, policy = self._settings, self.policy
        rows = self.replay.sample(config.batch_size, rng)
        steps = self.replay.take(rows, config.n_step, gamma)
        assert steps.next_obs is not None
        assert steps.discounts is not None
        arrays = policy.spec.action.to_unit(steps.actions), steps.rewards, steps.discounts
        actions, rewards, discounts = (torch.from_numpy(array).to(policy.device) for array in arrays)
        return Drawn(policy.tensors(steps.obs), actions, rewards, discounts, policy.tensors(steps.next_obs))

    def _noise(self, count: int, rng: np.random.Generator) -> Tensor:
        """Standard normal numbers [count, A]."""
        draws = rng.standard_normal((count, self.policy.spec.action.size), dtype=np.float32)
        return torch.from_numpy(draws).to(self.policy.device)

    def _step_critics(
        self, drawn: Drawn, in_force: dict[str, float], rng: np.random.Generator
    ) -> dict[str, Tensor]:
        targets = self.targets(drawn, in_force, rng)
        values = self.policy.critics(self.policy.features(drawn.obs), drawn.actions)
        loss = self.critic_loss(values, targets)
        norm = self.critic_optimizer.step(
            loss,
            learning_rate=in_force["hyper/learning_rate"],
            max_grad_norm=in_force["hyper/max_grad_norm"],
        )
        with torch.no_grad():
            mean = values if values.ndim == 2 else values.mean(dim=2)  # [N, B]
            goal = targets if targets.ndim == 1 else targets.mean(dim=1)
            return {  # detached: a loss that is kept keeps its whole graph
                "train/loss": loss.detach(),
                "train/q_mean": mean.mean(),
                "train/q_spread": (mean.amax(dim=0) - mean.amin(dim=0)).mean(),
                "train/td_error": (mean - goal).abs().mean(),
                "train/grad_norm": norm,
                "train/grad_clipped_share": was_clipped(norm, in_force),
            }

    def _step_actor(
        self, drawn: Drawn, in_force: dict[str, float], rng: np.random.Generator
    ) -> dict[str, Tensor]:
        features = self.policy.features(drawn.obs).detach()  # the encoder is the critics'
        loss, measures = self.actor_loss(features, in_force, rng)
        self.actor_optimizer.step(
            loss,
            learning_rate=in_force["hyper/learning_rate"],
            max_grad_norm=in_force["hyper/max_grad_norm"],
        )
        return measures | {"train/policy_loss": loss.detach()}

    def targets(self, drawn: Drawn, in_force: dict[str, float], rng: np.random.Generator) -> Tensor:
        """The values [B] that critics should give to the batch, or samples of their distribution [B, K]."""
        raise NotImplementedError

    def critic_loss(self, values: Tensor, targets: Tensor) -> Tensor:
        """The loss of values [N, B] against targets [B], summed over the critics."""
        config: Any = self._settings
        return value_loss(config, values, targets.expand_as(values)).mean(dim=1).sum()

    def actor_loss(
        self, features: Tensor, in_force: dict[str, float], rng: np.random.Generator
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """The loss of the actor in these states, and measures by metric name."""
        raise NotImplementedError
