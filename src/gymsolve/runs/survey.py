"""The checkpoints of a run at a glance."""

from typing import Any

from gymsolve.errors import CheckpointError, UnknownRunError
from gymsolve.runs.checkpoints import list_checkpoints, pointed, read_meta
from gymsolve.runs.run import Run

__all__ = ["survey_checkpoints"]


def survey_checkpoints(run: Run) -> tuple[list[dict[str, Any]], list[str]]:
    """Name, pointers, time, reason and evaluation of each; and what is damaged, in sentences."""
    best, last = pointed(run, "best"), pointed(run, "last")
    found, damage = [], []
    for name in list_checkpoints(run):
        try:
            meta = read_meta(run, name)
        except (CheckpointError, UnknownRunError) as error:  # damaged, or pruned since the listing
            damage.append(str(error))
            continue
        told = {key: meta[key] for key in ("env_steps", "time", "reason", "eval")}
        found.append({"name": name, "best": name == best, "last": name == last, **told})
    return found, damage
