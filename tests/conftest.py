"""What all tests share: one thread per process, quick workers, no films that nobody watches, a real browser.

With one thread two workers do not fight over two cores, and sums have one order.
"""

import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from chromium import browser
from quick_start import quick_context, real_context

__all__ = ["browser"]

os.environ.setdefault("OMP_NUM_THREADS", "1")
# Shells start background jobs with Ctrl-C ignored, and a training respects that. Tests send signals, so what
# they start must hear them.
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    if signal.getsignal(number) == signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
# How long an example takes says something about the machine, nothing about what is tested.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The list of trusted runs of whoever runs the tests stays as it is."""
    os.environ["XDG_STATE_HOME"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session", autouse=True)
def _quick_start() -> Iterator[None]:
    """Processes of environments start in milliseconds (`quick_start.py`)."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gymsolve.envs.processes.multiprocessing.get_context", quick_context)
        yield


@pytest.fixture(autouse=True)
def _real_start(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    if request.node.get_closest_marker("real_start") is not None:
        monkeypatch.setattr("gymsolve.envs.processes.multiprocessing.get_context", real_context)


@pytest.fixture(autouse=True)
def _no_videos(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings find nothing to draw, as with Bandit-v0: drawing takes longer than a short training.

    Settings stay as a user has them. Tests that are about videos carry the marker `videos`.
    """
    if request.node.get_closest_marker("videos") is None:
        monkeypatch.setattr("gymsolve.training.video.automatic.open_stage", lambda env, task=None: None)
