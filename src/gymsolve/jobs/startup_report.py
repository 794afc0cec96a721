"""Reports of a process to the one that started it in the background (`jobs/start.py`), if there is one.

The environment variable ANSWER names the file for the report. `gymsolve web` imports this module before it
opens its port, so `runs` is imported only where there is something to report.
"""

import contextlib
import faulthandler
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gymsolve.errors import GymsolveError, RunDamagedError

if TYPE_CHECKING:
    from gymsolve.runs.run import Run

ANSWER = "GYMSOLVE_ANSWER"
GROUP = "GYMSOLVE_GROUP"
"""The variable that names the group of a run, if it is one of several seeds."""


def announce_run(run: "Run", doubts: Sequence[str] = ()) -> None:
    """Tell the starter, if there is one, that the run has begun; its log keeps standard error from now on."""
    announce(run.id, run.path, run.path / "log.txt", doubts)


def announce(name: str, path: Path, log: Path, doubts: Sequence[str]) -> None:
    """The same for a run or a group, by name, path and log, with doubts about its settings."""
    answer = os.environ.pop(ANSWER, None)
    if answer is None:
        return
    from gymsolve.runs.files import open_plain

    _answer(answer, {"run": name, "path": str(path), "pid": os.getpid(), "doubts": list(doubts)})

    kept = open_plain(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for stream, descriptor in ((1, os.open(os.devnull, os.O_WRONLY)), (2, kept)):
        os.dup2(descriptor, stream)
        os.close(descriptor)
    faulthandler.enable()


def group_of_starter() -> str | None:
    """The group of the seed that this process trains; read once, so that no other run inherits it."""
    return os.environ.pop(GROUP, None)


def announce_error(error: GymsolveError) -> None:
    """Tell the starter, if one still waits, why there is no run."""
    answer = os.environ.pop(ANSWER, None)
    if answer is None:
        return
    facts = {"message": error.message, "where": error.where, "hint": error.hint}
    bad = None if error.bad is None else error.bad.to_json()
    _answer(answer, {"error": {"kind": type(error).__name__, **facts, "bad": bad}})


def _answer(path: str, report: dict[str, Any]) -> None:
    from gymsolve.runs.files import replace_json

    with contextlib.suppress(RunDamagedError):  # without a starter that waits, the run trains all the same
        replace_json(Path(path), report)
