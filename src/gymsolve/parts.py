"""Owners of state: all state that must survive a restart belongs to a `Part`, which saves and restores it.

The trainer knows its parts by name only. It writes `arrays` and `state` of each into a checkpoint, gives them
back to `load`, takes an iteration back with `rollback_point`, and lets a fork on another seed `reseed` them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from gymsolve.spec import Array


class Part(Protocol):
    """One owner of state; the defaults are those of a part without state."""

    def arrays(self) -> dict[str, Array]:
        """Arrays by name, for `trainer.safetensors`."""
        return {}

    def state(self) -> dict[str, Any]:
        """The rest, JSON-ready."""
        return {}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        """Continue from the results of `arrays` and `state`; empty in a checkpoint without this part.

        Returns sentences for the user.
        """
        return []

    def write_files(self, folder: Path) -> list[str]:
        """Write state that is too large for `arrays` into files of its own, in a folder of the run.

        All checkpoints of the run share the folder, so a part writes only what is new since the last one.
        Returns the names of all files that the present state needs; names begin with the part's name. A file
        is never changed, and it is deleted once no checkpoint needs it.
        """
        return []

    def load_files(self, folder: Path, names: Sequence[str]) -> None:
        """Continue from the files that `write_files` named, after `load`; their checksums are verified."""
        return

    def rollback_point(self) -> Callable[[], None]:
        """A function that restores the present state, for an iteration that is taken back."""
        return lambda: None  # for parts that change only once an iteration is complete

    def reseed(self, seed: int, env_steps: int) -> None:
        """Use other random numbers from here on; the past stays."""
        return


def rollback_state(part: Part) -> Callable[[], None]:
    """`rollback_point` for a part whose whole state is small and plain."""
    state = part.state()

    def put_back() -> None:
        part.load({}, state)

    return put_back


def rollback_all(parts: Iterable[Part]) -> Callable[[], None]:
    """`rollback_point` for a part that consists of others."""
    undos = [part.rollback_point() for part in parts]

    def put_back() -> None:
        for undo in undos:
            undo()

    return put_back


def join_arrays(owners: Mapping[str, Mapping[str, Array]]) -> dict[str, Array]:
    """Arrays of several owners as `<owner>/<name>`."""
    return {f"{owner}/{name}": array for owner, own in owners.items() for name, array in own.items()}


def arrays_below(arrays: Mapping[str, Array], prefix: str) -> dict[str, Array]:
    """The arrays whose names begin with `prefix`, without it."""
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def resize_rows(saved: Array, blank: Array) -> Array:
    """Saved rows [N, …] for as many environments as `blank` has, since a resume may change their number.

    Rows beyond are left out; missing ones are those of `blank`.
    """
    if saved.shape[1:] != blank.shape[1:]:
        raise ValueError(f"rows of shape {saved.shape[1:]}, not {blank.shape[1:]}")
    rows = blank.copy()
    rows[: len(saved)] = saved[: len(blank)]
    return rows
