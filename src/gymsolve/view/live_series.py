"""Curves of a run for somebody who watches it: what is new since the last look, and parts in more detail.

A reader keeps a cursor, a byte of `metrics.jsonl`. `series.py` reads the values.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gymsolve.answers import Answer
from gymsolve.errors import UsageError
from gymsolve.metrics.catalog import GROUPS, by_priority, find_metric
from gymsolve.runs.records import sample_records
from gymsolve.runs.run import Run
from gymsolve.runs.schema import is_metrics
from gymsolve.view.series import Columns, Part, Track

MOST_NAMES = 40
_SAMPLED = 200
"""Records of a long file that are looked at for the names of its metrics."""


@dataclass(frozen=True)
class Followed(Answer):
    """News since a cursor."""

    cursor: str
    """Give it back for what comes after this."""
    fresh: bool
    """This is all of it: the first look, or the file was replaced (a resume goes back to a checkpoint)."""
    series: dict[str, Track]
    problems: list[str]


@dataclass(frozen=True)
class Closer(Answer):
    """A part of a run in more detail."""

    series: dict[str, Track]


@dataclass(frozen=True)
class NamedMetric(Answer):
    """A metric that a run records, and what the catalogue says of it."""

    name: str
    title: str
    unit: str
    group: str
    priority: int


def follow_metrics(run: Run, names: Sequence[str], since: str = "") -> Followed:
    """Values of some metrics that were recorded after a cursor; all of them without one."""
    wanted = _few(names)
    path = run.path / "metrics.jsonl"
    inode, size = _identity(path)
    start = _place(since, inode, size)
    begin = start or 0
    if size <= begin:
        return Followed(f"{inode}.{begin}", start is None, {}, [])
    columns = Columns(wanted)
    end = columns.read(path, begin)
    return Followed(f"{inode}.{end}", start is None, columns.tracks(), columns.problems())


def look_closer(run: Run, names: Sequence[str], part: Part) -> Closer:
    """The same of a part of the run, with every record of it unless they are too many for a screen."""
    columns = Columns(_few(names), part)
    path = run.path / "metrics.jsonl"
    if _identity(path)[1]:
        columns.read(path, 0)
    return Closer(columns.tracks())


def _few(names: Sequence[str]) -> list[str]:
    if len(names) > MOST_NAMES:
        raise UsageError(f"{len(names)} metrics are too many at once; {MOST_NAMES} are allowed.")
    return list(dict.fromkeys(names))


def name_metrics(run: Run) -> list[NamedMetric]:
    """The metrics that a run records, in the order in which people should see them."""
    rows = sample_records(run.path / "metrics.jsonl", _SAMPLED, is_metrics)
    names = by_priority({name for row in rows for name in row if "/" in name})
    groups = {metric.name: group.title for group in GROUPS for metric in group.metrics}
    return [_named(name, groups) for name in names]


def _named(name: str, groups: dict[str, str]) -> NamedMetric:
    metric = find_metric(name)
    if metric is None:
        return NamedMetric(name, "", "", "Others", 3)
    return NamedMetric(name, metric.meaning, metric.unit, groups[metric.name], metric.priority)


def _identity(path: Path) -> tuple[int, int]:
    """Which file it is, and its length; links are refused by whoever opens it."""
    try:
        status = path.lstat()
    except FileNotFoundError:  # nothing was recorded yet
        return 0, 0
    return status.st_ino, status.st_size


def _place(cursor: str, inode: int, size: int) -> int | None:
    """The byte that a cursor names; None if there is none, or if it is of a file that was replaced."""
    if not cursor:
        return None
    which, dot, place = cursor.partition(".")
    if not (dot and which.isdecimal() and place.isdecimal() and len(cursor) < 50):
        raise UsageError(
            f"{cursor!r} is no cursor.", where="since", hint="Give the `cursor` of the last one."
        )
    return int(place) if int(which) == inode and int(place) <= size else None
