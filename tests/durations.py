"""Starts the longest test files first, so that no worker is left alone with one at the end.

`durations.json` holds the seconds of each test file. `make durations` measures them anew, on an idle machine.
A file that it does not know starts among the first.
"""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

__all__ = [
    "LIMIT",
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "read_durations",
]

STORED = Path(__file__).with_name("durations.json")
LIMIT = 40.0
"""Seconds that a test file may take: one process runs all of its tests."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--store-durations", action="store_true", help=f"write what files take to {STORED.name}")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--store-durations") and "PYTEST_XDIST_WORKER" not in os.environ:
        config.pluginmanager.register(_Stopwatch())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    stored = read_durations()
    items.sort(key=lambda item: -stored.get(item.path.name, LIMIT))


def read_durations() -> dict[str, float]:
    return dict(json.loads(STORED.read_text(encoding="utf-8")))


class _Stopwatch:
    """Adds up what the tests of each file take, in all workers."""

    def __init__(self) -> None:
        self._seconds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[Path(report.location[0]).name] += report.duration

    def pytest_sessionfinish(self) -> None:
        """Files that did not run keep their seconds; those that are gone are forgotten."""
        names = {path.name for path in STORED.parent.rglob("test_*.py")}
        seconds = {**read_durations(), **self._seconds}
        kept = {name: round(seconds[name], 1) for name in sorted(names & seconds.keys())}
        STORED.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
