"""Workers that start in milliseconds."""

import multiprocessing
from typing import Any

import pytest

_get_context = multiprocessing.get_context


@pytest.fixture(autouse=True)
def _quick_start(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes that are started afresh are forked from a clean one that has imported what they need.

    Nothing of this process is in them, as if Python had started for each, which takes a second of computing.
    Tests that are about the start itself carry the marker `real_start`.
    """
    if request.node.get_closest_marker("real_start") is None:
        monkeypatch.setattr("gymsolve.envs.processes.multiprocessing.get_context", _context)


def _context(method: str | None = None) -> Any:
    if method != "spawn":
        return _get_context(method)
    server = _get_context("forkserver")
    server.set_forkserver_preload(["gymsolve.envs.backends.worker_process", "gymsolve.envs.make"])
    return server
