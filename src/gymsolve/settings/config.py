"""The settings of a run, as frozen models: what `--set` addresses and `config.json` holds.

Each field says in one line what it is or what turning it up does. Unknown keys are refused. Loading,
merging and error wording live in `recipes/`; this module only says what is valid. The sections `algo`,
`env.tasks`, `explore` and `curriculum` are spelled out beside it (`algorithms.py`, `tasks.py`, …).
"""

import math
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from gymsolve.settings.algorithms import A2CConfig as A2CConfig
from gymsolve.settings.algorithms import AlgoConfig
from gymsolve.settings.algorithms import AnyAlgo as AnyAlgo
from gymsolve.settings.algorithms import DQNConfig as DQNConfig
from gymsolve.settings.algorithms import OptimizerConfig as OptimizerConfig
from gymsolve.settings.algorithms import PPOConfig as PPOConfig
from gymsolve.settings.algorithms import PQNConfig as PQNConfig
from gymsolve.settings.algorithms import ReinforceConfig as ReinforceConfig
from gymsolve.settings.curriculum import CurriculumConfig
from gymsolve.settings.exploration import ExploreConfig
from gymsolve.settings.imitation import ImitateConfig
from gymsolve.settings.kinds import BackendName, Model, Options, Positive, Seconds, Whole
from gymsolve.settings.kinds import listed as _listed
from gymsolve.settings.kinds import not_bool as _not_bool
from gymsolve.settings.schedules import Steps
from gymsolve.settings.tasks import Role as Role
from gymsolve.settings.tasks import TaskNetConfig, Tasks, refuse_tasks, spread_copies
from gymsolve.settings.tasks import WrapperConfig as WrapperConfig

__all__ = [
    "INCIDENTAL",
    "JUDGED",
    "LASTING",
    "PLAYED",
    "A2CConfig",
    "AlgoConfig",
    "AnyAlgo",
    "CheckpointConfig",
    "DQNConfig",
    "EnvConfig",
    "EvalConfig",
    "MemoryConfig",
    "NetConfig",
    "OptimizerConfig",
    "PPOConfig",
    "PQNConfig",
    "ReinforceConfig",
    "Role",
    "TrainConfig",
    "VideoConfig",
    "WrapperConfig",
]

Tracker = Literal["csv", "tensorboard", "wandb", "trackio"]

LASTING = (
    "algo.name",
    "env.id",
    "env.tasks",
    "net.",
    "seed",
    "curriculum.stages",
    "curriculum.choice",
)
"""Beginnings of paths that make a run what it is: weights and state of another value do not fit."""
PLAYED = ("env.kwargs", "env.wrappers", "env.max_episode_steps", "env.frame_stack", "env.legal_actions")
"""Beginnings of paths that make other episodes of the same environment."""
JUDGED = (
    "solved_at",
    "solved_by",
    "eval.deterministic",
    "eval.episodes",
    "eval.steps",
    "eval.solved_episodes",
    *PLAYED,
)
"""Beginnings of paths under which an old verdict no longer says anything."""
INCIDENTAL = (
    "description",
    "track",
    "video.",
    "checkpoint.",
    "threads",
    "engine",
    "device",
    "env.lean",
    "env.workers",
    "env.step_timeout",
    "env.reset_timeout",
    "env.build_timeout",
    "grace_seconds",
    "eval.asynchronous",
    "eval.num_envs",
)
"""Beginnings of paths that change no result beyond rounding: not what is learned, nor how it is judged."""


