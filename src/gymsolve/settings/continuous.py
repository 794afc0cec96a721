"""Settings of the algorithms for continuous actions that learn from a replay buffer: SAC, TD3 and TQC."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from gymsolve.settings.any_algorithm import OptimizerConfig, ReplayConfig
from gymsolve.settings.kinds import Positive, Rate, not_bool
from gymsolve.settings.schedules import Schedule, Steps


def _learned(value: Any) -> Any:
    """None for `auto`, the word that other libraries have for a learned number."""
    if isinstance(value, str) and value.startswith("auto_"):
        first = value.removeprefix("auto_")
        raise ValueError(f"a first weight has a setting of its own; use auto and algo.ent_coef_init={first}")
    return None if value == "auto" else value


class ContinuousConfig(ReplayConfig):
    """Settings of the algorithms that learn a policy for a box of actions from what critics say of it."""

    values_states: ClassVar[bool] = False
    learning_rate: Rate = Schedule.constant(3e-4)
    max_grad_norm: Rate = Schedule.constant(0.0)
    """Gradients longer than this are shortened; 0 turns clipping off."""
    optimizer: OptimizerConfig = OptimizerConfig(eps=1e-8)
    buffer_size: Annotated[Steps, Field(gt=0, le=100_000_000)] = 1_000_000
    learning_starts: Annotated[Steps, Field(ge=0)] = 1_000
    """Steps, of all copies together, that an empty buffer is given before the first gradient step. Their
    actions are drawn evenly from the whole range."""
    batch_size: Positive = 256
    policy_every: Positive = 1
    """Gradient steps of the critics for each one of the policy."""


class EntropyConfig(ContinuousConfig):
    """Settings of the algorithms that learn to earn much and to stay as random as possible."""

    ent_coef: Annotated[Rate | None, BeforeValidator(_learned)] = None
    """Weight of the entropy (the temperature); null or `auto` learns it by target_entropy."""
    ent_coef_init: Annotated[float, BeforeValidator(not_bool), Field(gt=0)] = 1.0
    """First weight where it is learned."""
    target_entropy: Annotated[float | None, BeforeValidator(_learned), BeforeValidator(not_bool)] = None
    """The entropy, in nats of actions between -1 and 1, to which a learned weight brings the policy; null or
    `auto` takes -1 per dimension."""


class SACConfig(EntropyConfig):
    """Soft actor-critic: a random policy of learned spread, and the lower of two critics."""

    name: str = "sac"
    value_loss: Literal["mse", "huber"] = "mse"
    """Squared, or Huber: squared near zero and linear beyond huber_delta."""


class TQCConfig(EntropyConfig):
    """Truncated quantile critics: SAC whose critics predict distributions, of which the top is left out."""

    name: str = "tqc"
    huber_delta: Annotated[float, Field(gt=0)] = 1.0
    """Error above which the quantile Huber loss is linear."""
    drop_quantiles: Annotated[int, BeforeValidator(not_bool), Field(ge=0)] = 2
    """Largest quantiles, of each critic, that targets leave out; more lowers the values."""


class TD3Config(ContinuousConfig):
    """Twin delayed DDPG: one action per state, noise to explore, and the lower of two critics."""

    name: str = "td3"
    learning_rate: Rate = Schedule.constant(1e-3)
    exploration_noise: Rate = Schedule.constant(0.1)
    """Standard deviation of the noise on the actions of training, in halves of the action range."""
    policy_noise: Rate = Schedule.constant(0.2)
    """Standard deviation of the noise on the actions of targets, which smooths the values."""
    noise_clip: Rate = Schedule.constant(0.5)
    """The most that this noise moves an action."""
    policy_every: Positive = 2
    target_every: Positive = 2
    value_loss: Literal["mse", "huber"] = "mse"
    """Squared, or Huber: squared near zero and linear beyond huber_delta."""
