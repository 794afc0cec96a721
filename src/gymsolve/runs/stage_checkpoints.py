"""Which checkpoint is the master of a curriculum's stage: the weights at its end.

Beside `best` and `last` there is a pointer `stage-<name>` for each stage that has ended; the one of the last
stage, which never does, names its best weights. `RUN@stage-<name>` names it.
"""

from gymsolve.runs.checkpoints import find_place, list_checkpoints, pointed
from gymsolve.runs.files import os_errors, replace_text
from gymsolve.runs.run import Run

STAGE = "stage-"
"""How such a pointer begins."""


def mark_stage(run: Run, stage: str, name: str) -> None:
    """Point at the checkpoint with the weights at the end of a stage."""
    find_place(run, name)
    replace_text(run.path / "checkpoints" / f"{STAGE}{stage}", name + "\n")


def find_masters(run: Run) -> dict[str, str]:
    """Names of checkpoints by stage, in the order of their steps; those that are gone are left out."""
    folder, there = run.path / "checkpoints", set(list_checkpoints(run))
    if not there:
        return {}
    found = {path.name: pointed(run, path.name) for path in folder.glob(f"{STAGE}*") if path.is_file()}
    known = {
        key.removeprefix(STAGE): name for key, name in found.items() if name in there and name is not None
    }
    return dict(sorted(known.items(), key=lambda one: (int(one[1]), one[0])))


def drop_stages_after(run: Run, env_steps: int) -> None:
    """Forget masters beyond a checkpoint that training goes on from: those steps never happened."""
    folder = run.path / "checkpoints"
    with os_errors(folder):
        for path in folder.glob(f"{STAGE}*"):
            name = pointed(run, path.name)
            if name is None or int(name) > env_steps:
                path.unlink()
