"""Owners of state: whatever must survive a restart belongs to a `Part`, which saves and restores it itself.

The trainer knows its parts by name only. It writes `arrays` and `state` of each into a checkpoint, gives them
back to `load`, takes an iteration back with `rollback_point`, and lets a fork on another seed `reseed` them.
A new kind of state is a new part, and no list elsewhere has to learn of it.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

from gymsolve.spec import Array


class Part(Protocol):
    """One owner of state. The defaults are those of a part that has none of the kind in question."""

    def arrays(self) -> dict[str, Array]:
        """Arrays by name, for `trainer.safetensors`."""
        return {}

    def state(self) -> dict[str, Any]:
        """The rest, JSON-ready."""
        return {}

    def load(self, arrays: dict[str, Array], state: dict[str, Any]) -> list[str]:
        """Continue from what `arrays` and `state` gave; both are empty in a checkpoint without this part.

        Returns what the user should know, in sentences.
        """
        return []

    def write_files(self, folder: Path) -> list[str]:
        """Write state that is too large for `arrays` into files of its own, in a folder of the run.

        All checkpoints of the run share the folder, so a part writes only what is new since the checkpoint
        before. Returns the names of all files that the state of now needs. A file that was written is never
        changed; it is deleted once no checkpoint needs it. Names begin with the part's name.
        """
        return []

    def load_files(self, folder: Path, names: Sequence[str]) -> None:
        """Continue from the files that `write_files` named, after `load`; their checksums are verified."""
        return

    def rollback_point(self) -> Callable[[], None]:
        """A function that restores the state of now, for an iteration that comes to nothing."""
        return _keep

    def reseed(self, seed: int, env_steps: int) -> None:
        """Draw everything random anew from here on: the same past, another future."""
        return


def rollback_state(part: Part) -> Callable[[], None]:
    """`rollback_point` for a part whose whole state is small and plain."""
    state = part.state()

    def put_back() -> None:
        part.load({}, state)

    return put_back


def resize_rows(saved: Array, blank: Array) -> Array:
    """Saved rows [N, …] for as many environments as `blank` has, which a resume may change.

    The first of them go on; those beyond are left out, and missing ones blank.
    """
    if saved.shape[1:] != blank.shape[1:]:
        raise ValueError(f"rows of shape {saved.shape[1:]}, not {blank.shape[1:]}")
    found = blank.copy()
    found[: len(saved)] = saved[: len(blank)]
    return found


def _keep() -> None:
    """Nothing moves before an iteration is whole, so there is nothing to put back."""
