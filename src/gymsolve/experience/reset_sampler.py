"""The interface by which an archive lets episodes begin elsewhere than at a reset.

The collector calls it before each rollout and after each step. The archive decides which environments jump,
puts them there, and keeps how each place was reached.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from gymsolve.envs.contract import Step
from gymsolve.experience.agent import Prefix
from gymsolve.spec import Array, Obs


class Relocated(NamedTuple):
    """Environments that were put elsewhere."""

    obs: Obs  # [N, …] of all environments
    masks: Array | None
    rows: Array  # [N] bool, those that were moved
    prefixes: Mapping[int, Prefix]
    """The last steps that led to each place, for a recurrent policy; none for a reset."""


class ResetSampler(Protocol):
    """Decides where episodes begin."""

    def before(self, obs: Obs) -> Relocated | None:
        """Abandon episodes before a rollout that begins with `obs` [N, …]; None if all go on."""
        ...

    def after(self, t: int, step: Step) -> Relocated | None:
        """Choose where the episodes begin that follow those which ended in a step; None: all at resets."""
        ...

    def begun(self, rows: Array) -> None:
        """Episodes of these environments [N] bool began at a reset, without an end of those before."""
        ...
