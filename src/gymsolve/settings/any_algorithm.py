"""Settings that all algorithms have, those of the optimizer, and those of learning from a replay buffer."""

import math
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, field_validator

from gymsolve.settings.kinds import Model, Positive, Rate, Share, not_bool
from gymsolve.settings.schedules import Progress, Schedule, Steps
from gymsolve.spec import EnvSpec

_BYTES = {"uint8": 1, "int8": 1, "bool": 1, "int16": 2, "uint16": 2, "int64": 8, "uint64": 8, "float64": 8}
_PER_FRAME = 232
"""Bytes that a compressed frame takes besides its content."""
_Decay = Annotated[float, Field(ge=0, lt=1)]
Factor = Annotated[float, BeforeValidator(not_bool), Field(gt=0, le=1)]
"""A share above 0."""


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
    values_states: ClassVar[bool] = True
    """True if a policy and values of states are learned; False if values of actions are."""
    values_actions: ClassVar[bool] = False
    """True if values of actions are all that it learns: it takes the best action, or a random one."""

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


class ReplayConfig(AlgorithmSettings):
    """Settings of the algorithms that learn from a replay buffer, towards target networks that follow."""

    num_steps: Positive = 4
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
    target_every: Positive = 1
    """Gradient steps between two updates of the target network."""
    tau: Factor = 0.005
    """How far each such update moves the target network: 1 copies the weights; 0.005 is slow."""
    huber_delta: Annotated[float, Field(gt=0)] = 1.0
    """Error above which the Huber loss is linear."""

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
