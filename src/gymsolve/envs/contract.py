"""The contract of backends: `Envs`, a vector of environments, and the `Step` that it gives.

At an episode's end the returned observation is the first one of the next episode and the true last
one is in `final_obs`. A backend that can only reset on the next call marks that call's row as not
`valid`; such a row is never learned from, counted or averaged. An episode that a fault cut, such as the death
of a worker, is no episode: nobody knows what it would have returned.

An environment can be put into a state it was in before (`snapshots`, `jump`), and told how to begin its next
episodes (`configure`). A backend that cannot says so with a `ConfigError`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

from gymsolve.spec import Array, EnvSpec, Obs

Snapshot: TypeAlias = dict[str, Any]
"""The state of one environment as JSON-ready data; only the backend that made it can read it."""


class Episode(NamedTuple):
    """A finished episode."""

    env: int
    raw_return: float
    """Sum of the stock environment's rewards, below every wrapper that changes them."""
    shaped_return: float
    """Sum of the rewards the agent saw."""
    length: int
    """Length in agent steps."""
    truncated: bool
    """Cut by a time limit, not ended by the task."""
    success: bool | None = None
    """`info["is_success"]` of the last step, where the environment gives it."""
    jumped: bool = False
    """It began by a jump, not by a reset, so its return never counts."""
    task: str = ""
    """Which of several tasks it was of; empty where there is one."""


@dataclass(slots=True)
class Step:
    """Result of one vector step; every array has a leading axis of `num_envs`."""

    obs: Obs
    rewards: Array  # [N] float32, as the agent sees them
    terminated: Array  # [N] bool
    truncated: Array  # [N] bool, never True where terminated is
    valid: Array  # [N] bool
    final_obs: Obs | None
    """Full-size arrays whose rows hold the true last observation where an episode ended; None if none did."""
    masks: Array | None  # [N, mask_size] bool, for `obs`
    episodes: list[Episode]
    faults: tuple[str, ...] = ()
    """Sentences on workers that died and were rebuilt in this step; each is worth an event."""
    components: Array | None = None  # [N, parts]
    """The reward by each of the spec's `components`; None when there are none."""
    cut: Array | None = None  # [N] bool, or None for none
    """Where a fault cut an episode: truncated, not valid, and not among the `episodes`."""
    watched: Array | None = None  # [N, numbers]
    """Values of the spec's `watched` numbers; None when there are none."""


class Envs(Protocol):
    """A vector of environments."""

    num_envs: int
    spec: EnvSpec
    backend: str
    """The backend that steps them, in words."""

    def reset(self, seeds: list[int]) -> tuple[Obs, Array | None]:
        """Start afresh, one seed per environment; observations and action masks."""

    def step(self, actions: Array) -> Step:
        """`actions` are environment actions [N, *shape], as `ActionSpec.to_env` makes them."""

    def capture(self) -> dict[str, Any] | None:
        """The state of all environments as JSON-ready data (arrays as lists); None if that is impossible."""

    def restore(self, state: dict[str, Any], seeds: list[int]) -> tuple[Obs, Array | None, list[int]]:
        """Continue from a captured state; the last item names environments that had to start anew."""

    def configure(self, rows: Sequence[int], options: dict[str, Any] | None) -> None:
        """Reset options (JSON-ready) for all coming episodes of these environments; None for none."""

    def snapshots(self, rows: Sequence[int]) -> list[Snapshot | None]:
        """The states of these environments; None for one that cannot be saved now."""

    def jump(
        self, rows: Sequence[int], snapshots: Sequence[Snapshot], seeds: Sequence[int]
    ) -> tuple[Obs, Array | None, list[int]]:
        """Leave these environments' episodes and continue from snapshots, taken of any copy.

        The same actions lead to what followed the snapshot then. The seeds decide the episode after it. Where
        a snapshot cannot be reached, an episode with that seed begins at once; the last item names those
        rows. The observations and masks are of all environments.
        """

    def render(self) -> list[Array]:
        """One RGB frame per environment; empty when the environment cannot render."""

    def close(self) -> None: ...
