"""Cells: observations that count as the same state have the same whole number of 64 bits.

`exact` joins equal observations, `bins` those whose numbers lie in the same part of their range, `hash` those
whose random projections have the same signs (SimHash). `state` takes a number that the wrapper `watch` makes
of the environment's full state, where its family gives one.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from gymsolve.errors import ConfigError
from gymsolve.experience.successors import Transitions
from gymsolve.parts import Part
from gymsolve.settings.exploration import ExploreConfig
from gymsolve.spec import Array, EnvSpec, Obs, ObsSpec

STATE = "state"
"""The name of the environment's full state among the watched numbers."""
_FEW = 3
"""Numbers up to which a bounded vector is cut into bins; more would leave every cell empty."""
_ODD = np.uint64(0x9E3779B97F4A7C15)


def choose_cells(settings: ExploreConfig, spec: EnvSpec) -> str:
    """The kind of cells for these observations; refuses kinds that cannot work."""
    seen = {key: entry for key, entry in spec.obs.items() if not settings.entries or key in settings.entries}
    kinds = {entry.kind for entry in seen.values()}
    if settings.cells != "auto":
        unbounded = [key for key, entry in seen.items() if entry.kind == "vector" and not entry.low]
        if settings.cells == "bins" and (unbounded or "image" in kinds):
            what = "pictures" if "image" in kinds else f"numbers without bounds in {unbounded[0]!r}"
            raise ConfigError(
                f"bins need numbers with bounds, and the observation has {what}.",
                where="explore.cells",
                hint="Use explore.cells=hash.",
            )
        return settings.cells
    if "image" in kinds:
        raise ConfigError(
            f"the bonus {settings.bonus!r} counts cells, and no two pictures are quite the same.",
            where="explore.cells",
            hint="Use explore.cells=hash, or explore.cells=exact for a game of a few still pictures.",
        )
    vectors = [entry for entry in seen.values() if entry.kind == "vector"]
    if all(np.dtype(entry.dtype).kind in "biu" for entry in vectors):
        return "exact"
    numbers = sum(int(np.prod(entry.shape)) for entry in vectors)
    return "bins" if numbers <= _FEW and all(entry.low for entry in vectors) else "hash"


