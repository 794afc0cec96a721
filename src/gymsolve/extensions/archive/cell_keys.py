"""The cell of an archive that each environment is in after every step.

Bonuses compute cells of whole rollouts (`cells.py`); an archive needs them at once, since a place can only be
saved while the environment is there. Numbers, categories and full states have the cells of bonuses;
`frame_cells.py` shrinks pictures.
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
"""Pixels up to which every different picture is a cell of its own, as for boards."""


def choose_archive_cells(settings: ExploreConfig, spec: EnvSpec, *, has_state: bool) -> str:
    """The kind of cells for these observations; refuses kinds that cannot work."""
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


class TaskSteps:
    """The steps of a rollout in one task."""

    def __init__(self, rollout: Rollout, rows: Array, fit: Fit | None) -> None:
        """`rows` are the environments of the task; `fit` is given for one of several tasks."""
        self._rollout, self._fit = rollout, fit
        mine = np.zeros(rollout.valid.shape, bool)
        mine[:, rows] = True
        self._steps = np.flatnonzero(mine)  # [S] among all steps
        self.valid = rollout.valid.reshape(-1)[self._steps]  # [S] bool

    def __len__(self) -> int:
        return len(self._steps)

    def seen(self, places: Array) -> Obs:
        """The task's own observations [B, …] at places among these steps."""
        obs = self._rollout.seen(self._steps[places])
        return obs if self._fit is None else self._fit.read_obs(obs, np.arange(len(places)))


class ArchiveCells(Part, Protocol):
    """Turns observations into cells."""

    kind: str

    @property
    def ready(self) -> bool:
        """True once cells can be computed."""
        return True

    def of(self, obs: Obs, watched: Array | None) -> Array:
        """The cells [n] of n environments after a step, from observations and watched numbers."""
        ...

    def pictures(self, places: list[int]) -> list[bytes]:
        """Packed pictures of some of the newest n environments; empty without pictures."""
        return [b""] * len(places)

    def learn(self, steps: TaskSteps, env_steps: int, rng: np.random.Generator) -> bool:
        """Learn from a rollout; true when cells are computed in another way from now on."""
        return False

    def again(self, pictures: list[bytes]) -> Array:
        """The cells [B] of packed pictures, computed in the present way."""
        ...

    def fits(self, arrays: dict[str, Array], state: dict[str, Any]) -> bool:
        """True if a checkpoint's cells have the same numbers as these, or can be computed `again`."""
        ...

    def is_cut_otherwise(self, state: dict[str, Any]) -> bool:
        """True if a checkpoint's cells must be computed `again`."""
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
        states: Array = watched[:, self._column].astype(np.uint64)
        return states

    def learn(self, steps: TaskSteps, env_steps: int, rng: np.random.Generator) -> bool:
        if not self.ready and steps.valid.any():
            self._cells.measure(steps.seen(np.flatnonzero(steps.valid)))
        return False

    def again(self, pictures: list[bytes]) -> Array:
        raise AssertionError("these cells never change")

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
