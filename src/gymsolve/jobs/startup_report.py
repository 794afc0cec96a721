"""What a process says to whoever started it in the background (`jobs/start.py`), if anybody did.

The environment variable ANSWER names the file for the answer. Every training passes through here, so this
module is light: without that variable nothing else is imported.
"""

import contextlib
import faulthandler
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymsolve.errors import GymsolveError, RunDamagedError

if TYPE_CHECKING:
    from gymsolve.runs.run import Run

ANSWER = "GYMSOLVE_ANSWER"
GROUP = "GYMSOLVE_GROUP"
"""Names the group that a run belongs to, if it is one of several seeds."""


def announce_run(run: "Run") -> None:
    """Tell the starter, if there is one, that the run has begun; from here on it trains for itself.

    Its log keeps what goes to standard error after this, such as where the interpreter crashed.
    """
    announce(run.id, run.path, run.path / "log.txt")


def announce(name: str, path: Path, log: Path) -> None:
    """The same for whatever has a name, a path and a log."""
    answer = os.environ.pop(ANSWER, None)
    if answer is None:
        return
    _answer(answer, {"run": name, "path": str(path), "pid": os.getpid()})
    from gymsolve.runs.files import open_plain

    kept = open_plain(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for stream, descriptor in ((1, os.open(os.devnull, os.O_WRONLY)), (2, kept)):
        os.dup2(descriptor, stream)
        os.close(descriptor)
    faulthandler.enable()


def group_of_starter() -> str | None:
    """The group that this process trains a seed of; asked once, so that no other run inherits it."""
    return os.environ.pop(GROUP, None)


def announce_error(error: GymsolveError) -> None:
    """Tell the starter, if one still waits, why there is no run."""
    answer = os.environ.pop(ANSWER, None)
    if answer is None:
        return
    facts = {"message": error.message, "where": error.where, "hint": error.hint}
    bad = None if error.bad is None else error.bad.to_json()
    _answer(answer, {"error": {"kind": type(error).__name__, **facts, "bad": bad}})


def _answer(path: str, told: dict[str, Any]) -> None:
    from gymsolve.runs.files import replace_json

    with contextlib.suppress(RunDamagedError):  # nobody waits any more; that is no reason not to train
        replace_json(Path(path), told)
