"""One wide table, `metrics.csv`: a row per record, a column per metric.

A copy of `metrics.jsonl` for spreadsheets, some rows behind it: those of a second are written together.
Columns keep their place once they are there; when a record brings new ones, the file is made anew from the
records and replaced in one step.
"""

import csv
import io
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gymsolve.metrics.catalog import CATALOG, find_metric
from gymsolve.metrics.trackers.tracker import RunFacts
from gymsolve.runs.files import read_file, replace_text
from gymsolve.runs.records import append_text
from gymsolve.runs.run import Run

_SECONDS = 1.0
_PLACE = {name: index for index, name in enumerate(CATALOG)}


class CsvSink:
    """Keeps `metrics.csv` in step with `metrics.jsonl`."""

    def open(self, facts: RunFacts, config: Mapping[str, Any]) -> str | None:
        self._run = Run(facts.path)
        self._path = facts.path / "metrics.csv"
        self._columns = _header(self._path)
        self._waiting: list[Mapping[str, Any]] = []
        self._rewrite()  # a resumed run may have set records aside
        return None

    def record(self, record: Mapping[str, Any]) -> None:
        if not record.keys() <= self._known:
            self._rewrite()  # the run's records include this one by now
            return
        self._waiting.append(record)
        if time.monotonic() >= self._due:
            self._write()

    def event(self, kind: str, data: Mapping[str, Any]) -> None:
        pass

    def video(self, path: Path, steps: int) -> None:
        pass

    def close(self, status: str, result: Mapping[str, Any]) -> None:
        if self._waiting:
            self._write()

    def _write(self) -> None:
        rows = [[record.get(name, "") for name in self._columns] for record in self._waiting]
        append_text(self._path, _lines(rows))
        self._waiting, self._due = [], time.monotonic() + _SECONDS

    def _rewrite(self) -> None:
        rows = list(self._run.iterate_metrics())
        self._columns = _with_new(self._columns, {name: None for row in rows for name in row})
        self._known, self._waiting, self._due = set(self._columns), [], time.monotonic() + _SECONDS
        if self._columns:
            table = [self._columns, *([row.get(name, "") for name in self._columns] for row in rows)]
            replace_text(self._path, _lines(table))


def _header(path: Path) -> list[str]:
    if not path.is_file():
        return []
    text = read_file(path).decode(errors="replace")
    return next(csv.reader(io.StringIO(text, newline="")), [])


def _with_new(columns: list[str], names: Iterable[str]) -> list[str]:
    """The columns there are, then new ones in the catalogue's order."""

    def place(name: str) -> tuple[int, str]:
        metric = find_metric(name)
        return (len(_PLACE) if metric is None else _PLACE[metric.name], name)

    return [*columns, *sorted(set(names) - set(columns), key=place)]


def _lines(rows: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)  # floats as repr: nothing is rounded
    return text.getvalue()
