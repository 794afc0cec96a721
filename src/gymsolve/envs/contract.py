"""What every environment backend gives to the rest of gymsolve.

At an episode's end the returned observation is the first one of the next episode and the true last
one is in `final_obs`. A backend that can only reset on the next call marks that call's row as not
`valid`; such a row is never learned from, counted or averaged.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from gymsolve.spec import Array, EnvSpec, Obs

__all__ = ["Envs", "Episode", "Step"]


class Episode(NamedTuple):
    """A finished episode."""

    env: int
    raw_return: float
    """Sum of the stock environment's rewards, below every wrapper that changes them."""
    shaped_return: float
    """Sum of the rewards the agent saw."""
    length: int
    """In agent steps."""
    truncated: bool
    """Cut by a time limit, not ended by the task."""
    success: bool | None = None
    """`info["is_success"]` of the last step, where the environment gives it."""


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
    """What each of the spec's `components` paid; None when there are none."""


class Envs(Protocol):
    """A vector of environments."""

    num_envs: int
    spec: EnvSpec
    backend: str
    """Who steps them, in words."""

    def reset(self, seeds: list[int]) -> tuple[Obs, Array | None]:
        """Start afresh, one seed per environment; observations and action masks."""

    def step(self, actions: Array) -> Step:
        """`actions` are environment actions [N, *shape], as `ActionSpec.to_env` makes them."""

    def capture(self) -> dict[str, Any] | None:
        """The state of all environments as JSON-ready data (arrays as lists); None if it cannot be had."""

    def restore(self, state: dict[str, Any], seeds: list[int]) -> tuple[Obs, Array | None, list[int]]:
        """Continue from a captured state; the last item names environments that had to start anew."""

    def render(self) -> list[Array]:
        """One RGB frame per environment; empty when the environment cannot render."""

    def close(self) -> None: ...
