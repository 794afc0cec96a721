"""Defines `RenderEnv`: one environment that is stepped by hand, for every video and for people who play.

A vector resets in the step that ends an episode, and nobody would see the last frame. `single_env.py` has
those of one environment, `open_render_env.py` opens whatever a run or a person needs.
"""

from dataclasses import dataclass, field
from typing import Protocol

from gymsolve.envs.contract import Snapshot
from gymsolve.envs.labels import ActionLabels
from gymsolve.spec import Array, EnvSpec, Obs


@dataclass(frozen=True)
class Scene:
    """The state of an episode after a step; arrays have a leading axis of 1."""

    obs: Obs
    masks: Array | None  # [1, mask_size]
    reward: float
    """Reward of the last step, as the agent sees it."""
    raw_return: float
    """Sum of the stock environment's rewards so far."""
    terminated: bool
    truncated: bool
    components: dict[str, float] = field(default_factory=dict)
    """Reward of the last step by part; empty without the wrapper `reward_components`."""
    between: tuple[Array, ...] = ()
    """Pictures of the frames that the last step skipped; only people who play get them."""
    lives: int | None = None
    """Lives that are left, where the environment tells them (`info["lives"]`)."""


class RenderEnv(Protocol):
    """An environment, its camera and the words for its actions."""

    labels: ActionLabels
    fps: float
    """Frames per second of the environment's own time, one frame per agent step."""

    def reset(self, seed: int | None) -> Scene:
        """Begin an episode; without a seed, the one that follows the last."""

    def step(self, actions: Array) -> Scene:
        """One step; `actions` is [1, *shape], as `ActionSpec.to_env` makes it."""

    def render(self) -> Array:
        """A picture of the present state: uint8 [H, W, 3]."""

    def save(self) -> Snapshot | None:
        """Its state, where the family clones it: going back takes no replay."""

    def load(self, saved: Snapshot) -> Scene | None:
        """Go to a saved state; None where that failed. The scene has no reward of the last step."""

    def close(self) -> None: ...


class PlayEnv(RenderEnv, Protocol):
    """An environment that people play."""

    spec: EnvSpec
    undrawn: str | None
    """Why there is no picture, in a sentence; None where there is one."""
    turns: bool
    """Does it wait for its player, having no time of its own?"""
    obs_names: tuple[str, ...]
    """Names of the numbers of the observation; empty when unknown."""
    writes: bool
    """Is it drawn as text, by `write`, instead of a picture?"""

    def write(self) -> str:
        """The present state as text."""

    def interrupt(self) -> None:
        """End what a step waits for, from another thread; that step then fails."""