class EnvConfig(Model):
    """Which environment, how many copies, and what lies between it and the policy."""

    id: str
    """The Gymnasium id; `module:Id` imports `module` first."""
    kwargs: Options = {}  # noqa: RUF012 - pydantic copies it
    """Passed to the environment's constructor."""
    num_envs: Annotated[Positive, Field(le=65_536)] = 8
    """Copies stepped in parallel; more gives larger rollouts. `auto` measures, and keeps their size."""
    backend: BackendName = "auto"
    """What steps the copies: this process (`sync`), worker processes (`async`), compiled rules (classic
    control), ALE's vector class (Atari), EnvPool (training only), or a backend of another package
    (`package/name`). `auto` takes the quickest one; EnvPool only serves on request."""
    workers: Positive | None = None
    """Processes of the async backend; None takes one per core."""
    step_timeout: Seconds | None = 300.0
    """Seconds that one `step` of a Python environment may take before it counts as hanging; None waits."""
    reset_timeout: Seconds | None = 600.0
    """The same for one `reset`."""
    build_timeout: Seconds | None = 600.0
    """The same for building one copy."""
    lean: bool = True
    """Take quicker code with the same results, bit for bit, where there is some (LunarLander, classic
    control)."""
    wrappers: tuple[WrapperConfig, ...] = ()
    """Applied in order, the first one nearest to the environment."""
    max_episode_steps: Positive | None = None
    """Time limit in environment steps before frame skipping; None keeps the registered one."""
    frame_stack: Positive = 1
    """Observations of the last k steps are joined (channels of images, elements of vectors)."""
    action_masks: Literal["auto", "on", "off"] = "auto"
    """Take `info["action_mask"]`: when it is there, always (its absence is an error), or never."""
    legal_actions: Annotated[tuple[Whole, ...], Field(min_length=1)] | None = None
    """Only these choices of a Discrete action are ever legal; None allows all."""
    tasks: Tasks = {}  # noqa: RUF012 - pydantic copies it
    """Several tasks that one policy learns at once, by name: what each has instead of, or besides, the
    settings here. `[CartPole-v1, Acrobot-v1]` is short for two ids. Empty: one task."""

    def for_task(self, name: str) -> "EnvConfig":
        """The settings of one task's environments."""
        return self.model_copy(update={**self.tasks[name].settings(self.kwargs), "tasks": {}})

    @property
    def copies(self) -> dict[str, int]:
        """How many copies each task has at the start."""
        return spread_copies({name: task.share for name, task in self.tasks.items()}, self.num_envs)


class MemoryConfig(Model):
    """A recurrent cell between what encodes an observation and the fully connected layers."""

    cell: Literal["lstm", "gru"] = "lstm"
    """Which cell; on a CPU, torch computes a small LSTM up to four times as fast as a GRU."""
    size: Annotated[Positive, Field(le=4096)] = 64
    """Numbers that the cell remembers and hands on; policy and value have a cell each unless net.shared."""
    sequence: Positive | None = None
    """Steps through which a gradient flows back; None takes 32, or whole rollouts where those are shorter."""
    inputs: Annotated[tuple[Literal["action", "reward"], ...], BeforeValidator(_listed)] = ()
    """What the cell is told of the last step besides the observation."""
    keep: Annotated[float, Field(ge=-10, le=10)] = 0.0
    """First bias of the gate that keeps: at 0 half of what is remembered is lost per step, at 1 a quarter."""

    def longest(self, num_steps: int) -> int:
        """Steps of the longest sequence that is cut from a rollout of `num_steps`."""
        return min(32, num_steps) if self.sequence is None else self.sequence


class NetConfig(Model):
    """The networks of policy and value function."""

    hidden: tuple[Annotated[Positive, Field(le=16_384)], ...] = (64, 64)
    """Sizes of the fully connected layers, after any convolutions."""
    activation: Literal["tanh", "relu", "elu", "gelu", "silu", "leaky_relu"] = "tanh"
    """Between the fully connected layers; convolutions always use relu."""
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
    """Predict action values as the value of the state plus what each action adds to it (DQN, PQN)."""
    memory: MemoryConfig | None = None
    """A recurrent cell, for tasks that a single observation does not tell all about; None has none."""
    tasks: TaskNetConfig = TaskNetConfig()


class EvalConfig(Model):
    """How the policy is judged: raw returns of whole episodes, on seeds of their own."""

    every: Annotated[Steps, Field(ge=0)] = 0
    """Environment steps between evaluations; 0 means a twentieth of the budget, or more where episodes are
    long: evaluation then plays at most a quarter as many steps as training."""
    episodes: Positive = 20
    """Episodes of a routine evaluation, on the same seeds each time."""
    steps: Annotated[Steps, Field(gt=0)] | None = None
    """Instead of `episodes`: whole episodes of this many steps together, and a quarter or an episode more."""
    warmup: Annotated[Steps, Field(ge=0)] = 0
    """No evaluation before this many steps."""
    start_fraction: Annotated[float, Field(gt=0, le=1)] | None = None
    """No evaluation before the training return reaches this fraction of the threshold."""
    deterministic: bool = True
    """Take the likeliest action instead of sampling."""
    solved_episodes: Annotated[Whole, Field(ge=100)] = 100
    """Episodes behind the word solved, and again behind its confirmation on fresh seeds."""
    stop_when_solved: bool = True
    """End the run once solved is confirmed."""
    num_envs: Annotated[Positive, Field(le=65_536)] | None = None
    """Copies used for evaluation; None uses up to 32."""
    max_steps: Annotated[Steps, Field(gt=0)] = 2_000_000
    """Hard cap on the environment steps of one evaluation."""
    max_seconds: Annotated[float, Field(gt=0)] = 600.0
    """Hard cap on the seconds of one evaluation."""
    asynchronous: bool = False
    """Evaluate in another process while training goes on."""


