"""Settings of the algorithms and of their optimizer: the section `algo`."""

import math
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, field_validator

from gymsolve.settings.kinds import Count, Model, Positive, Rate, Share, not_bool
from gymsolve.settings.schedules import Progress, Schedule, Steps
from gymsolve.spec import EnvSpec

_BYTES = {"uint8": 1, "int8": 1, "bool": 1, "int16": 2, "uint16": 2, "int64": 8, "uint64": 8, "float64": 8}
_PER_FRAME = 232
"""Bytes that a compressed frame takes besides its content."""
_Decay = Annotated[float, Field(ge=0, lt=1)]


class OptimizerConfig(Model):
    """The optimizer; its learning rate is the algorithm's."""

    name: Literal["adam", "adamw", "rmsprop", "sgd"] = "adam"
    """Which optimizer."""
    eps: Annotated[float, Field(gt=0)] = 1e-5
    """Keeps steps finite where gradients vanish; larger damps them."""
    betas: tuple[_Decay, _Decay] = (0.9, 0.999)
    """For adam and adamw."""
    alpha: _Decay = 0.99
    """Smoothing of rmsprop."""
    momentum: _Decay = 0.0
    """For sgd and rmsprop."""
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    """Pulls weights towards zero."""


class AlgorithmSettings(Model):
    """Settings that every algorithm has, and the properties by which other code tells algorithms apart.

    An algorithm of the user's own derives its settings from this class, or from those of a built-in one.
    """

    name: str
    """The algorithm."""
    num_steps: Positive = 128
    """Steps per environment in one rollout; more lowers the variance. `auto` goes by how rare rewards are."""
    learning_rate: Rate = Schedule.constant(3e-4)
    """Size of gradient steps; too high makes the KL jump."""
    gamma: Share = Schedule.constant(0.99)
    """Discount; higher looks further ahead."""
    max_grad_norm: Rate = Schedule.constant(0.5)
    """Gradients longer than this are shortened; 0 turns clipping off."""
    optimizer: OptimizerConfig = OptimizerConfig()

    whole_episodes: ClassVar[bool] = False
    """True if the policy learns from a step only once its episode has ended."""
    values_actions: ClassVar[bool] = False
    """True if it learns values of actions, and no policy beside values of states."""

    @field_validator("name")
    @classmethod
    def _names_this_class(cls, name: str) -> str:
        built_in = cls.model_fields["name"].default
        if ":" not in name and name != built_in:
            raise ValueError(f"{cls.__name__} holds the settings of {built_in}, not of {name!r}")
        return name

    @property
    def scales_rewards(self) -> bool:
        """True if rewards are divided by a running spread before the policy learns from them."""
        return False

    @property
    def has_critic(self) -> bool:
        """True if a value function is learned."""
        return True

    @property
    def minibatches(self) -> int:
        """Gradient steps per pass over a rollout."""
        return 1

    def passes(self, progress: Progress) -> int:
        """Passes over each rollout."""
        return 1

    @property
    def clipping(self) -> Schedule | None:
        """Limit of the change of the probability ratio; None where there is none."""
        return None

    def memory_bytes(self, spec: EnvSpec, num_envs: int, frame_stack: int = 1) -> int:
        """Upper bound of the memory beside networks and rollouts, such as a replay buffer."""
        return 0

    def excerpt(self, progress: Progress, *, most_passes: int, one_minibatch: bool) -> tuple[Self, float]:
        """Settings of a smaller update that is quick to time, and how many of those make a whole one."""
        return self, 1.0


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


class DQNConfig(_ActionValueConfig):
    """Deep Q-learning: action values from a replay buffer, towards a target network that follows slowly."""

    name: str = "dqn"
    num_steps: Positive = 4
    learning_rate: Rate = Schedule.constant(5e-4)
    buffer_size: Annotated[Steps, Field(gt=0, le=100_000_000)] = 100_000
    """Newest steps, of all copies together, that are learned from."""
    learning_starts: Annotated[Steps, Field(ge=0)] = 1_000
    """Steps, of all copies together, that an empty buffer is given before the first gradient step."""
    batch_size: Positive = 128
    """Steps that one gradient is computed from."""
    gradient_steps: Annotated[float, BeforeValidator(not_bool), Field(gt=0, le=10_000)] = 1.0
    """Gradient steps per call of `step`; 0.25 makes one in four calls."""
    n_step: Annotated[Positive, Field(le=1_000)] = 1
    """Rewards that are summed before the target network values the rest; more learns sooner, less exactly."""
    double: bool = True
    """The learning network chooses the action that the target network values (double Q-learning)."""
    target_every: Positive = 500
    """Gradient steps between two updates of the target network."""
    tau: Annotated[float, BeforeValidator(not_bool), Field(gt=0, le=1)] = 1.0
    """How far each such update moves the target network: 1 copies the weights; 0.005 is slow."""
    value_loss: Literal["mse", "huber"] = "huber"
    """Squared, or Huber: squared near zero and linear beyond huber_delta."""

    def memory_bytes(self, spec: EnvSpec, num_envs: int, frame_stack: int = 1) -> int:
        """Bytes of the replay buffer, if frames do not compress and episodes last eight steps."""
        row = 16 + 4 * spec.action.size + (spec.action.mask_size if spec.masked else 0)
        seen = 0
        for entry in spec.obs.values():
            width = math.prod(entry.shape) * _BYTES.get(entry.dtype, 4)
            seen += width // frame_stack + _PER_FRAME if entry.kind == "image" else width
        return self.buffer_size * (row + seen + seen // 8)

    def excerpt(self, progress: Progress, *, most_passes: int, one_minibatch: bool) -> tuple[Self, float]:
        return self.model_copy(update={"learning_starts": 0}), 1.0
