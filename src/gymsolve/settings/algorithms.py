"""Settings of the algorithms: the section `algo`."""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field

from gymsolve.settings.any_algorithm import AlgorithmSettings, Factor, OptimizerConfig, ReplayConfig
from gymsolve.settings.kinds import Count, Positive, Rate, Share
from gymsolve.settings.schedules import Progress, Schedule


class PolicyGradientSettings(AlgorithmSettings):
    """Settings of the algorithms that learn a policy and, most of them, a value function."""

    ent_coef: Rate = Schedule.constant(0.0)
    """Weight of the entropy bonus; higher explores more."""
    normalize_rewards: bool = False
    """Divide rewards by the running spread of discounted returns (training only, saved)."""
    value_loss: Literal["mse", "huber"] = "mse"
    """Squared, or Huber: squared near zero and linear beyond huber_delta."""
    huber_delta: Annotated[float, Field(gt=0)] = 1.0
    """Error above which the Huber loss is linear."""

    @property
    def scales_rewards(self) -> bool:
        return self.normalize_rewards


def _cut_passes(
    num_steps: int, num_minibatches: int, passes: int, most_passes: int, one_minibatch: bool
) -> tuple[dict[str, Any], float]:
    """Settings of an update with fewer passes, maybe over one minibatch, and how many make a whole one."""
    parts, few = num_minibatches if one_minibatch else 1, min(passes, most_passes)
    steps = max(1, num_steps // parts)
    small = {"num_steps": steps, "num_minibatches": num_minibatches // parts}
    return {**small, "num_epochs": Schedule.constant(few)}, (passes / few) * (num_steps / steps)


class PPOConfig(PolicyGradientSettings):
    """Proximal policy optimisation with a clipped objective."""

    name: str = "ppo"
    num_steps: Positive = 128
    learning_rate: Rate = Schedule.constant(3e-4)
    gae_lambda: Share = Schedule.constant(0.95)
    """Bias–variance dial of the advantages; 1 is Monte Carlo."""
    num_epochs: Count = Schedule.constant(4)
    """Passes over each rollout."""
    num_minibatches: Positive = 4
    """Gradient steps per pass."""
    clip_coef: Rate = Schedule.constant(0.2)
    """How far the probability ratio may move before its gradient vanishes."""
    clip_value: Rate | None = None
    """Clip the change of the value prediction too; off by default, it rarely helps."""
    vf_coef: Rate = Schedule.constant(0.5)
    """Weight of the value loss."""
    normalize_advantages: Literal["none", "minibatch", "rollout", "task"] = "minibatch"
    """Bring advantages to mean 0 and spread 1, per minibatch, per rollout, or per rollout and task."""
    target_kl: Rate | None = None
    """End the current update once the policy has moved this far (approximate KL)."""
    desired_kl: Annotated[float, Field(gt=0)] | None = None
    """Raise or lower the learning rate after each update to keep the KL near this."""

    @property
    def minibatches(self) -> int:
        return self.num_minibatches

    def passes(self, progress: Progress) -> int:
        return max(1, round(self.num_epochs.at(progress)))

    @property
    def clipping(self) -> Schedule | None:
        return self.clip_coef

    def excerpt(self, progress: Progress, *, most_passes: int, one_minibatch: bool) -> tuple[Self, float]:
        passes = self.passes(progress)
        small, factor = _cut_passes(self.num_steps, self.num_minibatches, passes, most_passes, one_minibatch)
        # Without target_kl: the same rollout again and again would soon reach it.
        return self.model_copy(update=small | {"target_kl": None}), factor


class A2CConfig(PolicyGradientSettings):
    """Advantage actor-critic: one gradient step per short rollout."""

    name: str = "a2c"
    num_steps: Positive = 5
    learning_rate: Rate = Schedule.constant(7e-4)
    gae_lambda: Share = Schedule.constant(1.0)
    """Bias–variance dial of the advantages; 1 is the n-step return."""
    vf_coef: Rate = Schedule.constant(0.5)
    """Weight of the value loss."""
    normalize_advantages: Literal["none", "rollout", "task"] = "none"
    """Bring advantages to mean 0 and spread 1, all of them or those of each task."""
    optimizer: OptimizerConfig = OptimizerConfig(name="rmsprop")


class ReinforceConfig(PolicyGradientSettings):
    """Monte Carlo policy gradient on finished episodes."""

    whole_episodes: ClassVar[bool] = True
    name: str = "reinforce"
    num_steps: Positive = 512
    learning_rate: Rate = Schedule.constant(1e-3)
    returns: Literal["reward_to_go", "episode"] = "reward_to_go"
    """Credit each action with the rewards after it, or with those of the whole episode."""
    baseline: Literal["none", "mean", "value"] = "value"
    """Subtracted from returns: nothing, their running mean, or a learned value function."""
    normalize_advantages: Literal["none", "rollout", "task"] = "rollout"
    """Bring advantages to mean 0 and spread 1, all of them or those of each task."""
    vf_coef: Rate = Schedule.constant(0.5)
    """Weight of the value loss."""
    value_epochs: Positive = 10
    """Gradient steps of the value function per rollout."""

    @property
    def has_critic(self) -> bool:
        return self.baseline == "value"


class _ActionValueConfig(AlgorithmSettings):
    """Settings of the algorithms that learn values of actions, and take the best action or a random one."""

    values_states: ClassVar[bool] = False
    values_actions: ClassVar[bool] = True
    epsilon: Share = Schedule(start=1.0, end=0.05, until=0.5)
    """Share of random actions, by which the policy explores."""
    max_grad_norm: Rate = Schedule.constant(10.0)
    """Gradients longer than this are shortened; 0 turns clipping off."""
    huber_delta: Annotated[float, Field(gt=0)] = 1.0
    """Error above which the Huber loss is linear."""


class PQNConfig(_ActionValueConfig):
    """Parallelised Q-learning: action values from fresh rollouts, without replay or target network."""

    name: str = "pqn"
    num_steps: Positive = 32
    learning_rate: Rate = Schedule.constant(5e-4)
    q_lambda: Share = Schedule.constant(0.65)
    """Bias–variance dial of the targets; 0 looks one step ahead, 1 to the end of the rollout."""
    num_epochs: Count = Schedule.constant(2)
    """Passes over each rollout."""
    num_minibatches: Positive = 8
    """Gradient steps per pass."""
    value_loss: Literal["mse", "huber"] = "mse"
    """Squared, or Huber: squared near zero and linear beyond huber_delta."""

    @property
    def minibatches(self) -> int:
        return self.num_minibatches

    def passes(self, progress: Progress) -> int:
        return max(1, round(self.num_epochs.at(progress)))

    def excerpt(self, progress: Progress, *, most_passes: int, one_minibatch: bool) -> tuple[Self, float]:
        passes = self.passes(progress)
        small, factor = _cut_passes(self.num_steps, self.num_minibatches, passes, most_passes, one_minibatch)
        return self.model_copy(update=small), factor


class DQNConfig(_ActionValueConfig, ReplayConfig):
    """Deep Q-learning: action values from a replay buffer, towards a target network that follows slowly."""

    name: str = "dqn"
    num_steps: Positive = 4
    learning_rate: Rate = Schedule.constant(5e-4)
    double: bool = True
    """The learning network chooses the action that the target network values (double Q-learning)."""
    target_every: Positive = 500
    tau: Factor = 1.0
    value_loss: Literal["mse", "huber"] = "huber"
    """Squared, or Huber: squared near zero and linear beyond huber_delta."""

    def excerpt(self, progress: Progress, *, most_passes: int, one_minibatch: bool) -> tuple[Self, float]:
        return self.model_copy(update={"learning_starts": 0}), 1.0
