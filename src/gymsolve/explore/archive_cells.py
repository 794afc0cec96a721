"""Which cell of an archive each environment stands in, step by step, while it is being stepped.

Bonuses look at whole rollouts (`cells.py`); an archive must know at once, since only now can the place be
saved. Numbers, categories and full states are cut as bonuses cut them; pictures are shrunk (`frame_cells.py`).
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from gymsolve.envs.contract import Step
from gymsolve.errors import ConfigError
from gymsolve.explore.cells import STATE, Cells, choose_cells
from gymsolve.explore_config import ExploreConfig
from gymsolve.parts import Part
from gymsolve.rollout.learning import flatten_obs
from gymsolve.rollout.rollout import Rollout
from gymsolve.spec import Array, EnvSpec

__all__ = ["ArchiveCells", "PlainCells", "choose_archive_cells"]

_STILL = 20 * 20
"""Pixels up to which a picture is a board whose every state may be a cell of its own."""


def choose_archive_cells(settings: ExploreConfig, spec: EnvSpec, *, has_state: bool) -> str:
    """What `cells: auto` means for these observations; what cannot work is refused."""
    assert settings.archive is not None
    asked = settings.archive.cells
    seen = [entry for key, entry in spec.obs.items() if not settings.entries or key in settings.entries]
    pictures = [entry for entry in seen if entry.kind == "image"]
    if asked == "frames" and not pictures:
        raise ConfigError(
            "the observation has no picture whose frames could be cells.",
            where="explore.archive.cells",
            hint="Use explore.archive.cells=auto.",
        )
    if asked == "bins" and any(entry.kind != "discrete" and not entry.low for entry in seen):
        raise ConfigError(
            "bins need numbers with bounds, and the observation has others.",
            where="explore.archive.cells",
            hint="Use explore.archive.cells=hash.",
        )
    if asked != "auto":
        return asked
    if pictures:
        small = all(int(np.prod(entry.shape[1:])) <= _STILL for entry in pictures)
        return "exact" if small else "frames"
    return "state" if has_state else choose_cells(settings.model_copy(update={"cells": "auto"}), spec)


class ArchiveCells(Part, Protocol):
    """Turns what a step shows into cells."""

    kind: str

    @property
    def ready(self) -> bool:
        """Can cells be told apart yet?"""
        return True

    def of(self, step: Step) -> Array:
        """The cells [N] that the environments are in after a step."""
        ...

    def pictures(self, rows: list[int]) -> list[bytes]:
        """What some of them looked like at the newest step, for people; empty where there is nothing to see."""
        return [b""] * len(rows)

    def learn(self, rollout: Rollout, env_steps: int, rng: np.random.Generator) -> bool:
        """A rollout counts; true when cells are cut otherwise from now on."""
        return False

    def again(self, pictures: list[bytes]) -> Array:
        """The cells [B] of pictures, after they are cut otherwise."""
        ...

    def fits(self, arrays: dict[str, Array], state: dict[str, Any]) -> bool:
        """Can `load` continue from these?"""
        ...


class PlainCells(ArchiveCells):
    """Cells of numbers, categories or full states."""

    def __init__(self, settings: ExploreConfig, spec: EnvSpec, kind: str, rng: np.random.Generator) -> None:
        self.kind = kind
        self._cells = Cells(settings.model_copy(update={"cells": kind}), spec, rng)
        self._column = spec.watched.index(STATE) if kind == "state" else None

    @property
    def ready(self) -> bool:
        return self.kind != "hash" or self._cells.centre is not None

    def of(self, step: Step) -> Array:
        if self._column is None:
            return self._cells.of(step.obs)
        assert step.watched is not None
        told: Array = step.watched[:, self._column].astype(np.uint64)
        return told

    def learn(self, rollout: Rollout, env_steps: int, rng: np.random.Generator) -> bool:
        if not self.ready and rollout.valid.any():
            self._cells.measure(flatten_obs(rollout, rollout.valid))
        return False

    def again(self, pictures: list[bytes]) -> Array:
        raise AssertionError("these cells are never cut otherwise")

    def arrays(self) -> dict[str, Array]:
        return self._cells.arrays()

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        return self._cells.load(arrays, state)

    def fits(self, arrays: dict[str, Array], state: dict[str, Any]) -> bool:
        return self._cells.fits(arrays)

    def hold(self) -> Callable[[], None]:
        return self._cells.hold()
