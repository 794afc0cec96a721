"""What every measurement of pages needs: this machine's Chromium, and gymsolve's server."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.harness import worker_environment

__all__ = ["open_browser", "serving"]


@contextmanager
def open_browser() -> Iterator[Any]:
    """Chromium without a window, driven by Playwright."""
    from playwright.sync_api import sync_playwright

    from tests.chromium import find_browser  # it imports pytest

    program = find_browser()
    if program is None:
        sys.exit("this part needs Chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--disable-dev-shm-usage"])
        yield browser
        browser.close()


@contextmanager
def serving(runs: Path, *words: str, modules: Path | None = None) -> Iterator[tuple[str, int]]:
    """`gymsolve WORDS… --no-open`: the address that it prints, and its process.

    `modules` is a folder of environments that it can import.
    """
    command = [sys.executable, "-m", "gymsolve", *words, "--no-open", "--runs-dir", str(runs)]
    environment = worker_environment(None)
    if modules is not None:
        environment["PYTHONPATH"] = str(modules)
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True
    )
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip(), process.pid
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)
        process.stdout.close()
