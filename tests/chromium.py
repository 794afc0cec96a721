"""A real browser for tests of pages: found, or installed by `python tests/chromium.py` (see Makefile).

A machine without one skips those tests, but not where somebody counts on them: in continuous integration, and
under `make test`, they fail and say what to do.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

__all__ = ["browse", "browser", "need_browser"]

NAMES = ("chromium", "google-chrome", "google-chrome-stable", "chromium-browser")
MISSING = (
    "tests of pages need Chromium: install it (Debian: sudo apt-get install chromium), "
    "or put google-chrome on the PATH"
)
REQUIRED = "GYMSOLVE_TEST_BROWSER"
"""Set to `required` by `make test`; continuous integration sets CI itself."""
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_browser() -> str | None:
    return next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture
def browser() -> str:
    """The browser's program; without one, the test cannot run."""
    return need_browser()


def need_browser() -> str:
    found = find_browser()
    if found is not None:
        return found
    if os.environ.get(REQUIRED) == "required" or os.environ.get("CI"):
        pytest.fail(MISSING, pytrace=False)
    pytest.skip(MISSING)


def browse(program: str, page: Path, *flags: str) -> str:
    """Open a page in a browser that knows nothing of earlier ones; what it printed."""
    with tempfile.TemporaryDirectory() as profile:
        command = [program, *FLAGS, f"--user-data-dir={profile}", *flags, page.as_uri()]
        return subprocess.run(command, capture_output=True, text=True, timeout=200, check=True).stdout


def install() -> None:
    """Chromium as a Debian package, where that is possible without asking for a password."""
    as_root = [] if os.geteuid() == 0 else ["sudo", "--non-interactive"]
    if shutil.which("apt-get") is None or (as_root and shutil.which("sudo") is None):
        return
    if as_root and subprocess.run([*as_root, "true"], capture_output=True, check=False).returncode:
        return
    print("Installing Chromium for the tests of pages ...", flush=True)  # noqa: T201
    get = [*as_root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "--quiet", "--yes"]
    for step in (["update"], ["install", "--no-install-recommends", "chromium"]):
        done = subprocess.run([*get, *step], capture_output=True, text=True, check=False)
        if done.returncode:
            print(done.stderr.strip(), file=sys.stderr)  # noqa: T201
            return


if __name__ == "__main__":
    if find_browser() is None:
        install()
    if find_browser() is None:
        print(MISSING, file=sys.stderr)  # noqa: T201  # the tests in question will fail with the same line
