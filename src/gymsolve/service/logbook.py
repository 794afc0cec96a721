"""Reading and writing the logbook of a runs folder."""

from collections.abc import Sequence
from dataclasses import dataclass

from gymsolve.answers import Answer
from gymsolve.errors import UsageError, did_you_mean
from gymsolve.runs import find_run
from gymsolve.runs.logbook import VERDICTS, LogEntry, append_entry, make_entry, read_entries
from gymsolve.view.runs import RunsDir

_LONGEST = 10_000
"""Characters of one part of an entry."""


@dataclass(frozen=True)
class WrittenEntry(Answer, LogEntry):
    """An entry of the logbook."""


@dataclass(frozen=True)
class Logbook(Answer):
    """The newest entries that fit, newest first."""

    entries: list[WrittenEntry]
    total: int
    """The number of all entries that fit."""
    problems: list[str]


def read_logbook(query: str = "", limit: int | None = 20, runs_dir: RunsDir = None) -> Logbook:
    """Entries with every word of the query in them; `verdict:refuted` and `run:PART` are words too."""
    entries, problems = read_entries(runs_dir)
    words = query.lower().split()
    matches = [entry for entry in reversed(entries) if all(_matches(entry, word) for word in words)]
    newest = [WrittenEntry(**vars(entry)) for entry in matches[:limit]]
    return Logbook(newest, len(matches), problems)


def add_entry(
    *,
    by: str,
    note: str = "",
    hypothesis: str = "",
    change: str = "",
    result: str = "",
    verdict: str = "open",
    runs: Sequence[str] = (),
    runs_dir: RunsDir = None,
) -> WrittenEntry:
    """Append an entry; `runs` may be named in any way that `gymsolve runs show` takes."""
    decided = next((name for name in VERDICTS if name == verdict), None)
    if decided is None:
        hint = did_you_mean(verdict, VERDICTS) or f"One of: {', '.join(VERDICTS)}."
        raise UsageError(f"there is no verdict {verdict!r}.", where="verdict", hint=hint)
    parts = {"note": note, "hypothesis": hypothesis, "change": change, "result": result}
    if not any(text.strip() for text in parts.values()):
        raise UsageError("an entry needs some text.", hint="Give a note, or a hypothesis, change or result.")
    for name, text in parts.items():
        if len(text) > _LONGEST:
            raise UsageError(f"{len(text):,} characters are too many; {_LONGEST:,} are allowed.", where=name)
    ids = [find_run(ref, runs_dir).id for ref in runs]
    entry = make_entry(by=by, **parts, verdict=decided, runs=ids)
    append_entry(runs_dir, entry)
    return WrittenEntry(**vars(entry))


def _matches(entry: LogEntry, word: str) -> bool:
    key, colon, value = word.partition(":")
    if colon and key == "verdict":
        return entry.verdict == value
    if colon and key == "run":
        return any(value in run.lower() for run in entry.runs)
    parts = (entry.by, entry.note, entry.hypothesis, entry.change, entry.result, entry.verdict, *entry.runs)
    return word in "\n".join(parts).lower()
