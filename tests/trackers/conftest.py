from collections.abc import Iterator
from pathlib import Path

import pytest
from wandb_server import Store, serve


@pytest.fixture(autouse=True)
def _own_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GYMSOLVE_RUNS", str(tmp_path / "runs"))


@pytest.fixture
def server() -> Iterator[Store]:
    with serve() as store:
        yield store