class CheckpointConfig(Model):
    """When the whole state of a run is saved."""

    every: Annotated[Steps, Field(ge=0)] = 0
    """Environment steps between checkpoints; 0 means a tenth of the budget."""
    keep: Positive | None = 5
    """At most this many stay: the two newest, others spread over the run; best, last and the last before an
    alert always stay."""


class VideoConfig(Model):
    """What a run films, where its environment can be drawn."""

    enabled: bool = True
    """Leave an mp4 of the best and of the final policy when training has ended by itself."""
    episodes: Positive = 1
    """Episodes per video, at least; short ones are followed by others until it lasts five seconds."""
    max_seconds: Annotated[float, Field(gt=0)] = 20.0
    """Length at which a video ends, be it within an episode."""
    every: Annotated[Steps, Field(ge=0)] = 0
    """Environment steps between further videos, made from checkpoints by another process; 0 makes none."""


class TrainConfig(Model):
    """Everything that decides a run."""

    description: str = ""
    """One line that lists show."""
    env: EnvConfig
    algo: AlgoConfig
    net: NetConfig = NetConfig()
    eval: EvalConfig = EvalConfig()
    checkpoint: CheckpointConfig = CheckpointConfig()
    video: VideoConfig = VideoConfig()
    explore: ExploreConfig = ExploreConfig()
    curriculum: CurriculumConfig = CurriculumConfig()
    imitate: ImitateConfig | None = None
    """Learn from recorded episodes; null for none."""
    steps: Annotated[Steps, Field(gt=0)] = 1_000_000
    """Budget in environment steps, all copies summed, unless `budget_in` says otherwise."""
    budget_in: Literal["env_steps", "vec_steps"] = "env_steps"
    """What `steps`, cadences, schedules, progress and the axes of charts count: steps of all copies summed,
    or calls of `step`, by which runs with different numbers of copies compare."""
    solved_at: Annotated[float, BeforeValidator(_not_bool)] | None = None
    """Mean raw evaluation return that counts as solved; None takes the environment's own threshold."""
    solved_by: Literal["return", "success_rate"] = "return"
    """What solved_at is about: the return, or the share of episodes that end with info["is_success"]."""
    max_seconds: Annotated[float, Field(gt=0)] | None = None
    """Stop after this many seconds of training."""
    grace_seconds: Annotated[float, Field(gt=0)] = 120.0
    """After a request to stop: end without waiting once nothing has moved for this many seconds."""
    seed: Annotated[Whole, Field(ge=0)] = 0
    """Same seed, same run."""
    engine: Literal["auto", "numpy", "torch"] = "auto"
    """Auto takes NumPy and its compiled kernels for small networks of fully connected layers, else torch."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where torch computes; auto takes a GPU for images only, small networks are faster without."""
    threads: Annotated[Whole, Field(ge=0)] = 0
    """Threads of the numerical libraries; 0 is 1, or all cores if large images gain; `auto` measures."""
    track: Annotated[tuple[Tracker, ...], BeforeValidator(_listed)] = ()
    """Where metrics go besides the run's folder; several as a list or as `csv,wandb`."""

    @model_validator(mode="after")
    def _minibatches_fit(self) -> Self:
        batch = self.env.num_envs * self.algo.num_steps
        if self.algo.minibatches > batch:
            raise ValueError(
                f"algo.num_minibatches: {self.algo.minibatches} minibatches cannot be cut from a rollout "
                f"of {batch} steps (env.num_envs {self.env.num_envs} × algo.num_steps {self.algo.num_steps})"
            )
        return self

    @model_validator(mode="after")
    def _memory_fits(self) -> Self:
        memory, steps = self.net.memory, self.algo.num_steps
        if memory is None:
            return self
        longest = memory.longest(steps)
        if longest > steps:
            raise ValueError(
                f"net.memory.sequence: sequences of {longest} steps cannot be cut from rollouts of {steps} "
                f"(algo.num_steps)"
            )
        fewest = self.most_minibatches
        if self.algo.minibatches > fewest:
            raise ValueError(
                f"algo.num_minibatches: with memory, minibatches are made of whole sequences, and a rollout "
                f"may have only {fewest} of {longest} steps; use {fewest} or fewer, or a shorter "
                f"net.memory.sequence"
            )
        if self.net.batch_norm:
            raise ValueError(
                "net.batch_norm: a network with net.memory has no batch norm, since its statistics "
                "would depend on what was remembered when; use net.layer_norm"
            )
        return self

    @model_validator(mode="after")
    def _tasks_can_be_learned(self) -> Self:
        names, copies = self.env.tasks, self.env.num_envs
        if names:
            refuse_tasks(self.algo, self.net.tasks, self.engine)
        if copies < self.fewest_envs:
            raise ValueError(
                f"env.tasks: {len(names)} tasks ({', '.join(names)}) need a copy each, and there are "
                f"{copies}; raise env.num_envs"
            )
        return self

    @model_validator(mode="after")
    def _curriculum_fits(self) -> Self:
        fault = self.curriculum.find_fault(self.env.tasks, self.solved_by, self.steps)
        if fault is not None:
            raise ValueError(f"curriculum.{fault}")
        if self.curriculum.stages and self.eval.start_fraction is not None:
            raise ValueError(
                "eval.start_fraction: returns of a curriculum are those of whichever stages are played, and "
                "say nothing about the threshold; leave it out"
            )
        return self

    @model_validator(mode="after")
    def _action_values_fit(self) -> Self:
        name, net = self.algo.name, self.net
        if not self.algo.values_actions:
            if net.duelling:
                raise ValueError(f"net.duelling: {name} learns no action values; use algo.name=dqn or pqn")
            return self
        faults = {
            f"net.memory: {name} has no memory": net.memory is not None,
            f"net.normalize_values: {name} learns values in units of reward": net.normalize_values != "none",
            f"env.tasks: {name} learns one task": bool(self.env.tasks),
            f"explore.bonus: {name} learns from the task's rewards alone": self.explore.bonus != "none",
            f"explore.archive: {name} begins every episode at a reset": self.explore.archive is not None,
            f"imitate: {name} learns from its own steps alone": self.imitate is not None,
        }
        for fault in (fault for fault, present in faults.items() if present):
            raise ValueError(f"{fault}; leave it out, or use algo.name=ppo")
        return self

    @model_validator(mode="after")
    def _buffer_holds_a_rollout(self) -> Self:
        algo, batch = self.algo, self.env.num_envs * self.algo.num_steps
        if isinstance(algo, DQNConfig) and algo.buffer_size < batch:
            raise ValueError(
                f"algo.buffer_size: a rollout of {batch} steps (env.num_envs {self.env.num_envs} × "
                f"algo.num_steps {algo.num_steps}) does not fit into {algo.buffer_size}; use {batch} or more"
            )
        return self

    @model_validator(mode="after")
    def _success_has_a_threshold(self) -> Self:
        if self.solved_by == "success_rate" and not (self.solved_at is not None and 0 < self.solved_at <= 1):
            raise ValueError(
                "solved_at: with solved_by success_rate, give the share of successes that counts as solved, "
                "above 0 and up to 1"
            )
        return self

    @property
    def most_minibatches(self) -> int:
        """Minibatches that every rollout can be cut into: of steps, or with memory of whole sequences."""
        steps, memory = self.algo.num_steps, self.net.memory
        pieces = steps if memory is None else math.ceil(steps / memory.longest(steps))
        return self.env.num_envs * pieces

    @property
    def fewest_envs(self) -> int:
        """Copies that these settings need: one of each task, unless a curriculum chooses among them."""
        return 1 if self.curriculum.stages else max(1, len(self.env.tasks))

    @property
    def env_budget(self) -> int:
        """The budget in environment steps, whatever it is given in."""
        return self.to_env_steps(self.steps)

    def to_env_steps(self, amount: int) -> int:
        """An amount in the unit of the budget as environment steps; rows that only reset are not left out."""
        return amount * self.env.num_envs if self.budget_in == "vec_steps" else amount

    @property
    def eval_every(self) -> int:
        return self.eval.every or max(1, self.steps // 20)

    @property
    def checkpoint_every(self) -> int:
        return self.checkpoint.every or max(1, self.steps // 10)
