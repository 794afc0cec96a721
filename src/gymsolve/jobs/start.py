"""Starts a run in the background: in a process of its own, which outlives its starter."""

import time
from dataclasses import dataclass
from pathlib import Path

from gymsolve.answers import Answer, left_out
from gymsolve.jobs.cancellation import require_wanted
from gymsolve.jobs.local import LONGEST_START, LocalPlace, spawn
from gymsolve.jobs.place import Ended
from gymsolve.jobs.request import RunRequest, flag_words
from gymsolve.runs.run import Run

_GLANCE = 0.05


@dataclass(frozen=True)
class StartedRun(Answer):
    """A run that trains in a process of its own."""

    run: str
    path: str
    pid: int
    doubts: list[str] | None = left_out()  # noqa: RUF009 - which is `field`
    """Its settings that rarely work, where there are some."""


def start(
    request: RunRequest, *, runs_dir: Path | str | None = None, limit: float = LONGEST_START
) -> StartedRun:
    """Start the requested run in the background; returns once it has begun.

    Of several seeds, the answer names their group (`group:ID`). Raises the error of the command if it cannot
    begin, also after `limit` seconds; nothing trains then.
    """
    job = LocalPlace(runs_dir=runs_dir, limit=limit).submit(request)
    try:
        while (state := job.poll()) is None:
            require_wanted()
            time.sleep(_GLANCE)
    except BaseException:
        job.kill()  # a caller that stops waiting must leave no unknown training
        job.forget()
        raise
    job.forget()
    begun = state.begun if isinstance(state, Ended) else state
    if begun is None:
        assert isinstance(state, Ended)
        assert state.error is not None
        raise state.error
    return StartedRun(begun.name, str(begun.path), begun.pid, list(begun.doubts) or None)


def start_fix(run: Run, alert: str | None, seeds: int, max_seconds: float | None = None) -> StartedRun:
    """Try the remedy of an alert in the background; a `fix` event of the run has the result.

    Its trials train one after the other, since the caller was allowed one run.
    """
    words = ["fix", str(run.path), *([alert] if alert else []), "--seeds", str(seeds), "--json"]
    words += [*flag_words("--max-seconds", max_seconds), "--at-once", "1"]
    with (run.path / "fix.log").open("wb") as stream:
        process = spawn(words, stream, {})
    return StartedRun(run.id, str(run.path), process.pid)
