"""The contract between training and learners, with their policies and optimizers.

A learner owns its networks and optimizers, and turns rollouts into better weights. It knows no environment,
run or logger. Learners on torch are in `algos/`, those of the NumPy engine in `fast/`. The defaults here are
those of an on-policy algorithm with one optimizer; an off-policy one keeps rollouts in a replay buffer, which
is a part of its own (`parts`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np

from gymsolve.experience.agent import Actor, Considered
from gymsolve.experience.credit import Credit
from gymsolve.experience.replay import ReplayBuffer
from gymsolve.experience.rollout import Rollout
from gymsolve.parts import Part
from gymsolve.settings.any_algorithm import AlgorithmSettings
from gymsolve.settings.schedules import Progress
from gymsolve.spec import Array, Obs


class Policy(Actor, Protocol):
    """A policy that can act, be evaluated, trained and saved."""

    @property
    def memory_inputs(self) -> int:
        """The number of last columns of memory that are inputs: action and reward of the last step."""

    def greedy(self, obs: Obs, masks: Array | None, memory: Array | None = None) -> Array:
        """The likeliest actions [N, A], by default at the start of an episode."""

    def consider(
        self, obs: Obs, masks: Array | None, actions: Array, memory: Array | None = None
    ) -> Considered:
        """Distributions, values, and log-probabilities of the actions [B, A], without gradients."""

    def arrays(self) -> dict[str, Array]:
        """Weights and statistics by name."""

    def load_arrays(self, arrays: dict[str, Array]) -> list[str]:
        """Copy what fits by name and shape; say in sentences what did not."""

    def metadata(self) -> dict[str, str]:
        """Spaces and settings, which a file needs besides the arrays to rebuild the policy."""

    def rollback_point(self) -> Callable[[], None]:
        """A function that restores the present statistics; the optimizer does so for the weights."""

    def checksum(self) -> float:
        """The sum of all weights: not finite as soon as one of them is not."""

    def parameter_groups(self) -> tuple[str, ...]:
        """The group of each parameter: `policy`, `value`, or `trunk` where the two share it."""

    def log_std(self) -> Array | None:
        """Log standard deviations [A] of a box's actions; None for categories."""

    def seen(self, obs: Obs) -> dict[str, Array]:
        """Inputs of the network for observations [B, …]: numbers [B, size] by entry, without categories."""

    def hidden(self, obs: Obs, memory: Array | None = None) -> dict[str, Array]:
        """The output [B, units] of every hidden layer after its activation, by the activation's name."""


class Optimizer(Part, Protocol):
    """Owns the moments and the newest gradient; its `rollback_point` covers the weights too."""

    names: tuple[str, ...]
    """Names of its parameters, in order."""

    def weights(self) -> Array:
        """A copy of all trainable numbers, as one array."""

    def gradients(self, groups: Sequence[str]) -> dict[str, list[Array]]:
        """The newest gradient, before clipping, in pieces by the group of each parameter."""

    def group_norms(self, groups: Sequence[str]) -> dict[str, float]:
        """Length of the newest gradient, before clipping, by the group of each parameter."""


class Learner(Part):
    """One learning rule with its policy."""

    settings: ClassVar[type[AlgorithmSettings]]
    """The class of its settings."""
    policy_type: ClassVar[type[Any]]
    """The class of its policy."""
    policy: Any
    """Acts in the environments, and is evaluated and saved (a `Policy`)."""
    optimizer: Any
    """The only optimizer, unless `optimizers` says otherwise."""
    newest: Credit | None = None
    """The credit of the newest update; None where there was none."""
    replay: ReplayBuffer | None = None
    """The steps that it learns from; None if it learns from the newest rollout."""
    keeps_ends = False
    """True if it learns from successors, so that rollouts must keep the last observations of episodes."""

    @property
    def optimizers(self) -> Mapping[str, Optimizer]:
        """All optimizers, by the name that their state has in checkpoints."""
        return {"optimizer": self.optimizer}

    def parameter_groups(self, optimizer: str) -> tuple[str, ...]:
        """The group (`policy`, `value`, `trunk`) of each of the first parameters of an optimizer."""
        groups: tuple[str, ...] = self.policy.parameter_groups()
        return groups

    @property
    def parts(self) -> Mapping[str, Part]:
        """Further owners of state, such as target networks or a replay buffer, by name in checkpoints."""
        return {}

    def start_from(self, arrays: dict[str, Array]) -> list[str]:
        """Begin with the weights of another run; says in sentences what did not fit."""
        misfits: list[str] = self.policy.load_arrays(arrays)
        return misfits

    def prepare(self, progress: Progress) -> None:
        """Called before each rollout: set parameters of acting, such as ε."""
        return

    def credit(self, rollout: Rollout, progress: Progress) -> Credit | None:
        """Advantages and value targets of each step; changes nothing.

        None where the algorithm gives no credit by step: then statistics by step are left out.
        """
        return None

    def update(self, rollout: Rollout, progress: Progress, rng: np.random.Generator) -> dict[str, float]:
        """Learn after one rollout; metrics by name."""
        raise NotImplementedError
