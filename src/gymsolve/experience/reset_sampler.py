"""Episodes that begin elsewhere than at a reset: the seam between the collector and an archive of places.

The collector asks before each rollout and after each step whether environments were put somewhere else. It is
the archive that decides, that jumps, and that remembers where everybody came from.
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
    """The last steps of how others got there, for a policy that remembers; none for a reset."""


class ResetSampler(Protocol):
    """Decides where episodes begin."""

    def before(self, obs: Obs) -> Relocated | None:
        """A rollout begins with `obs` [N, …]: which environments leave their episodes for another place?"""
        ...

    def after(self, t: int, step: Step) -> Relocated | None:
        """A step was taken: which environments whose episode ended begin elsewhere?"""
        ...

    def begun(self, rows: Array) -> None:
        """Episodes of these environments [N] bool begin anew at a reset, whatever was under way there."""
        ...
