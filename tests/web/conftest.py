"""A real server and a real browser for the tests of pages."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, ViewportSize, sync_playwright

from gymsolve.runs import Run, list_runs
from quick_start import DEATH_SIGNAL
from tests.chromium import need_browser

SIZE: ViewportSize = {"width": 1280, "height": 900}
AXE = Path(__file__).with_name("axe.min.js")


@dataclass(frozen=True)
class Served:
    """A server that runs."""

    origin: str
    token: str
    runs_dir: Path
    process: "subprocess.Popen[str]"

    def address(self, path: str = "/") -> str:
        """An address with the token in it, as the command line prints it."""
        return f"{self.origin}{path}{'&' if '?' in path else '?'}token={self.token}"


@contextmanager
def serving(runs_dir: Path, *options: str) -> Iterator[Served]:
    """`gymsolve web` in a process of its own."""
    command = [sys.executable, "-m", "gymsolve", "web", "--no-open", "--runs-dir", str(runs_dir), *options]
    # A test run that is killed leaves no server.
    variables = {**os.environ, "COLUMNS": "100", DEATH_SIGNAL: str(int(signal.SIGTERM))}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True, env=variables
    )
    assert process.stdout is not None
    try:
        origin, _, token = process.stdout.readline().strip().partition("/?token=")
        assert token, "the server printed no address"
        yield Served(origin, token, runs_dir, process)
    finally:
        try:
            if process.poll() is None:  # a test may have ended it
                process.terminate()
                process.wait(60)
        finally:
            _kill_all(process.pid, runs_dir)
            process.stdout.close()


def _kill_all(server: int, runs_dir: Path) -> None:
    """The server, if it has not ended, and trainings that a failed test has left behind."""
    with suppress(ProcessLookupError):
        os.killpg(server, signal.SIGKILL)
    running = [one for one in list_runs(runs_dir) if one.status == "running"]
    for pid in {Run(runs_dir / one.id).info()["pid"] for one in running} - {os.getpid()}:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server for the tests of a file; they share its runs."""
    with serving(tmp_path_factory.mktemp("runs")) as served:
        yield served


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """One browser for the tests of a file."""
    program = need_browser()
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=program, args=["--disable-dev-shm-usage"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def tab(chromium: Browser) -> Iterator[Callable[[], Page]]:
    """One page for the tests of a file: opening one takes longer than most of them. Another if it is gone."""
    opened: list[Page] = []

    def find() -> Page:
        if not opened or opened[-1].is_closed():
            opened.append(chromium.new_context(viewport=SIZE).new_page())
            opened[-1].set_default_timeout(30_000)
        return opened[-1]

    yield find
    for one in opened:
        one.context.close()


@pytest.fixture
def complaints() -> list[str]:
    """What the console of the page says; a test that expects something of it takes that out."""
    return []


@pytest.fixture
def page(tab: Callable[[], Page], complaints: list[str]) -> Iterator[Page]:
    """A page of a browser that knows nothing; what its console complains of fails the test."""
    opened = tab()
    opened.set_viewport_size(SIZE)
    opened.mouse.move(0, 0)

    def hear(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(f"{message.text} {message.location}")

    def fail(error: Error) -> None:
        complaints.append(str(error))

    opened.on("console", hear)
    opened.on("pageerror", fail)
    yield opened
    opened.remove_listener("console", hear)
    opened.remove_listener("pageerror", fail)
    if not opened.is_closed():  # the next test finds a browser that knows nothing, and no session
        if opened.url.startswith("http"):
            opened.evaluate("localStorage.clear()")
        opened.goto("about:blank")
        opened.context.clear_cookies()
    assert not complaints, complaints


@pytest.fixture
def accessible() -> Callable[[Page], None]:
    """Fails where axe-core finds a serious fault."""

    def check(page: Page) -> None:
        page.evaluate(AXE.read_text(encoding="utf-8"))
        found: Any = page.evaluate("async () => (await axe.run()).violations")
        serious = [
            (one["id"], [node["html"][:200] for node in one["nodes"]])
            for one in found
            if one["impact"] in ("serious", "critical")
        ]
        assert not serious, serious

    return check
