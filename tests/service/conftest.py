"""Runs go to a temporary folder; processes that a test started in the background end with it."""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gymsolve.runs import list_runs
from gymsolve.runs.run import Run


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty working directory; runs go to `runs` in it."""
    monkeypatch.chdir(tmp_path)
    for name in ("GYMSOLVE_RUNS", "GYMSOLVE_RECIPES", "GYMSOLVE_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    yield tmp_path
    for summary in list_runs(tmp_path / "runs", "status:running"):
        with suppress(ProcessLookupError):
            os.kill(Run(tmp_path / "runs" / summary.id).info()["pid"], signal.SIGKILL)
