"""The registry: `index.json`, newest run first, and the list that people and agents see.

The folders are the truth. `index.json` is a copy for readers that want one file ("look at the last
ten runs"); it is written under a lock, and put right whenever a listing finds it missing, damaged or
behind.
"""

import contextlib
from collections.abc import Iterable
from pathlib import Path

from gymsolve.errors import RunDamagedError, UsageError, did_you_mean
from gymsolve.runs.files import locked, os_errors, read_json, remove_leftovers, replace_json, replace_text
from gymsolve.runs.summary import SCHEMA_VERSION, STATUSES, RunSummary, holds_run, runs_folder, summarize

LAST = "@last"
LOCK = ".lock"
_INDEX = "index.json"
_FILTERS = ("status", "env", "algo", "variant", "group", "tag")


def list_runs(
    base: Path | str | None = None, query: str | None = None, limit: int | None = None, *, trials: bool = True
) -> list[RunSummary]:
    """Runs, newest first, that match every word of `query`; `trials` of other runs only if wanted.

    A word is part of the id, the name, the label, a tag or the group, or one of `status:solved`,
    `env:CartPole`, `algo:ppo`, `variant:fast`, `group:5seeds-3f2a`, `tag:baseline`.
    """
    folder = runs_folder(base)
    _words(query)  # refuse a wrong query before folders are read
    runs = _summaries(folder)
    shown = {run.id: (run.status, run.label, run.tags) for run in runs}
    if _shown_in_index(folder) != shown and folder.is_dir():
        # The list is right either way: a folder that cannot be written, or is busy, can still be read.
        with contextlib.suppress(RunDamagedError), locked(folder / LOCK, timeout=1.0):
            _write_index(folder, _summaries(folder))
    return matching(runs, query, trials=trials)[:limit]


def matching(runs: Iterable[RunSummary], query: str | None, *, trials: bool) -> list[RunSummary]:
    """The runs that match every word of a query, in their order."""
    words = _words(query)
    candidates = [run for run in runs if trials or not run.is_trial]
    return [run for run in candidates if all(_matches(run, word) for word in words)]


def record_run(folder: Path, *, last: bool = False) -> None:
    """Bring the index up to date with the run in `folder`; the caller holds the lock."""
    base = folder.parent
    remove_leftovers(base)
    if last:
        replace_text(base / LAST, folder.name + "\n")
    entries = _entries(base)
    others = {path.name for path in run_folders(base)} - {folder.name}
    if entries is None or others != set(entries) - {folder.name}:
        runs = _summaries(base)
    else:
        runs = _newest_first([*(entries[name] for name in others), summarize(folder)])
    _write_index(base, runs)


def record_deletion(base: Path) -> None:
    """Bring the index up to date after a run has disappeared; the caller holds the lock."""
    entries, there = _entries(base), {path.name for path in run_folders(base)}
    known = None if entries is None or there - set(entries) else [entries[name] for name in there]
    _write_index(base, _summaries(base) if known is None else _newest_first(known))


def run_folders(base: Path) -> list[Path]:
    """Folders that hold a run."""
    if not base.is_dir():
        return []
    with os_errors(base):
        return [path for path in base.iterdir() if holds_run(path)]


def _summaries(base: Path) -> list[RunSummary]:
    return _newest_first([summarize(folder) for folder in run_folders(base)])


def _newest_first(runs: list[RunSummary]) -> list[RunSummary]:
    return sorted(runs, key=lambda run: (run.created, run.id), reverse=True)


def _write_index(base: Path, runs: list[RunSummary]) -> None:
    entries = [run.to_json() for run in runs]
    replace_json(base / _INDEX, {"schema_version": SCHEMA_VERSION, "runs": entries})


def _entries(base: Path) -> dict[str, RunSummary] | None:
    """The entries of the index; None when it cannot be used."""
    try:
        entries = [RunSummary(**entry) for entry in read_json(base / _INDEX)["runs"]]
        return {entry.id: _checked_entry(entry) for entry in entries}
    except (RunDamagedError, KeyError, TypeError):
        return None


def _checked_entry(entry: RunSummary) -> RunSummary:
    """An entry that can be sorted among others and written again."""
    sound = isinstance(entry.created, str) and isinstance(entry.label, str) and isinstance(entry.tags, list)
    if not sound or entry.status not in STATUSES:
        raise TypeError(f"the entry of {entry.id!r} is not one of a run")
    return entry


def _shown_in_index(base: Path) -> dict[str, tuple[str, str, list[str]]] | None:
    entries = _entries(base)
    if entries is None:
        return None
    return {name: (entry.status, entry.label, entry.tags) for name, entry in entries.items()}


# ------------------------------------------------------------------------------------- query


def is_filter(word: str) -> bool:
    """The word is a filter such as `status:solved`."""
    key, colon, _ = word.partition(":")
    return bool(colon) and (key in _FILTERS or did_you_mean(key, _FILTERS) is not None)


def _words(query: str | None) -> list[str]:
    return [_checked(word) for word in (query or "").split()]


def _checked(word: str) -> str:
    """Refuse a filter that could never match, which would look like "no such runs"."""
    key, colon, value = word.partition(":")
    if colon and key not in _FILTERS and (near := did_you_mean(key, _FILTERS)):
        raise UsageError(f"there is no filter '{key}:'.", hint=near)
    if key == "status" and colon and value not in STATUSES:
        hint = did_you_mean(value, STATUSES) or f"One of: {', '.join(STATUSES)}."
        raise UsageError(f"no run has the status '{value}'.", hint=hint)
    return word


def _matches(run: RunSummary, word: str) -> bool:
    key, colon, value = word.lower().partition(":")
    if colon and key in _FILTERS:
        if key == "env":
            return value in run.env_id.lower()
        if key == "group":
            return run.group is not None and value in run.group.lower()
        if key == "tag":
            return value in map(str.lower, run.tags)
        exact = {"status": run.status, "algo": run.algo, "variant": run.variant}
        return value == exact[key].lower()
    return word.lower() in "\n".join((run.id, run.name, run.label, run.group or "", *run.tags)).lower()
