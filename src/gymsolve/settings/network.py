"""Settings of the networks: the section `net`."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from gymsolve.settings.kinds import Model, Positive, listed
from gymsolve.settings.own_parts import PartConfig

QUANTILES = 25
"""Quantiles of a critic of TQC, unless `net.quantiles` says otherwise."""


class MemoryConfig(Model):
    """A recurrent cell between the encoder of observations and the fully connected layers."""

    cell: Literal["lstm", "gru"] = "lstm"
    """Which cell; on a CPU, torch computes a small LSTM up to four times as fast as a GRU."""
    size: Annotated[Positive, Field(le=4096)] = 64
    """Numbers in the state of the cell; policy and value have a cell each unless net.shared."""
    sequence: Positive | None = None
    """Steps through which a gradient flows back; None takes 32, or whole rollouts where those are shorter."""
    inputs: Annotated[tuple[Literal["action", "reward"], ...], BeforeValidator(listed)] = ()
    """Inputs of the cell besides the observation: the action and the reward of the last step."""
    keep: Annotated[float, Field(ge=-10, le=10)] = 0.0
    """First bias of the gate that keeps the state: at 0 half of it is lost per step, at 1 a quarter."""

    def longest(self, num_steps: int) -> int:
        """Steps of the longest sequence that is cut from a rollout of `num_steps`."""
        return min(32, num_steps) if self.sequence is None else self.sequence


class TaskNetConfig(Model):
    """How the networks serve several tasks (`env.tasks`); without tasks these settings have no effect."""

    input: bool = True
    """The number of the task is an input of the policy, as a category; false hides it."""
    heads: Literal["shared", "each"] = "shared"
    """The policy's last layer: one for all tasks, or one for each."""
    values: Literal["shared", "each"] = "each"
    """The value function's last layer likewise; with one for each, `normalize_values` has units for each."""


class CriticNetConfig(Model):
    """The critics of SAC, TD3 and TQC, which value an observation together with an action."""

    count: Annotated[Positive, Field(le=64)] = 2
    """How many; all are computed in one pass. SAC and TD3 believe the lowest."""
    hidden: tuple[Annotated[Positive, Field(le=16_384)], ...] | None = None
    """Sizes of their fully connected layers; null takes `net.hidden`."""
    layer_norm: bool | None = None
    """Normalise each layer before its activation, which keeps values from growing; null takes
    `net.layer_norm`."""


class NetConfig(Model):
    """The networks of policy and value function."""

    hidden: tuple[Annotated[Positive, Field(le=16_384)], ...] = (64, 64)
    """Sizes of the fully connected layers, after any convolutions."""
    activation: Literal["tanh", "relu", "elu", "gelu", "silu", "leaky_relu"] = "tanh"
    """Between the fully connected layers; convolutions always use relu."""
    encoder: PartConfig | None = None
    """A torch module of your own between observation and fully connected layers, as `my_module:Class`; None
    takes the built-in one."""
    cnn: Literal["nature", "small", "impala", "mario"] = "nature"
    """Convolutions for image observations; `mario` is the small stack of the super-mario-agent project."""
    shared: bool | None = None
    """One trunk for policy and value; None shares it only for images."""
    layer_norm: bool = False
    """Normalise each layer of features before its activation."""
    batch_norm: bool = False
    """Statistics are refreshed between rollouts, never within an update."""
    dropout: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """Active in gradient passes only."""
    discrete_obs: Literal["onehot", "embedding"] = "onehot"
    """How categories enter the network."""
    embedding_size: Annotated[Positive, Field(le=16_384)] = 16
    """Numbers per category, for embedding."""
    normalize_obs: Literal["none", "running", "bounds"] = "none"
    """Scale vector observations by running statistics, or to [-1, 1] from the space's bounds."""
    normalize_values: Literal["none", "running", "popart"] = "none"
    """Learn values in units of the returns' spread; popart keeps outputs unchanged as units move."""
    log_std_init: float = 0.0
    """Initial log standard deviation of box actions, in units of half the action range."""
    squash: bool = False
    """Bound box actions with tanh instead of clipping."""
    policy_gain: Annotated[float, Field(ge=0)] = 0.01
    """Scale of the policy's last layer at the start; near 0 makes the first policy uniform, or the first
    action values 0."""
    duelling: bool = False
    """Predict action values as the value of the state plus the advantage of each action (DQN, PQN)."""
    quantiles: Annotated[Positive, Field(le=1_000)] | None = None
    """Numbers by which the distribution of each action's value is predicted (TQC); null takes 25."""
    critics: CriticNetConfig = CriticNetConfig()
    memory: MemoryConfig | None = None
    """A recurrent cell, for tasks in which one observation does not show the whole state; None has none."""
    tasks: TaskNetConfig = TaskNetConfig()
