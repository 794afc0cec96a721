"""All settings of a run, as frozen models: what `--set` addresses and `config.json` holds.

Each section has its module beside this one. Each field says in one line what it is or what turning it up
does. Unknown keys are refused. Loading, merging and error wording live in `recipes/`.
"""

import math
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from gymsolve.settings.algorithm_choice import AlgoConfig, AnyAlgo, BuiltInAlgo
from gymsolve.settings.algorithms import (
    A2CConfig,
    DQNConfig,
    PPOConfig,
    PQNConfig,
    ReinforceConfig,
)
from gymsolve.settings.any_algorithm import OptimizerConfig, ReplayConfig
from gymsolve.settings.checks import find_conflict
from gymsolve.settings.continuous import ContinuousConfig, EntropyConfig, SACConfig, TD3Config, TQCConfig
from gymsolve.settings.curriculum import CurriculumConfig
from gymsolve.settings.environment import EnvConfig, Role, WrapperConfig
from gymsolve.settings.evaluation import EvalConfig
from gymsolve.settings.exploration import ExploreConfig
from gymsolve.settings.imitation import ImitateConfig
from gymsolve.settings.kinds import Model, Seconds, Whole, listed, not_bool
from gymsolve.settings.network import CriticNetConfig, MemoryConfig, NetConfig
from gymsolve.settings.outputs import CheckpointConfig, VideoConfig
from gymsolve.settings.own_parts import PartConfig, split_parts
from gymsolve.settings.schedules import Steps

__all__ = [
    "A2CConfig",
    "AlgoConfig",
    "AnyAlgo",
    "BuiltInAlgo",
    "ContinuousConfig",
    "CriticNetConfig",
    "DQNConfig",
    "EntropyConfig",
    "EnvConfig",
    "EvalConfig",
    "MemoryConfig",
    "NetConfig",
    "OptimizerConfig",
    "PPOConfig",
    "PQNConfig",
    "ReinforceConfig",
    "ReplayConfig",
    "Role",
    "SACConfig",
    "TD3Config",
    "TQCConfig",
    "TrainConfig",
    "WrapperConfig",
]

Tracker = Literal["csv", "tensorboard", "wandb", "trackio"]


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
    """The unit of `steps`, cadences, schedules, progress and the axes of charts: steps of all copies summed,
    or calls of `step`, by which runs with different numbers of copies compare."""
    solved_at: Annotated[float, BeforeValidator(not_bool)] | None = None
    """Mean raw evaluation return that counts as solved; None takes the environment's own threshold."""
    solved_by: Literal["return", "success_rate"] = "return"
    """The measure of solved_at: the return, or the share of episodes that end with info["is_success"]."""
    max_seconds: Seconds | None = None
    """Time limit of a command, from its start to its result. Training ends in time for the last evaluation,
    the report and the videos. A resume has as long again; each of several seeds has as long."""
    grace_seconds: Seconds = 120.0
    """After a request to stop: end without waiting once nothing has moved for this many seconds."""
    seed: Annotated[Whole, Field(ge=0)] = 0
    """Same seed, same run."""
    engine: Literal["auto", "numpy", "torch"] = "auto"
    """Auto takes NumPy and its compiled kernels for small networks of fully connected layers, else torch."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where torch computes; auto takes a GPU for images only, small networks are faster without."""
    threads: Annotated[Whole, Field(ge=0)] = 0
    """Threads of the numerical libraries; 0 is 1, or all cores if large images gain; `auto` measures."""
    observers: Annotated[tuple[PartConfig, ...], BeforeValidator(split_parts)] = ()
    """Classes of your own that watch the run and may end it, as `my_module:Class`."""
    track: Annotated[tuple[Tracker, ...], BeforeValidator(listed)] = ()
    """Where metrics go besides the run's folder; several as a list or as `csv,wandb`."""

    @model_validator(mode="after")
    def _sections_fit(self) -> Self:
        conflict = find_conflict(self)
        if conflict is not None:
            raise ValueError(conflict)
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
        """The budget in environment steps, whatever its unit is."""
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
