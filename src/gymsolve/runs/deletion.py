"""Deletes runs; `deleted.py` remembers them.

A run disappears in one step: its folder is moved aside and then deleted, so that nobody reads half a run.
Runs that train are refused. Trials of a remedy go with the run that they were made for; forks stay.
"""

import os
import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gymsolve.errors import RunDamagedError, UnknownRunError, UsageError
from gymsolve.runs.deleted import DeletedRun, remember
from gymsolve.runs.files import locked, os_errors
from gymsolve.runs.index import LOCK, is_filter, list_runs, record_deletion, run_folders
from gymsolve.runs.process import SILENT_SECONDS
from gymsolve.runs.refs import find_run
from gymsolve.runs.run import Run, now
from gymsolve.runs.summary import RunSummary, holds_run, runs_folder, summarize
from gymsolve.runs.trust import forget_run

_ASIDE = ".deleted-"


@dataclass(frozen=True)
class Deletion:
    """Runs that one request would delete."""

    runs: tuple[Path, ...]
    trials: tuple[Path, ...]
    """Trials of remedies for these runs."""
    forks: tuple[str, ...]
    """Ids of runs that began from these; they stay."""

    @property
    def paths(self) -> tuple[Path, ...]:
        return (*self.runs, *self.trials)

    def size(self) -> int:
        """Bytes of all files."""
        return sum(entry.lstat().st_size for path in self.paths for entry in path.rglob("*"))


def plan_deletion(words: Sequence[str], base: Path | str | None = None) -> Deletion:
    """The runs that ids, names, `group:ID` or filters such as `status:crashed` name, with their trials.

    Raises the first reason for which one of them cannot be deleted.
    """
    folder = runs_folder(base).absolute()
    query = " ".join(word for word in words if is_filter(word))
    chosen = [_find(word, folder) for word in words if not is_filter(word)]
    if query:
        fitting = list_runs(folder, query, trials=False)
        if not fitting:
            raise UnknownRunError(f"no run in {folder} fits '{query}'.", hint="List them with: gymsolve runs")
        chosen += [folder / run.id for run in fitting]
    runs = tuple(dict.fromkeys(chosen))
    ids = {path.name for path in runs}
    others = [run for home in {path.parent for path in runs} for run in _children(home, ids)]
    trials = tuple(home / run.id for home, run in others if run.is_trial)
    deletion = Deletion(runs, trials, tuple(run.id for _, run in others if not run.is_trial))
    for path in deletion.paths:
        _require_deletable(path)
    return deletion


def delete_runs(deletion: Deletion) -> list[str]:
    """Delete them; returns their ids. What began to train meanwhile stays, and is told."""
    for path in deletion.paths[::-1]:  # trials first: no run is left whose trials nobody would find
        _delete(path)
    return [path.name for path in deletion.paths]


def _find(word: str, folder: Path) -> Path:
    """The folder of one run, which may be damaged where its whole id, or a path, is given."""
    if word in {path.name for path in run_folders(folder)}:
        return folder / word
    if word and holds_run(Path(word)):
        return Path(word).absolute()
    return find_run(word, folder).path.absolute()


def _children(home: Path, ids: set[str]) -> list[tuple[Path, RunSummary]]:
    runs = [run for run in list_runs(home) if run.parent is not None and run.id not in ids]
    return [(home, run) for run in runs if run.parent is not None and run.parent.get("run") in ids]


def _require_deletable(path: Path) -> RunSummary:
    """The summary of a run that may be deleted."""
    if path.is_symlink():
        raise UsageError(f"{path.name} is a link to a folder elsewhere.", hint="Remove the link by hand.")
    run = summarize(path)
    if run.status == "running":
        hint = f"Stop it first with: gymsolve stop {run.id}"
        raise UsageError(f"run {run.id} is training, so it is not deleted.", hint=hint)
    if run.status == "damaged" and time.time() - _newest_write(path) < SILENT_SECONDS:
        raise UsageError(
            f"run {run.id} cannot be read and was written within the last half hour, so it may be training.",
            hint="Wait, or delete its folder by hand.",
        )
    return run


def _newest_write(path: Path) -> float:
    return max((entry.lstat().st_mtime for entry in path.iterdir()), default=0.0)


def _delete(path: Path) -> None:
    base = path.parent
    with locked(base / LOCK), os_errors(path):
        run = _require_deletable(path)  # under the lock that a resume takes
        aside = base / f"{_ASIDE}{os.urandom(4).hex()}"
        command = [] if run.status == "damaged" else Run(path).info()["command"]
        record = DeletedRun(now(), run.id, run.name, run.label, run.group, run.seed, command)
        aside.mkdir()
        remember(base, record)
        path.rename(aside / "run")  # one folder further down, where no list looks for runs
        record_deletion(base)
    forget_run(run.id)
    for leftover in base.glob(f"{_ASIDE}*"):  # also of a deletion that was killed
        shutil.rmtree(leftover, ignore_errors=True)
    if aside.exists():
        raise RunDamagedError(
            "some files could not be deleted.", where=str(aside), hint="Delete them by hand."
        )
