"""`gymsolve stop`: ask a run to end."""

from gymsolve.cli.options import Json, RunRef, RunsDir
from gymsolve.cli.output import print_json

__all__ = ["stop"]


def stop(run: RunRef, runs_dir: RunsDir = None, json: Json = False) -> None:
    """Ask a running training to stop after its current update, leaving a checkpoint."""
    from gymsolve.service import runs as service

    answer = service.stop_run(run, runs_dir)
    if json:
        print_json(answer)
    else:
        print(f"Asked {answer['run']} to stop; it ends after its current update and can be resumed.")
