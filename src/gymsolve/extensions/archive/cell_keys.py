"""Which cell of an archive each environment stands in, step by step, while it is being stepped.

Bonuses look at whole rollouts (`cells.py`); an archive must know at once, since only now can the place be
saved. Numbers, categories and full states are cut as bonuses cut them; `frame_cells.py` shrinks pictures.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from gymsolve.envs.join import Fit
from gymsolve.errors import ConfigError
from gymsolve.experience.rollout import Rollout
from gymsolve.extensions.exploration.cells import STATE, Cells, choose_cells
from gymsolve.parts import Part
from gymsolve.settings.exploration import ExploreConfig
from gymsolve.spec import Array, EnvSpec, Obs

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


class Shown:
    """The steps of a rollout that are of one task."""

    def __init__(self, rollout: Rollout, rows: Array, fit: Fit | None) -> None:
        """`rows` are the environments of the task; `fit` is that of one of several."""
        self._rollout, self._fit = rollout, fit
        mine = np.zeros(rollout.valid.shape, bool)
        mine[:, rows] = True
        self._steps = np.flatnonzero(mine)  # [S] among all steps
        self.valid = rollout.valid.reshape(-1)[self._steps]  # [S] bool

    def __len__(self) -> int:
        return len(self._steps)

    def seen(self, places: Array) -> Obs:
        """The task's own observations [B, …] at places among these steps."""
        found = self._rollout.seen(self._steps[places])
        return found if self._fit is None else self._fit.read_obs(found, np.arange(len(places)))


class ArchiveCells(Part, Protocol):
    """Turns what a step shows into cells."""

    kind: str

    @property
    def ready(self) -> bool:
        """Can cells be told apart yet?"""
        return True

    def of(self, obs: Obs, watched: Array | None) -> Array:
        """The cells [n] of what n environments showed and told after a step."""
        ...

    def pictures(self, places: list[int]) -> list[bytes]:
        """What some of these n looked like, for people; empty where nothing can be seen."""
        return [b""] * len(places)

    def learn(self, shown: "Shown", env_steps: int, rng: np.random.Generator) -> bool:
        """A rollout counts; true when cells are cut otherwise from now on."""
        return False

    def again(self, pictures: list[bytes]) -> Array:
        """The cells [B] of pictures, after they are cut otherwise."""
        ...

    def fits(self, arrays: dict[str, Array], state: dict[str, Any]) -> bool:
        """Do the numbers of a checkpoint's cells mean what these would, or can they be cut `again`?"""
        ...

    def is_cut_otherwise(self, state: dict[str, Any]) -> bool:
        """Is it by `again` that the numbers of a checkpoint's cells come to mean what these would?"""
        return False


class PlainCells(ArchiveCells):
    """Cells of numbers, categories or full states."""

    def __init__(self, settings: ExploreConfig, spec: EnvSpec, kind: str, rng: np.random.Generator) -> None:
        self.kind = kind
        self._cells = Cells(settings.model_copy(update={"cells": kind}), spec, rng)
        self._column = spec.watched.index(STATE) if kind == "state" else None

    @property
    def ready(self) -> bool:
        return self.kind != "hash" or self._cells.centre is not None

    def of(self, obs: Obs, watched: Array | None) -> Array:
        if self._column is None:
            return self._cells.of(obs)
        assert watched is not None
        told: Array = watched[:, self._column].astype(np.uint64)
        return told

    def learn(self, shown: "Shown", env_steps: int, rng: np.random.Generator) -> bool:
        if not self.ready and shown.valid.any():
            self._cells.measure(shown.seen(np.flatnonzero(shown.valid)))
        return False

    def again(self, pictures: list[bytes]) -> Array:
        raise AssertionError("these cells are never cut otherwise")

    def arrays(self) -> dict[str, Array]:
        return self._cells.arrays()

    def state(self) -> dict[str, Any]:
        return self._cells.state()

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        return self._cells.load(arrays, state)

    def fits(self, arrays: dict[str, Array], state: dict[str, Any]) -> bool:
        return self._cells.fits(arrays, state)

    def rollback_point(self) -> Callable[[], None]:
        return self._cells.rollback_point()