class Cells(Part):
    """Turns observations into cells."""

    def __init__(self, settings: ExploreConfig, spec: EnvSpec, rng: np.random.Generator) -> None:
        self.kind = choose_cells(settings, spec)
        self._bins, self._bits = settings.bins, settings.bits
        self._entries = {
            key: entry for key, entry in spec.obs.items() if not settings.entries or key in settings.entries
        }
        self._column = spec.watched.index(STATE) if self.kind == "state" else None
        self._latest: tuple[Transitions, Array] | None = None  # bonuses ask twice for the same rollout
        self.centre: Array | None = None
        """Mean and spread [2, D] of the first rollout, by which projections are normalised."""
        if self.kind == "hash":
            size = sum(_width(entry) for entry in self._entries.values())
            self.axes = rng.standard_normal((size, self._bits)).astype(np.float32)  # [D, bits]

    @property
    def made_by(self) -> dict[str, Any]:
        """Settings that decide a cell's number, JSON-ready; a hash depends on its axes, too."""
        if self.kind == "state":
            return {"kind": self.kind}
        entries = [[key, np.dtype(entry.dtype).str] for key, entry in self._entries.items()]
        if self.kind != "bins":
            return {"kind": self.kind, "entries": entries}
        bounds = [np.array([entry.low, entry.high]).tolist() for entry in self._entries.values()]
        return {"kind": self.kind, "entries": entries, "bins": self._bins, "bounds": bounds}

    def ends(self, seen: Transitions) -> Array:
        """The cells [T, N] at the ends of steps."""
        if self._column is not None:
            assert seen.rollout.watched is not None
            states: Array = seen.rollout.watched[:, :, self._column].astype(np.uint64)
            tasks = seen.rollout.task_numbers  # states of one task are not those of another
            return states if tasks is None else mix(states, tasks.astype(np.uint64))
        ends: Array = self._of(seen)[seen.there]
        return ends

    def beginnings(self, seen: Transitions) -> Array | None:
        """The cells [T, N] at the beginnings of steps; None where only those at the ends are known."""
        return None if self._column is not None else self._of(seen)[seen.here]

    def _of(self, seen: Transitions) -> Array:
        """The cells [M] of all observations."""
        if self._latest is None or self._latest[0] is not seen:
            if self.kind == "hash" and self.centre is None:
                self.measure(seen.take(seen.here[seen.valid]))
            self._latest = seen, self.of(seen.rows)
        return self._latest[1]

    def measure(self, rows: Obs) -> None:
        """Normalise projections by the mean and the spread of these observations from now on."""
        first = self._numbers(rows)
        self.centre = np.stack([first.mean(axis=0), first.std(axis=0) + 1e-6])

    def of(self, rows: Obs) -> Array:
        """The cells [B] of observations [B, …]."""
        if self.kind == "hash":
            assert self.centre is not None
            flat = self._numbers(rows)
            signs = ((flat - self.centre[0]) / self.centre[1]).clip(-5.0, 5.0) @ self.axes > 0.0
            powers = np.uint64(1) << np.arange(self._bits, dtype=np.uint64)
            cells: Array = signs.astype(np.uint64) @ powers
            return cells
        mixed = np.zeros(len(next(iter(rows.values()))), np.uint64)
        for key, entry in self._entries.items():
            for column in self._columns(rows[key], entry):
                mixed = mix(mixed, column)
        return mixed

    def _numbers(self, rows: Obs) -> Array:
        parts = [rows[key].reshape(len(rows[key]), -1) for key in self._entries]
        return np.concatenate(parts, axis=1).astype(np.float32)

    def _columns(self, rows: Array, entry: ObsSpec) -> Array:
        """Whole numbers [columns, B] that are equal where the observation counts as equal."""
        flat = rows.reshape(len(rows), -1)
        if self.kind == "bins" and entry.kind == "vector":
            low, high = np.asarray(entry.low, np.float64), np.asarray(entry.high, np.float64)
            span = np.where(high > low, high - low, 1.0)
            parts = ((flat - low) / span * self._bins).astype(np.int64)
            return parts.clip(0, self._bins - 1).T.astype(np.uint64)
        if entry.kind == "discrete":
            return flat.T.astype(np.uint64)
        return words(flat + 0 if flat.dtype.kind == "f" else flat)  # -0.0 is 0.0

    def arrays(self) -> dict[str, Array]:
        if self.kind != "hash":
            return {}
        return {"axes": self.axes} | ({} if self.centre is None else {"centre": self.centre})

    def state(self) -> dict[str, Any]:
        return {"made_by": self.made_by}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        if self.kind == "hash":
            axes, centre = arrays["axes"], arrays.get("centre")
            whole = centre is None or (centre.shape == (2, len(axes)) and bool(np.isfinite(centre).all()))
            if not np.isfinite(axes).all() or not whole or (centre is not None and centre[1].min() <= 0.0):
                raise ValueError("these are no axes and no spreads to tell cells by")
            self.axes, self.centre = axes, centre
        return []

    def fits(self, arrays: dict[str, Array], state: dict[str, Any]) -> bool:
        """True if a checkpoint's cells have the same numbers as these; older checkpoints do not say."""
        if state.get("made_by", self.made_by) != self.made_by:
            return False
        return self.kind != "hash" or ("axes" in arrays and arrays["axes"].shape == self.axes.shape)

    def rollback_point(self) -> Callable[[], None]:
        centre = self.centre

        def put_back() -> None:
            self.centre = centre

        return put_back


def _width(entry: ObsSpec) -> int:
    return int(np.prod(entry.shape))


def words(flat: Array) -> Array:
    """The bytes of rows [B, D] as whole numbers [columns, B]."""
    raw = np.ascontiguousarray(flat)
    whole = raw.view(np.uint8).reshape(len(raw), -1)
    padded = np.pad(whole, ((0, 0), (0, -whole.shape[1] % 8)))
    return np.ascontiguousarray(padded).view(np.uint64).T


@np.errstate(over="ignore")
def mix(so_far: Array, column: Array) -> Array:
    """Fold one more column of whole numbers into hashes (the finisher of splitmix64)."""
    mixed = so_far * _ODD + column + _ODD
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
