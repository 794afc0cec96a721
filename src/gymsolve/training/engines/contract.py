"""What an engine gives: a policy that acts and can be measured, and an algorithm that learns."""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from gymsolve.experience.agent import Actor, Considered
from gymsolve.experience.credit import Credit
from gymsolve.experience.rollout import Rollout
from gymsolve.extensions.scaling import RewardScaler
from gymsolve.parts import Part
from gymsolve.settings.config import TrainConfig
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array, EnvSpec, Obs


class Policy(Actor, Protocol):
    """A policy that can act, be judged, trained and saved."""

    @property
    def memory_inputs(self) -> int:
        """How many of the last columns of memory are inputs: the action and the reward of the last step."""

    def greedy(self, obs: Obs, masks: Array | None, memory: Array | None = None) -> Array:
        """The likeliest actions [N, A], by default at the start of an episode."""

    def consider(
        self, obs: Obs, masks: Array | None, actions: Array, memory: Array | None = None
    ) -> Considered:
        """Distributions, values, and what the actions [B, A] were worth to them; nobody learns here."""

    def arrays(self) -> dict[str, Array]:
        """Weights and statistics by name."""

    def load_arrays(self, arrays: dict[str, Array]) -> list[str]:
        """Copy what fits by name and shape; say in sentences what did not."""

    def metadata(self) -> dict[str, str]:
        """What else is needed to rebuild the policy."""

    def rollback_point(self) -> Callable[[], None]:
        """A function that brings the statistics back to what they are now; the optimizer holds weights."""

    def checksum(self) -> float:
        """The sum of all weights: not finite as soon as one of them is not."""

    def parameter_groups(self) -> tuple[str, ...]:
        """The group of each parameter: `policy`, `value`, or `trunk` where the two share it."""

    def log_std(self) -> Array | None:
        """Log standard deviations [A] of a box's actions; None for categories."""

    def seen(self, obs: Obs) -> dict[str, Array]:
        """Observations [B, …] as the network takes them: numbers [B, size] by entry, without categories."""

    def hidden(self, obs: Obs, memory: Array | None = None) -> dict[str, Array]:
        """What every hidden layer gives [B, units] after its activation, by the activation's name."""


class Optimizer(Part, Protocol):
    """Owns the moments and the newest gradient; its `rollback_point` covers the weights too."""

    names: tuple[str, ...]
    """Names of the parameters that it steps, in their order."""

    def weights(self) -> Array:
        """A copy of all trainable numbers, as one array."""

    def gradients(self, parts: Sequence[str]) -> dict[str, list[Array]]:
        """The newest gradient, before clipping, in pieces by the part that each parameter belongs to."""

    def group_norms(self, parts: Sequence[str]) -> dict[str, float]:
        """Length of the newest gradient, before clipping, by the part that each parameter belongs to."""


class NamedPart(Part, Protocol):
    """A part that says what it is called in checkpoints."""

    @property
    def name(self) -> str: ...


class Algorithm(Part, Protocol):
    """One learning rule. It knows a policy and a rollout; no environment, no run, no logger."""

    newest: Credit | None
    """What the newest update learned from."""

    @property
    def optimizer(self) -> Optimizer: ...

    @property
    def auxiliaries(self) -> "Sequence[NamedPart]":
        """Owners of further losses."""

    def credit(self, rollout: Rollout, progress: Progress) -> Credit:
        """What each step is worth to the policy, and what its value should have been; changes nothing."""

    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        """Learn from one rollout; metrics by name."""


class Lessons(Protocol):
    """Something besides rollouts to learn from."""

    @property
    def instead(self) -> bool:
        """Is nothing learned from the rollout?"""
        ...

    def learn(
        self, scaler: RewardScaler | None, progress: Progress, rng: np.random.Generator
    ) -> dict[str, float]:
        """Give a lesson if one is due; metrics by name."""

    def observe(self, rollout: Rollout) -> None:
        """Move the running statistics, where no update of a rollout does so."""


class Engine(Part, Protocol):
    """Builds policy and algorithm, and owns the randomness of its library."""

    name: str
    kernels: str | None
    """`c` or `numpy`: what the NumPy engine computes with; None for one that has no choice."""
    threads: int
    """Threads in use, once something was built."""
    on_gpu: bool
    measured: str
    """How that number was measured; empty when it was given."""

    def build(self, config: TrainConfig, spec: EnvSpec) -> tuple[Policy, Algorithm]: ...

    def load_policy(self, arrays: dict[str, Array], metadata: dict[str, str]) -> Policy: ...
