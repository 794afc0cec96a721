"""What all tests share: one thread per process, quick workers, no films that nobody watches, a real browser.

With one thread two workers do not fight over two cores, and sums have one order.
"""

import gc
import os
import signal
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from chromium import browser
from durations import pytest_addoption, pytest_collection_modifyitems, pytest_configure
from quick_start import begin, quick_fork_exec, real_fork_exec

__all__ = ["browser", "pytest_addoption", "pytest_collection_modifyitems", "pytest_configure"]

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


@pytest.fixture(scope="module", autouse=True)
def _only_new_garbage() -> None:
    """Garbage is looked for among what the tests of this file make.

    Some emulators collect it at each start, and a process that has run many files holds millions of objects.
    """
    gc.collect()
    gc.freeze()


# Both are the same function: subprocess has it under a name of its own, multiprocessing has not.
_STARTS = ("subprocess._fork_exec", "_posixsubprocess.fork_exec")
_STAGE = "gymsolve.apps.video.automatic.open_render_env"


@pytest.fixture(scope="session", autouse=True)
def _quick() -> Iterator[None]:
    """Programs of gymsolve start in milliseconds (`quick_start.py`), and trainings find nothing to draw.

    Drawing takes longer than a short training; settings stay as a user has them. This holds for what tests
    share, too.
    """
    begin()
    # What is imported by now stays: to look for garbage in it takes time, and makes forked processes copy it.
    gc.collect()
    gc.freeze()
    with pytest.MonkeyPatch.context() as patch:
        for name in _STARTS:
            patch.setattr(name, quick_fork_exec)
        patch.setattr(_STAGE, lambda env, task=None: None)
        yield


@pytest.fixture(autouse=True)
def _as_users_have_it(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that are about the start of programs, or about videos, carry a marker that says so."""
    if request.node.get_closest_marker("real_start") is not None:
        for name in _STARTS:
            monkeypatch.setattr(name, real_fork_exec)
    if request.node.get_closest_marker("videos") is not None:
        from gymsolve.envs.open_render_env import open_render_env

        monkeypatch.setattr(_STAGE, open_render_env)
