"""Checkpoints with the weights at the end of each stage of a curriculum.

Beside `best` and `last` there is a pointer `stage-<name>` for each stage that has ended; that of the last
stage, which never ends, names its best weights. `RUN@stage-<name>` refers to it.
"""

from gymsolve.runs.checkpoints import find_place, list_checkpoints, pointed
from gymsolve.runs.files import os_errors, replace_text
from gymsolve.runs.run import Run

STAGE = "stage-"
"""The prefix of such a pointer."""


def mark_stage(run: Run, stage: str, name: str) -> None:
    """Point at the checkpoint with the weights at the end of a stage."""
    find_place(run, name)
    replace_text(run.path / "checkpoints" / f"{STAGE}{stage}", name + "\n")


def find_masters(run: Run) -> dict[str, str]:
    """Names of checkpoints by stage, in the order of their steps; those that are gone are left out."""
    folder, there = run.path / "checkpoints", set(list_checkpoints(run))
    if not there:
        return {}
    pointers = [path.name for path in folder.glob(f"{STAGE}*") if path.is_file()]
    masters = {
        key.removeprefix(STAGE): name for key in pointers if (name := pointed(run, key)) in there and name
    }
    return dict(sorted(masters.items(), key=lambda master: (int(master[1]), master[0])))


def drop_stages_after(run: Run, env_steps: int) -> None:
    """Remove pointers beyond the checkpoint from which training goes on."""
    folder = run.path / "checkpoints"
    with os_errors(folder):
        for path in folder.glob(f"{STAGE}*"):
            name = pointed(run, path.name)
            if name is None or int(name) > env_steps:
                path.unlink()
