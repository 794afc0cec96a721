"""`RUN[@CHECKPOINT]` → the run and the checkpoint, for everything that reads weights."""

from pathlib import Path

from gymsolve.errors import UnknownRunError
from gymsolve.runs.checkpoints import list_checkpoints
from gymsolve.runs.loading import Checkpoint, load_checkpoint
from gymsolve.runs.refs import find_run, split_ref
from gymsolve.runs.run import Run

__all__ = ["open_checkpoint"]


def open_checkpoint(
    ref: str | Path | Run, runs_dir: Path | str | None, *, policy_only: bool = False
) -> tuple[Run, Checkpoint]:
    """The checkpoint that `ref` names: the best one when it does not say, else the last."""
    if isinstance(ref, Run):
        run, which = ref, None
    else:
        name, which = split_ref(str(ref))
        run = find_run(name, runs_dir)
    if not list_checkpoints(run):
        raise UnknownRunError(f"run {run.id} has no checkpoint yet.")
    judged = (run.path / "checkpoints" / "best").exists()
    return run, load_checkpoint(run, which or ("best" if judged else "last"), policy_only=policy_only)
